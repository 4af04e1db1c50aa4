"""The parts of structured abstracts: what stands under each label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_KNOWN = (
    "abstract|aims?|aims? and objectives?|background|background and (?:aims?|objectives?|purpose)|conclusions?|"
    "conclusions? and relevance|context|data sources?|design|design, setting,? and participants|discussion|"
    "evidence acquisition|"
    "evidence synthesis|exposures?|findings|funding|hypothesis|implications|importance|interpretation|interventions?|"
    "introduction|limitations?|main outcomes?(?: and measures?| measures?)?|materials? and methods?|measurements?|"
    "methods?|methods? and (?:materials?|results?|findings)|methodology|motivation|objectives?|outcomes?|participants|"
    "patients(?: and methods?)?|principal findings|purpose|rationale|registration|results?|"
    "results? and (?:conclusions?|discussion)|setting|settings? and participants|significance|study design|"
    "study selection|subjects|summary|trial registration"
)
_LABEL = re.compile(
    rf"(?:(?<=[.?!)\]])\s+|^\s*|\n\s*)((?:{_KNOWN})|[A-Z][A-Z][A-Z ,/&()-]{{2,58}}[A-Z)])\s*:\s+", re.IGNORECASE
)
_SHOUTED = re.compile(r"[A-Z][A-Z ,/&()-]{3,60}")


class AbstractPart(NamedTuple):
    """A part of an abstract: its label, empty for what stands before the first one, and its text."""

    label: str
    text: str


def abstract_parts(abstract: str) -> Sequence[AbstractPart]:
    """Return an abstract in its parts; the whole as one without a label where it has fewer than two labels."""
    found = [one for one in _LABEL.finditer(abstract) if _is_label(one[1])]
    if len(found) < 2:
        return [AbstractPart("", abstract)] if abstract else []
    parts = [AbstractPart("", abstract[: found[0].start()].strip())]
    ends = [*(one.start() for one in found[1:]), len(abstract)]
    parts += [
        AbstractPart(_written(one[1]), abstract[one.end() : end].strip()) for one, end in zip(found, ends, strict=True)
    ]
    return [part for part in parts if part.text]


def _is_label(text: str) -> bool:
    """Return whether a text before a colon is a label: in capitals, or a known one that begins with a capital."""
    return bool(_SHOUTED.fullmatch(text)) or (text[0].isupper() and bool(re.fullmatch(_KNOWN, text, re.IGNORECASE)))


def _written(label: str) -> str:
    return label.capitalize() if label.isupper() else label
