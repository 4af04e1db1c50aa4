"""Words of several parts that papers join in many ways: TNF-alpha, TNFalpha, TNF alpha; IL-6, IL6; non-smokers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import product

_LETTERS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi "
    "psi omega"
)
# The seventeen letters up to rho are followed by a final sigma.
GREEK = {name: chr(0x3B1 + at + (at > 16)) for at, name in enumerate(_LETTERS.split())}
"""Greek letters by name."""

_NAMES = {letter: name for name, letter in GREEK.items()} | {"\u00b5": "mu", "\u03c2": "sigma", "\u03d5": "phi"}
_GLUED = "|".join(name for name in sorted(GREEK, key=len, reverse=True) if len(name) > 3)
_PART = re.compile(r"\d+|[^\W\d_\u0370-\u03ff\u00b5]+|[\u0370-\u03ff\u00b5]")
# TNFalpha, IFNgamma2, NFkappaB: a name after capitals or digits; or at the end of a word in small letters.
_NAMED = re.compile(rf"([A-Z0-9]+|[a-z]{{2,}}(?=(?:{_GLUED})\d*$))({_GLUED})([A-Z]?\d*)")

_LATIN = {"kappa": ("k",)}

_MOST_PARTS = 4
"""Longer words, such as names of chemicals, are joined and separated as a whole only."""

_LONGEST_ACRONYM = 5


def is_greek(word: str) -> bool:
    """Return whether a word is a Greek letter or the name of one."""
    return word.lower() in GREEK or word.lower() in _NAMES


def continues(word: str, after: str, gap: str) -> bool:
    """Return whether a word and the next one may be parts of one, such as `TNF alpha`, `IL 6` and `non-smokers`.

    They may if a hyphen stands between them, or a space before a Greek letter, or before a number after an acronym.
    """
    if gap in HYPHENS:
        return True
    if gap != " ":
        return False
    if is_greek(after):
        return len(word) > 1
    if is_greek(word):
        return len(after) == 1 and after.isupper()
    return after.isdecimal() and word.isalpha() and len(word) <= _LONGEST_ACRONYM and not word.islower()


HYPHENS = ("-", "\u2010", "\u2011", "\u2012", "\u2013", "\u2212", "/-", "-/")


def spellings(words: Sequence[str]) -> tuple[str, ...]:
    """Return the other spellings of a word, given as its parts as typed, such as `TNF` and `alpha`.

    These are in small letters, with a space where parts stand side by side, the typed ones among them. Empty if the
    word has one part.
    """
    parts = [part for word in words for part in _parts(word)]
    if (
        parts and parts[0] in ("nf", "nfkb") and parts[-1] in ("kb", "nfkb")
    ):  # the Latin k is how the Greek one is typed
        parts = ["nf", "kappa", "b"]
    if len(parts) < 2:
        return ()
    if len(parts) > _MOST_PARTS:
        return tuple(dict.fromkeys(("".join(words).lower(), " ".join(words).lower())))
    if not any(part in GREEK or part.isdecimal() for part in parts) and len(words) > 1:
        return tuple(dict.fromkeys((" ".join(words).lower(), "".join(words).lower())))
    forms = [(part, GREEK[part], *_LATIN.get(part, ())) if part in GREEK else (part,) for part in parts]
    joined: dict[str, None] = {}
    for gaps in product((" ", ""), repeat=len(parts) - 1):
        for written in product(*forms):
            joined["".join(part + gap for part, gap in zip(written, [*gaps, ""], strict=True))] = None
    return tuple(joined)


@lru_cache(maxsize=4096)
def _parts(word: str) -> tuple[str, ...]:
    """Return the parts of a word between its letters, digits and Greek letters, in small letters; these by name."""
    if named := _NAMED.fullmatch(word):
        return tuple(part for group in named.groups() if group for part in _parts(group))
    return tuple(_NAMES.get(part, part) for part in (found.lower() for found in _PART.findall(word)))
