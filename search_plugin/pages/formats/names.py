"""Names of authors in the parts that programs for references sort them by."""

from __future__ import annotations

import re
from typing import NamedTuple

_GROUP = re.compile(
    r"\b(and|for|of|the|association|cent(er|re)s?|collaboration|collaborators|committee|consortium|department|group|"
    r"institutes?|investigators|ministry|network|organi[sz]ation|project|society|team|university)\b",
    re.IGNORECASE,
)
_INITIALS = re.compile(r"[A-Z]{1,3}(-[A-Z])?|([A-Z]\.-?){1,4}")
_HAN = "\u2e80"
"""From here on scripts in which the family name is written first."""


class WrittenName(NamedTuple):
    """A name in parts; `given` is empty for a group, or where there is one part only."""

    family: str
    given: str = ""

    def __str__(self) -> str:
        return f"{self.family}, {self.given}" if self.given else self.family


def parse_name(text: str) -> WrittenName:
    """Take a name apart.

    Args:
        text: `Kim, Mi-Na`, `Mi-Na Kim`, `Ludwig van der Berg`, `Toth EA` as PubMed writes it, or the name of a group.

    Returns:
        Family name, with small words such as `van` before it, and given names.
    """
    family, comma, given = (part.strip() for part in text.partition(","))
    if comma and family and given:
        return WrittenName(family, given)
    words = text.replace(",", " ").split()
    if len(words) < 2 or _GROUP.search(text):
        return WrittenName(" ".join(words) or text)
    if _INITIALS.fullmatch(words[-1]) and not _INITIALS.fullmatch(words[-2]):
        return WrittenName(" ".join(words[:-1]), words[-1])
    if words[0][0] >= _HAN:
        return WrittenName(words[0], " ".join(words[1:]))
    first = len(words) - 1
    while first > 1 and words[first - 1].islower():
        first -= 1
    return WrittenName(" ".join(words[first:]), " ".join(words[:first]))
