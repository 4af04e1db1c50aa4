"""Highlights of a query's words in the papers found, for engines that don't highlight themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from search_plugin.languages import DEFAULT_LANGUAGE
from search_plugin.terms import MARKS, TOKEN, UNSPACED, term_of, terms_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from search_plugin.expansion.expand import Notion

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


_WORD = re.compile(r"[^\W_]+")
_BEYOND_WORDS = re.compile(f"[{UNSPACED}{MARKS}]")
"""If a text contains this, its words are more than runs of letters and digits."""
_INSIDE_WORD = re.compile(f"[^\\W{UNSPACED}]|[{MARKS}]")

# The end of a sentence, unless a small letter follows ("e.g. mice"), or of a line; and the characters it begins with,
# which are much faster to find.
_SENTENCE_MARK = re.compile(r"[.!?\u061f\u06d4\u3002\uff01\uff1f\n]")
_SENTENCE_END = re.compile(r"(?<=[.!?\u061f\u06d4])\s+(?=[^a-z\s])|(?<=[\u3002\uff01\uff1f])|\n+")

_LINE_END = re.compile(r"\n+")


class _Match(NamedTuple):
    term: str
    start: int
    end: int


class _Passage(NamedTuple):
    start: int
    end: int
    matches: Sequence[_Match]

    def terms(self) -> set[str]:
        return {match.term for match in self.matches}


def highlight(
    query: str,
    title: str,
    abstract: str,
    language: str = DEFAULT_LANGUAGE,
    *,
    max_snippets: int = 2,
    width: int = 240,
) -> tuple[Snippet, ...]:
    """Find a query's words in a paper.

    Words are compared by their stem in the index's language, without case and accents; in scripts without spaces, by
    pairs of characters. Stop words don't count.

    Args:
        query: What the user searched for.
        title: The paper's title; shown whole if it holds a word.
        abstract: The paper's abstract; shown by the sentences, or windows of long ones, that together hold the most
            different words, and no more of them than add one.
        language: Of the index; a name in `search_plugin.languages`.
        max_snippets: Most snippets from the abstract.
        width: Most characters of each, except where a single word is longer.

    Returns:
        The title's snippet, then the abstract's in the order of the text; empty where nothing matches.
    """
    terms = _query_terms(query, language)
    if not terms:
        return ()
    snippets: list[Snippet] = []
    if in_title := _matches(title, terms, language):
        snippets.append(_snippet("title", title, _Passage(0, len(title), in_title)))
    passages = list(_passages(abstract, _matches(abstract, terms, language), width))
    snippets += [_snippet("abstract", abstract, passage) for passage in _best(passages, max_snippets)]
    return tuple(snippets)


def share_of_words(
    query: str, title: str, abstract: str, language: str = DEFAULT_LANGUAGE, notions: Sequence[Notion] = ()
) -> float:
    """Return the share of a query's different words that a paper holds, compared as for highlights.

    Args:
        query: What the user searched for.
        title: The paper's title.
        abstract: The paper's abstract.
        language: Of the index.
        notions: Words of the query with other spellings; a paper that holds one of these holds the words.

    Returns:
        From 0 to 1; 0 without words.
    """
    asked = _query_terms(query, language)
    wanted = asked.union(*(_query_terms(other.text, language) for notion in notions for other in notion.others))
    held = {match.term for text in (title, abstract) for match in _matches(text, wanted, language)}
    for notion in notions:
        if any(terms and terms <= held for terms in (_query_terms(other.text, language) for other in notion.others)):
            held |= _query_terms(notion.typed, language)
    return len(held & asked) / len(asked) if asked else 0.0


@lru_cache(maxsize=256)  # a page asks for each of its papers
def _query_terms(query: str, language: str = DEFAULT_LANGUAGE) -> frozenset[str]:
    return frozenset(terms_of(query, language)) - {""}


def _matches(text: str, terms: Collection[str], language: str = DEFAULT_LANGUAGE) -> list[_Match]:
    if not _BEYOND_WORDS.search(text):
        # Each distinct word is compared once; plain ASCII words only if their first letter fits, since
        # no stem changes the first letter.
        initials = {letter for term in terms for letter in (term[0], term[0].upper())}
        words = {
            word: term
            for word in set(_WORD.findall(text))
            if (word[0] in initials or not word[0].isascii()) and (term := term_of(word, language)) in terms
        }
        found = [_Match(term, at, at + len(word)) for word, term in words.items() for at in _places(word, text)]
        return sorted(found, key=lambda match: match.start)
    found = []
    for token in TOKEN.finditer(text):
        if token[1]:
            found += _pairs(token[1], token.start(), terms)
        elif (term := term_of(token[0], language)) in terms:
            found.append(_Match(term, token.start(), token.end()))
    return found


def _places(word: str, text: str) -> Iterator[int]:
    """Yield where a word stands in a text by itself, not as a part of another."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
            yield at
        at = text.find(word, end)


def _pairs(run: str, start: int, terms: Collection[str]) -> Iterator[_Match]:
    for at in range(len(run)):
        for length in (1, 2):
            term = run[at : at + length]
            if len(term) == length and term in terms:
                yield _Match(term, start + at, start + at + length)


def _passages(text: str, matches: Sequence[_Match], width: int) -> Iterator[_Passage]:
    """Yield each sentence with a match, or for a long one the windows that begin at each of its matches."""
    if not matches:
        return
    borders = [0, *_borders(text), len(text)]
    at = 0
    for start, end in zip(borders[::2], borders[1::2], strict=True):
        first = at
        while at < len(matches) and matches[at].start < end:
            at += 1
        inside = matches[first:at]
        if inside and end - start <= width:
            yield _Passage(start, end, inside)
        else:
            yield from _windows(text, _Passage(start, end, inside), width)


def _borders(text: str) -> Iterator[int]:
    """Yield where each sentence but the last ends, and where the next one begins."""
    last = -1
    for mark in _SENTENCE_MARK.finditer(text):
        if mark.start() < last:
            continue
        end = _LINE_END.match(text, mark.start()) if mark[0] == "\n" else _SENTENCE_END.match(text, mark.end())
        if end:
            yield from end.span()
            last = end.end()


def _windows(text: str, sentence: _Passage, width: int) -> Iterator[_Passage]:
    last = 0
    for first, match in enumerate(sentence.matches):
        last = max(last, first + 1)
        while last < len(sentence.matches) and sentence.matches[last].end - match.start <= width:
            last += 1
        inside = sentence.matches[first:last]
        spare = max(0, width - (inside[-1].end - match.start))
        start = max(sentence.start, match.start - spare // 2)
        end = min(sentence.end, max(inside[-1].end, start + width))
        while start < match.start and _cuts_word(text, start):
            start += 1
        while end > inside[-1].end and _cuts_word(text, end):
            end -= 1
        yield _Passage(start, end, inside)


def _cuts_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and all(_INSIDE_WORD.match(letter) for letter in text[at - 1 : at + 1])


def _best(passages: Sequence[_Passage], count: int) -> list[_Passage]:
    """Choose greedily the passage with the most terms not yet shown, then with the most matches, then the first."""
    chosen: list[_Passage] = []
    shown: set[str] = set()
    while passages and len(chosen) < count:
        best = max(passages, key=lambda passage: (len(passage.terms() - shown), len(passage.matches)))
        if best.terms() <= shown:
            break
        chosen.append(best)
        shown |= best.terms()
        passages = [passage for passage in passages if passage.end <= best.start or passage.start >= best.end]
    return sorted(chosen)


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
