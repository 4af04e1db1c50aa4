"""Where the terms of a query stand in a paper, and snippets that show them: the same on every engine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Literal, NamedTuple

from search_plugin.contract.plan import TermGroup
from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.terms import MARKS, SPACED, TOKEN, UNSPACED, term_of, terms_of, word_forms

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a paper's text that holds words of the query.

    Attributes:
        field: Where the text is from.
        text: The part as it stands in the paper.
        spans: Start and end of each match in `text`, in order, without overlaps.
    """

    field: Literal["title", "abstract"]
    text: str
    spans: tuple[Span, ...]


_INSIDE_WORD = re.compile(f"(?:[^\\W{UNSPACED}]|[{MARKS}]){{2}}")
"""Two characters that no word ends between."""

# The last character of a sentence, unless a small letter follows ("e.g. mice"), or of a line; and the blanks after it.
# A pattern that begins with a set of characters is found quickly.
_SENTENCE_END = re.compile(
    r"[.!?\u061f\u06d4\u3002\uff01\uff1f\n]"
    r"(?:(?<=[.!?\u061f\u06d4])(?:\s+(?=[^a-z\s])|\n+)|(?<=[\u3002\uff01\uff1f])|(?<=\n)\n*)"
)

_BEYOND_WORDS = re.compile(f"[{UNSPACED}{MARKS}]")
"""If a text contains this, its words are more than runs of letters and digits."""
_BETWEEN_WORDS = re.compile(r"[\W_]")


class TermMatch(NamedTuple):
    """A term in a text, from `start` to `end`."""

    term: str
    start: int
    end: int


class MatchedTerms(NamedTuple):
    """Where the terms of a query stand in a paper, each in the order of the text."""

    title: Sequence[TermMatch]
    abstract: Sequence[TermMatch]

    @property
    def terms(self) -> frozenset[str]:
        """The terms that the paper holds."""
        return frozenset(one.term for part in self for one in part)


@lru_cache(maxsize=256)  # a page asks for each of its papers
def query_terms(query: str, language: str = DEFAULT_LANGUAGE) -> frozenset[str]:
    """Return the different terms of a query, without stop words."""
    return frozenset(terms_of(query, language)) - {""}


def find(query: str, title: str, abstract: str, language: str = DEFAULT_LANGUAGE) -> MatchedTerms:
    """Find a query's words in a paper.

    Words are compared by their stem in the index's language, without case and accents; in scripts without spaces, by
    pairs of characters. Stop words don't count.
    """
    terms = query_terms(query, language)
    return MatchedTerms(*(occurrences(text, terms, language) for text in (title, abstract)))


def share_of_words(
    query: str, held: Set[str], language: str = DEFAULT_LANGUAGE, groups: Sequence[TermGroup] = ()
) -> float:
    """Return the share of a query's different words that a paper holds, from 0 to 1; 0 without words.

    `held` are those terms of the query and of its other spellings that the paper holds. A paper that holds another
    spelling of some words, of `groups`, holds these words.
    """
    asked = query_terms(query, language)
    for group in groups:
        if any(terms and terms <= held for terms in (query_terms(other.text, language) for other in group.others)):
            held |= query_terms(group.typed, language)
    return len(held & asked) / len(asked) if asked else 0.0


def occurrences(text: str, terms: frozenset[str], language: str = DEFAULT_LANGUAGE) -> list[TermMatch]:
    """Return where terms stand in a text, in its order."""
    if not terms:
        return []
    if not text.isascii() and _BEYOND_WORDS.search(text):
        return list(_of_any_script(text, terms, language))
    # Each distinct word is compared once. A blank on each side of it keeps it from being found as a part of another.
    spaced = f" {text.translate(SPACED) if text.isascii() else _BETWEEN_WORDS.sub(' ', text)} "
    found = [
        TermMatch(term, at, at + len(word))
        for word, term in word_forms(language).spelling(terms, set(spaced.split()))
        for at in _places(f" {word} ", spaced)
    ]
    return sorted(found, key=attrgetter("start"))


def _places(word: str, spaced: str) -> Iterator[int]:
    at = spaced.find(word)
    while at >= 0:
        yield at
        at = spaced.find(word, at + len(word) - 1)


def _of_any_script(text: str, terms: frozenset[str], language: str) -> Iterator[TermMatch]:
    for token in TOKEN.finditer(text):
        if token[1]:
            yield from _pairs(token[1], token.start(), terms)
        elif (term := term_of(token[0], language)) in terms:
            yield TermMatch(term, token.start(), token.end())


