"""Acronyms and their long forms, as the papers of an index themselves define them: `nuclear factor (NF)`.

Schwartz and Hearst, "A simple algorithm for identifying abbreviation definitions in biomedical text", PSB 2003.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from corpora.paper import Paper
from search_plugin.contract.engine import Index
from search_plugin.contract.plan import LEXICAL, Plan
from search_plugin.words.terms import TOKEN, folded, terms_of

SAMPLE = 30
"""Papers with the acronym that are read: those that say it most, which often define it."""

MOST = 3
"""Acronyms of one query that are looked up."""

SHARE = 0.5
"""Least share of the definitions read that the most frequent one needs."""

_BRACKETS = re.compile(r"\(([^()]{2,10}?)(?:[;,:][^()]*)?\)")
_ACRONYM = re.compile(r"(?=(?:.*[A-Z]){2})[A-Za-z][A-Za-z0-9]{1,7}")
_TYPED_IN_CAPITALS = 2
"""Words of a query in capitals; if there are more, none is an acronym for sure."""


def acronyms_of(text: str) -> list[str]:
    """Return the words of a query that are written as acronyms: HIV, mTOR, BRCA1; none if all of it is in capitals."""
    words = [token[0] for token in TOKEN.finditer(text)]
    found = [word for word in dict.fromkeys(words) if _ACRONYM.fullmatch(word)]
    return [] if len(words) > _TYPED_IN_CAPITALS and text.isupper() else found[:MOST]


def long_forms(index: Index, text: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return what the papers of an index mean by a query's acronyms: by acronym in small letters, its long form.

    Acronyms that no paper read defines are left out.
    """
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for short in acronyms_of(text):
        if long := index.cached(short, partial(_long_form_of, index, short)):
            found[(folded(short),)] = (long,)
    return found


def _long_form_of(index: Index, short: str) -> str:
    hits = index.search(Plan(short, (), None, SAMPLE, title_boost=0.0))[LEXICAL]
    return _usual(short, index.papers([hit.id for hit in hits]).values(), index.schema.language)


def _usual(short: str, papers: Iterable[Paper], language: str) -> str:
    """Return the long form that most papers give for an acronym; empty if they don't agree."""
    counts: Counter[tuple[str, ...]] = Counter()
    written: dict[tuple[str, ...], str] = {}
    for paper in papers:
        defined = {
            tuple(terms_of(long, language)): long
            for text in (paper.title, paper.abstract)
            for _, long in definitions(text, short)
        }
        counts.update(defined.keys())
        written = {**defined, **written}
    if not counts:
        return ""
    terms, count = max(counts.items(), key=lambda pair: (pair[1], pair[0]))
    return written[terms] if count >= SHARE * counts.total() else ""


def definitions(text: str, asked: str = "") -> Iterator[tuple[str, str]]:
    """Yield the acronyms that a title or an abstract defines, with their long forms: `("NF", "nuclear factor")`.

    If `asked` is given, only that acronym is looked for, in any case.
    """
    wanted = folded(asked)
    for found in _BRACKETS.finditer(text):
        short = found[1].strip()
        if asked and folded(short) != wanted:
            continue
        if not short or len(short.split()) > 2 or not short[0].isalnum() or not any(map(str.isalpha, short)):
            continue
        # At most min(|A| + 5, 2|A|) words before the bracket (section 3.1), in the same sentence.
        words = re.split(r"[.;:!?]\s", text[: found.start()])[-1].split()
        long = _long_form(short, " ".join(words[-min(len(short) + 5, 2 * len(short)) :]))
        if len(long.split()) > 1 or len(long) > len(short) + 1:
            yield short, long


def _long_form(short: str, before: str) -> str:
    """Return the shortest end of a text that holds an acronym's letters in order; empty if there is none (figure 1).

    The first letter has to begin a word.
    """
    at = len(before) - 1
    for number in range(len(short) - 1, -1, -1):
        letter = short[number].lower()
        if not letter.isalnum():
            continue
        while at >= 0 and (before[at].lower() != letter or (number == 0 and at > 0 and before[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return ""
        at -= 1
    return before[before.rfind(" ", 0, at + 1) + 1 :].strip()
