"""Splits abstracts into sentences, and finds the sentence with the conclusion."""

from __future__ import annotations

import re

_END = re.compile(
    r"""[.!?]["')\]\u2019\u201d]*(?:\s+(?=["'(\[\u2018\u201c]?[A-Z0-9])"""
    # Abstracts of several paragraphs often lack the space between them: "in children.Data were collected".
    r"""|(?<=[a-z)\]%][.!?])(?=[A-Z][a-z]))"""
)
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|al|vs|cf|figs?|eqs?|refs?|nos?|approx|ca|resp|spp?|subsp|var|dr|prof|mrs?|st)|\b[A-Z])\.$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"(?:[A-Z][A-Z /&'-]{2,60}|[A-Z][a-z]+)\s*:\s*")
_CONCLUSION = re.compile(r"\W*conclusions?(?: and \w+| & \w+)?\s*[:.\u2013\u2014]+\s*", re.IGNORECASE)
_ASIDE = re.compile(
    r"https?:|www\.|copyright|\u00a9|rights reserved|regist(?:ration|ered|ry)|\bNCT\d|level of evidence|published with"
    r"|\b(?:codes?|data|models?|supplement\w*)\b.*\b(?:available|released?)\b",
    re.IGNORECASE,
)
"""Endings of abstracts that are no conclusion: links, licences, trial numbers."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Return where each sentence of a text begins and ends, without the blanks around it.

    Args:
        text: English; other languages that end sentences with a full stop do as well.

    Returns:
        Positions in the order of the text; only blanks are between them.
    """
    found, start = [], len(text) - len(text.lstrip())
    for end in _END.finditer(text):
        stop = start + len(text[start : end.end()].rstrip())
        if stop > start and not _ABBREVIATED.search(text[start:stop]):
            found.append((start, stop))
            start = end.end()
    last = len(text.rstrip())
    return [*found, (start, last)] if last > start else found


def without_conclusion(abstract: str) -> tuple[str, str]:
    """Return the sentence that concludes an abstract, without its heading, and the abstract without it.

    The first sentence under a heading such as `CONCLUSIONS:`; else the last one that is no link, licence or number of
    a trial. Both are empty if nothing would be left of the abstract.
    """
    places = sentences(abstract)
    headed = (place for place in places if _CONCLUSION.match(abstract, *place))
    plain = (place for place in reversed(places) if not _ASIDE.search(abstract, *place))
    start, end = next(headed, None) or next(plain, (0, 0))
    rest = " ".join(part for part in (abstract[:start].rstrip(), abstract[end:].lstrip()) if part)
    if start == end or not rest:
        return "", ""
    heading = _CONCLUSION.match(abstract, start, end) or _HEADING.match(abstract, start, end)
    return abstract[heading.end() if heading else start : end].strip(), rest
