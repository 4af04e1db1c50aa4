"""Highlights of a query's words in the papers found, the same on every engine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from search_plugin.words.terms import MARKS, UNSPACED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from search_plugin.pages.occurrences import HeldTerms, Occurrence

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


class _Passage(NamedTuple):
    """Matches, and the part of the text that they may be shown in: a sentence, or a window of it."""

    start: int
    end: int
    matches: Sequence[Occurrence]


def highlight(
    title: str, abstract: str, found: HeldTerms, *, max_snippets: int = 2, width: int = 240
) -> tuple[Snippet, ...]:
    """Show where a query's words stand in a paper.

    Args:
        title: The paper's title; shown whole if it holds a word.
        abstract: The paper's abstract; shown by the sentences, or windows of long ones, that together hold the most
            different words, and no more of them than add one.
        found: Where the words stand.
        max_snippets: Most snippets from the abstract.
        width: Most characters of each, except where a single word is longer.

    Returns:
        The title's snippet, then the abstract's in the order of the text; empty where nothing matches.
    """
    snippets: list[Snippet] = []
    if found.title:
        snippets.append(_snippet("title", title, _Passage(0, len(title), found.title)))
    passages = list(_passages(abstract, found.abstract, width))
    snippets += [_snippet("abstract", abstract, passage) for passage in _best(abstract, passages, max_snippets, width)]
    return tuple(snippets)


def _passages(text: str, matches: Sequence[Occurrence], width: int) -> Iterator[_Passage]:
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
