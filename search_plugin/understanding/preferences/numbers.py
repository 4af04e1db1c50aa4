"""Numbers of journals and people that are typed as queries: ISSN and ORCID, told by their check digits."""

from __future__ import annotations

import re
from dataclasses import replace

from search_plugin.contract.engine import Index
from search_plugin.contract.tree import Alike, Filter, OneOf, Or
from search_plugin.filters.resolve import resolve
from search_plugin.understanding.meaning import Meaning, Preference
from search_plugin.understanding.preferences.years import YEAR

NAMES = {"issn": "ISSN", "orcid": "ORCID"}

_FIELDS = {"issn": ("issn", "issns", "eissn", "issn_l"), "orcid": ("orcid", "orcids", "author_orcids")}
"""Custom fields that may hold them."""

_NUMBER = re.compile(
    r"(?<![\w-])(?:(?:https?://)?(?:www\.)?orcid\.org/|orcid(?:\s+id)?\s*[:=]?\s*|(?P<named>e?issn(?:-l)?\s*[:=]?\s*))?"
    r"(?P<number>\d{4}-\d{3}[\dX](?:-\d{4}-\d{3}[\dX])?)(?![\w-])",
    re.IGNORECASE,
)


def issn_is_valid(number: str) -> bool:
    """Return whether the check digit of an ISSN (`1234-5679`) is right: ISO 3297, weights 8 to 1, modulo 11."""
    digits = number.upper().replace("-", "")
    return sum(weight * _value(digit) for weight, digit in zip(range(8, 0, -1), digits, strict=True)) % 11 == 0


def orcid_is_valid(number: str) -> bool:
    """Return whether the check digit of an ORCID is right: ISO 7064, MOD 11-2."""
    total = 0
    for digit in number.upper().replace("-", ""):
        total = 2 * total + _value(digit)
    return total % 11 == 1


def _value(digit: str) -> int:
    return 10 if digit == "X" else int(digit)


def read_numbers(index: Index, meaning: Meaning) -> Meaning:
    """Find an ISSN or an ORCID in a query without identifiers of papers.

    Returns the rest of the query, and a preference for the papers with the number; or a note that no paper has it.
    """
    for found in _NUMBER.finditer(meaning.topic):
        number = found["number"].upper()
        kind = "orcid" if len(number) > len("1234-5679") else "issn"
        if kind == "issn" and not found["named"] and re.fullmatch(f"{YEAR}-{YEAR}", number):
            continue  # a span of years
        if not (orcid_is_valid if kind == "orcid" else issn_is_valid)(number):
            if found["named"] or found[0].lower().startswith(("orcid", "http")):
                note = f"{number} is no {NAMES[kind]}: its check digit is wrong. It was searched as words."
                return replace(meaning, notes=(*meaning.notes, note))
            continue
        rest = " ".join(f"{meaning.topic[: found.start()]} {meaning.topic[found.end() :]}".split()).strip(" ,;:")
        if where := _papers_with(index, kind, number):
            preference = Preference("number", where, f"with the {NAMES[kind]} {number}")
            return replace(meaning, topic=rest, preferences=(preference, *meaning.preferences))
        note = f"{number} is an {NAMES[kind]}, and no paper of this index has it."
        return replace(meaning, topic=rest, notes=(*meaning.notes, note))
    return meaning


def _papers_with(index: Index, kind: str, number: str) -> Filter | None:
    """Return the filter for papers that have a number in a field of its own or among their identifiers."""
    forms = (number, number.replace("-", ""), f"https://orcid.org/{number}")
    named = [
        field.name
        for field in index.schema.fields
        if field.name.lower() in _FIELDS[kind] and field.kind in ("keyword", "keywords")
    ]
    identifiers = tuple(f"{kind}:{form}" for form in forms)
    tests = [*(Alike(name, "same", forms) for name in named), Alike("identifiers", "same", identifiers)]
    held = [resolve(test, index, suggest=False).filter for test in tests]
    found = tuple(one for one in held if one and not (isinstance(one, OneOf) and not one.values))
    return Or(found) if len(found) > 1 else next(iter(found), None)