def _pairs(run: str, start: int, terms: frozenset[str]) -> Iterator[TermMatch]:
    for at in range(len(run)):
        for length in (1, 2):
            term = run[at : at + length]
            if len(term) == length and term in terms:
                yield TermMatch(term, start + at, start + at + length)


def whole(field: Literal["title", "abstract"], text: str, query: str, language: str = DEFAULT_LANGUAGE) -> Snippet:
    """Return a whole text with the places of a query's words, for who reads all of it."""
    found = occurrences(text, query_terms(query, language), language)
    return _snippet(field, text, _Passage(0, len(text), found))


class _Passage(NamedTuple):
    """Matches, and the part of the text that they may be shown in: a sentence, or a window of it."""

    start: int
    end: int
    matches: Sequence[TermMatch]


def highlight(
    title: str, abstract: str, found: MatchedTerms, *, max_snippets: int = 2, width: int = 240
) -> tuple[Snippet, ...]:
    """Show where a query's words stand in a paper: a snippet of the title, then some of the abstract in its order.

    The title is shown whole if it holds a word. The abstract is shown by the sentences, or windows of long ones, that
    together hold the most different words, and no more of them than add one. `width` is the most characters of each,
    except where a single word is longer.
    """
    snippets: list[Snippet] = []
    if found.title:
        snippets.append(_snippet("title", title, _Passage(0, len(title), found.title)))
    passages = list(_passages(abstract, found.abstract, width))
    snippets += [_snippet("abstract", abstract, passage) for passage in _best(abstract, passages, max_snippets, width)]
    return tuple(snippets)


def _passages(text: str, matches: Sequence[TermMatch], width: int) -> Iterator[_Passage]:
    """Yield each sentence with a match, or for a long one the windows that begin at each of its matches."""
    if not matches:
        return
    at = start = 0
    for end, after in [*_borders(text), (len(text), len(text))]:
        first = at
        while at < len(matches) and matches[at].start < end:
            at += 1
        if at > first:
            sentence = _Passage(start, end, matches[first:at])
            yield from [sentence] if end - start <= width else _windows(sentence, width)
        start = after


def _borders(text: str) -> Iterator[Span]:
    """Yield where each sentence but the last ends, and where the next one begins."""
    for found in _SENTENCE_END.finditer(text):
        yield found.start() + (found[0][0] != "\n"), found.end()


def _windows(sentence: _Passage, width: int) -> Iterator[_Passage]:
    """Yield the runs of matches that a window can show, one from each match of a long sentence."""
    last = 0
    for first, match in enumerate(sentence.matches):
        last = max(last, first + 1)
        while last < len(sentence.matches) and sentence.matches[last].end - match.start <= width:
            last += 1
        yield sentence._replace(matches=sentence.matches[first:last])


def _best(text: str, passages: Sequence[_Passage], count: int, width: int) -> list[_Passage]:
    """Choose greedily the passage with the most terms not yet shown, then with the most matches, then the first."""
    chosen: list[_Passage] = []
    shown: set[str] = set()
    terms = [{match.term for match in passage.matches} for passage in passages]
    while len(chosen) < count:
        fresh = [at for at in range(len(passages)) if not terms[at] <= shown]
        for at in sorted(fresh, key=lambda at: (-len(terms[at] - shown), -len(passages[at].matches))):
            best = _cut(text, passages[at], width)
            if all(best.end <= other.start or best.start >= other.end for other in chosen):
                chosen.append(best)
                shown |= terms[at]
                break
        else:
            break
    return sorted(chosen)


def _cut(text: str, passage: _Passage, width: int) -> _Passage:
    """Return a passage of a long sentence cut to the width around its matches, between words."""
    if passage.end - passage.start <= width:
        return passage
    first, last = passage.matches[0].start, passage.matches[-1].end
    start = max(passage.start, first - max(0, width - (last - first)) // 2)
    end = min(passage.end, max(last, start + width))
    while start < first and _cuts_word(text, start):
        start += 1
    while end > last and _cuts_word(text, end):
        end -= 1
    return _Passage(start, end, passage.matches)


def _cuts_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and _INSIDE_WORD.match(text, at - 1) is not None


def _snippet(field: Literal["title", "abstract"], text: str, passage: _Passage) -> Snippet:
    part = text[passage.start : passage.end]
    start = passage.start + len(part) - len(part.lstrip())
    spans: list[Span] = []
    for match in passage.matches:
        span = (match.start - start, match.end - start)
        if spans and span[0] <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], span[1]))
        else:
            spans.append(span)
    return Snippet(field, part.strip(), tuple(spans))
