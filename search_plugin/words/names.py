"""Names of people: reading them in the forms that corpora and users write, and comparing them.

"Toth, Eric A.", "Eric A. Toth", "E A Toth" and "Toth EA" are the same name. Family names must agree; given names and
initials must not contradict. Case, diacritics, hyphens and apostrophes do not count, and ü may be written u or ue.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from corpora.names import SUFFIXES

PARTICLES = frozenset(
    (
        *("af", "al", "bin", "da", "das", "de", "del", "della", "den", "der", "di", "do", "dos", "du", "el", "ibn"),
        *("la", "las", "le", "los", "ten", "ter", "tot", "van", "vom", "von", "zu", "zum", "zur"),
    )
)
"""Words before a family name that some databases leave out."""

_SUFFIXES = SUFFIXES | {"phd", "md"}
_LETTERS = {"æ": "ae", "œ": "oe", "ß": "ss", "þ": "th", "ð": "d", "ø": "o", "ł": "l", "đ": "d", "\u0131": "i", "ħ": "h"}
_DIGRAPHS = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}
_HAN = "\u2e80"
"""From here on scripts in which the family name is written first."""

_MOST_INITIALS = 3
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Name:
    """One reading of a name.

    Attributes:
        family: Words of the family name, folded.
        given: Given names and initials in order, folded; empty if there are none.
    """

    family: tuple[str, ...]
    given: tuple[str, ...] = ()

    @property
    def core(self) -> tuple[str, ...]:
        """The family name without particles before it."""
        words = self.family
        while len(words) > 1 and words[0] in PARTICLES:
            words = words[1:]
        return words


def same_author(typed: str, stored: str) -> bool:
    """Return whether a name that a user typed can be that of a stored author."""
    return any(_agree(one, other) for one, other in product(typed_readings(typed), stored_readings(stored)))


def same_person(one: str, other: str) -> bool:
    """Return whether two names of corpora can be those of one person."""
    return any(_agree(a, b) for a, b in product(stored_readings(one), stored_readings(other)))


@lru_cache(maxsize=65_536)
def stored_readings(text: str) -> frozenset[Name]:
    """Return the ways to read a name of a corpus: several where nothing says how long the family name is."""
    return _readings(text, typed=False)


@lru_cache(maxsize=1_024)
def typed_readings(text: str) -> frozenset[Name]:
    """Return the ways to read a name of a query, in which either part may come first, and case says little."""
    return _readings(text, typed=True)


def family_keys(text: str) -> frozenset[str]:
    """Return the family names that a typed name may have, each as one folded word without particles."""
    return frozenset("".join(name.core) for name in typed_readings(text))


def fold(text: str, *, digraphs: bool = False) -> tuple[str, ...]:
    """Return the words of a name in lower case without diacritics, and ü as ue and the like if wanted."""
    lowered = unicodedata.normalize("NFC", text).lower()
    if digraphs:
        lowered = "".join(_DIGRAPHS.get(char, char) for char in lowered)
    plain = "".join(_LETTERS.get(char, char) for char in lowered)
    bare = (char for char in unicodedata.normalize("NFD", plain) if not unicodedata.combining(char))
    joined = re.sub("['’ʼ‘`´]", "", "".join(bare))  # noqa: RUF001 - as people type an apostrophe
    return tuple(re.findall(r"[^\W_]+", joined))


def _readings(text: str, *, typed: bool) -> frozenset[Name]:
    text = text[:_LONGEST]
    both = [_read(text, typed=typed, digraphs=digraphs) for digraphs in (False, True)]
    return frozenset(name for names in both for name in names if name.family)


def _read(text: str, *, typed: bool, digraphs: bool) -> list[Name]:
    before, comma, after = text.partition(",")
    rest = [token for token in after.replace(",", " ").split() if not _is_suffix(token)]
    if comma and fold(before) and fold(" ".join(rest)):
        name = Name(fold(before, digraphs=digraphs), _given(rest, digraphs=digraphs))
        # Of two family names, people search by the first, by the last, or by both.
        ends = () if typed else dict.fromkeys((name.core[:1], name.core[-1:]))
        return [name, *(Name(end, name.given) for end in ends if end != name.core)]
    tokens = [token for token in before.split() if fold(token)]
    while len(tokens) > 1 and _is_suffix(tokens[-1]):
        tokens.pop()
    places = _family_places(tokens) + (_typed_places(tokens) if typed else [])
    names = []
    for start, stop in places:
        family, given = " ".join(tokens[start:stop]), tokens[:start] + tokens[stop:]
        names.append(Name(fold(family, digraphs=digraphs), _given(given, digraphs=digraphs)))
    if typed and len(tokens) > 1 and len(tokens[-1]) <= 2:  # initials in lower case
        names.append(Name(fold(" ".join(tokens[:-1]), digraphs=digraphs), tuple("".join(fold(tokens[-1])))))
    return names


def _family_places(tokens: list[str]) -> list[tuple[int, int]]:
    """Return where the family name can be in a name without a comma: start and stop among its words."""
    count = len(tokens)
    if count < 2:
        return [(0, count)]
    last = _start_of_family(tokens, count - 1)
    ending = next((at for at in range(1, count) if all(map(_is_initials, tokens[at:]))), count)
    leading = next((at for at in range(count) if not _is_initials(tokens[at])), count - 1)
    places = [(0, ending)] if ending < count else [(last, count)]
    if leading:
        places += [(leading, count), (last, count)]
    elif ending == count > 2:
        places.append((_start_of_family(tokens, count - 2), count))
    if tokens[0] >= _HAN:
        places.append((0, 1))
    return places


def _typed_places(tokens: list[str]) -> list[tuple[int, int]]:
    """Return where else it can be in a name that a user typed: first, last, or it is all that was typed."""
    count = len(tokens)
    first = next((at for at, token in enumerate(tokens) if token.lower() not in PARTICLES), 0) + 1
    whole = [(0, count)] if count <= 3 else []
    return [*whole, (0, first), (_start_of_family(tokens, count - 1), count)]


def _start_of_family(tokens: list[str], at: int) -> int:
    while at > 1 and tokens[at - 1].lower() in PARTICLES:
        at -= 1
    return at


def _is_initials(token: str) -> bool:
    letters = re.sub(r"[.\-‐]", "", token)  # noqa: RUF001 - a hyphen
    return letters.isalpha() and letters.isupper() and (len(letters) <= _MOST_INITIALS)


def _is_suffix(token: str) -> bool:
    return "".join(fold(token)) in _SUFFIXES


def _given(tokens: list[str], *, digraphs: bool) -> tuple[str, ...]:
    parts: list[str] = []
    for token in tokens:
        words = fold(token, digraphs=digraphs)
        parts += "".join(words) if _is_initials(token) else words
    return tuple(parts)


def _agree(one: Name, other: Name) -> bool:
    if "".join(one.family) != "".join(other.family):
        # Particles may be missing on one side, but two different ones are two names.
        bare = one.core == one.family or other.core == other.family
        if not bare or "".join(one.core) != "".join(other.core):
            return False
    if "".join(one.given) == "".join(other.given):
        return True
    pairs = zip(one.given, other.given, strict=False)
    return all(a[0] == b[0] if 1 in (len(a), len(b)) else a == b for a, b in pairs)
