"""Where the sentences of a text are: abbreviations, initials and numbers with a full stop end none."""

from __future__ import annotations

import re

_END = re.compile(
    r"""[.!?]["')\]\u2019\u201d]*(?:\s+(?=["'(\[\u2018\u201c]?[A-Z0-9])"""
    # Abstracts of several paragraphs often lack the space between them: "in children.Data were collected".
    r"""|(?<=[a-z)\]%][.!?])(?=[A-Z][a-z]))"""
    # Scripts whose full stops end nothing but sentences: Chinese, Japanese, Arabic, Urdu.
    r"""|[\u3002\uff01\uff1f\u061f\u06d4][\u300d\u300f\uff09\u201d]*\s*"""
)
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|al|vs|cf|figs?|eqs?|refs?|nos?|approx|ca|resp|spp?|subsp|var|dr|prof|mrs?|st)|\b[A-Z])\.$",
    re.IGNORECASE,
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Return where each sentence of a text begins and ends, in order; only blanks are between them.

    For English; other languages that end sentences with a full stop do as well, and so do Chinese and Japanese.
    """
    found, start = [], len(text) - len(text.lstrip())
    for end in _END.finditer(text):
        stop = start + len(text[start : end.end()].rstrip())
        if stop > start and not _ABBREVIATED.search(text[start:stop]):
            found.append((start, stop))
            start = end.end()
    last = len(text.rstrip())
    return [*found, (start, last)] if last > start else found
