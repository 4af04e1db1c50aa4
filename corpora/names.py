"""Names of people and groups as they are written: put together of their parts, and divided where no source says how.

`search_plugin.words.names` compares names; it reads every form of this module.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv", "2nd", "3rd", "4th"))
"""What follows a name and is no part of the family name, without dots and in lower case."""

_CAPITAL_PARTICLES = frozenset(("De", "Del", "Della", "Der", "Dos", "Von"))
"""Words before a family name that are hardly ever given names, where they are written with a capital letter."""

_GROUP = re.compile(
    r"\b(and|for|of|the|association|cent(er|re)s?|collaboration|collaborators|committee|consortium|department|group|"
    r"institutes?|investigators|ministry|network|organi[sz]ation|project|society|team|university)\b",
    re.IGNORECASE,
)
_INITIALS = re.compile(r"[A-Z]{1,3}(-[A-Z])?|([A-Z]\.-?){1,4}")
_ONLY_INITIALS = re.compile(r"(?:[^\W\d_]\.?[ -]?){1,4}")
_WITH_INITIALS = re.compile(
    r"[^,]*[^\W\d_]{2}[^,]* (?:(?:[^\W\d_]\.[ -]?){1,4}|[A-Z](?:-?[A-Z]){0,3}\.?)(?: (?:Jr|Sr|2nd|3rd|I{2,3})\.?)?"
)
"""A family name and initials, as PubMed and Scopus write them."""

_HAN = "\u2e80"
"""From here on scripts in which the family name is written first."""


class WrittenName(NamedTuple):
    """A name in parts; `given` is empty for a group, or where there is one part only."""

    family: str
    given: str = ""
    suffix: str = ""

    def __str__(self) -> str:
        if not self.given:
            return " ".join(filter(None, (self.family, self.suffix)))
        return ", ".join(filter(None, self))


def whole_name(family: str, given: str = "", suffix: str = "") -> str:
    """Return a name of a source that has its parts, in a form that `parse_name` divides into the same parts.

    That is `José Toth`, and `Rodríguez García, José` where the words alone do not say that both are the family name.
    """
    parts = WrittenName(family, given, suffix) if family else WrittenName(given, "", suffix)
    natural = " ".join(filter(None, (parts.given, parts.family, parts.suffix)))
    return natural if parse_name(natural) == parts else str(parts)


def parse_name(text: str) -> WrittenName:
    """Take a name apart: family name, with small words such as `van` before it, given names, and `Jr.` or `III`.

    It may be `Kim, Mi-Na`, `Mi-Na Kim`, `Ludwig van der Berg`, `Toth EA` as PubMed writes it, or the name of a group.
    """
    if _GROUP.search(text):
        return WrittenName(" ".join(text.split()))
    family, *others = (part.strip() for part in text.split(","))
    given = " ".join(part for part in others if part and not _is_suffix(part))
    if family and given:
        return WrittenName(family, given, " ".join(filter(_is_suffix, others)))
    words = text.replace(",", " ").split()
    suffix = words.pop() if len(words) > 2 and _is_suffix(words[-1]) else ""
    if len(words) < 2:
        return WrittenName(" ".join(words) or text)
    if _INITIALS.fullmatch(words[-1]) and not _INITIALS.fullmatch(words[-2]):
        return WrittenName(" ".join(words[:-1]), words[-1], suffix)
    if words[0][0] >= _HAN:
        return WrittenName(words[0], " ".join(words[1:]), suffix)
    first = len(words) - 1
    while first > 1 and (words[first - 1].islower() or words[first - 1] in _CAPITAL_PARTICLES):
        first -= 1
    return WrittenName(" ".join(words[first:]), " ".join(words[:first]), suffix)


def divided_names(text: str) -> list[str]:
    """Return the names of a list in one text, as far as its separators are clear; else the text alone.

    They are semicolons, `and` between whole names, or commas: `Toth EA, de Vries K.`, `Toth E.A., Ono M.` and
    `Toth, E., Ono, M.`.
    """
    for separator in (";", "|"):
        if separator in text:
            return text.split(separator)
    joined = re.split(r"\s+(?:and|&)\s+", text)
    if len(joined) > 1 and all("," in name or parse_name(name).given for name in joined):
        return [name for one in joined for name in (divided_names(one) if one.count(",") > 1 else [one])]
    parts = [part.strip() for part in text.split(",") if part.strip().rstrip(".").lower() not in ("", "et al")]
    if len(parts) > 1 and all(map(_WITH_INITIALS.fullmatch, parts)):
        # PubMed ends the list, not the initials, by a stop.
        return [*parts[:-1], parts[-1].rstrip(".") if "." not in parts[0] else parts[-1]]
    pairs = list(zip(parts[::2], parts[1::2], strict=False))
    if len(parts) > 2 and len(parts) % 2 == 0 and all(_ONLY_INITIALS.fullmatch(given) for _, given in pairs):
        return [f"{family}, {given}" for family, given in pairs]
    return [text]


def _is_suffix(text: str) -> bool:
    return text.replace(".", "").lower() in SUFFIXES
