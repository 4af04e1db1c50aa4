"""Numbers in queries: years, and the numbers of journals and people (ISSN, ORCID), which check digits confirm.

Years are found in "papers from 2020 about remdesivir", "transmission routes 2020", "since 2019".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from search_plugin.contract.engine import Index
from search_plugin.contract.tree import Alike, And, Compare, Filter, OneOf, Operator, Or
from search_plugin.filters.resolve import resolve
from search_plugin.understanding.meaning import Meaning, Preference

YEAR = r"(?:1[5-9]|20)\d\d"
PAPERS = r"(?:papers?|articles?|publications?|studies|research|literature|preprints?)"
_ABOUT = r"(?:about|on|of|regarding|concerning)"
_SINCE = r"(?:from|since|after|before|until|between|during|in)"
_RANGE = rf"\s?(?:[-\u2013]|\.\.|to|and|until)\s?(?P<last>{YEAR})"
_OTHERS = rf"(?P<others>(?:\s?(?:[,/\s]|or)\s?{YEAR})+)"
_SPAN = rf"\(?(?P<first>{YEAR})(?:{_RANGE}|{_OTHERS})?\)?"
_FORMS = tuple(
    re.compile(rf"{form}[\s,.;?!]*", re.IGNORECASE)
    for form in (
        # The whole query, its beginning, its end.
        rf"(?:(?:{PAPERS}\s+)?(?:published\s+)?(?P<when>{_SINCE})\s+)?{_SPAN}",
        rf"(?P<papers>{PAPERS}\s+)(?:published\s+)?(?P<when>{_SINCE})\s+{_SPAN}(?:\s+{_ABOUT})?\s+(?P<topic>.+)",
        rf"{_SPAN}\s+(?P<papers>{PAPERS})\s+{_ABOUT}\s+(?P<topic>.+)",
        rf"(?P<when>since|after|before|until|between)\s+{_SPAN},?\s+(?P<topic>.+)",
        rf"(?P<topic>.+?),?\s+(?:(?P<papers>{PAPERS}|published)\s+)?(?:published\s+)?(?P<when>{_SINCE})\s+{_SPAN}",
        rf"(?P<topic>.+?)(?:\s+(?P<papers>{PAPERS}|published))?,?\s+{_SPAN}",
    )
)
_AT_AN_END = re.compile(
    rf"\(?(?P<before>{YEAR})\)?(?:[,;:.]?\s+(?P<rest>.+))?|(?P<topic>.+?)[\s,]+\(?(?P<after>{YEAR})\)?[.;]?"
)
_PAPERS_ABOUT = re.compile(rf"{PAPERS}\s+{_ABOUT}\s+", re.IGNORECASE)
_SENTENCE = re.compile(
    r"(?:what|which|who|when|where|why|how|can|do|does|did)\b.*|.*\b(?:is|are|was|were|has|have|had|will)\b.*|.*\?",
    re.IGNORECASE,
)

MOST_WORDS = 8
"""A longer query with a year is a sentence, which may tell of what happened in it."""


@dataclass(frozen=True, slots=True)
class YearRead:
    """Years that a query names.

    Attributes:
        preference: Preference for the papers of these years.
        topic: The other words; empty if there are none.
        sure: Whether they can only be when papers were published.
        term: A bare year with the word before it, which may be a term, such as "disease 2019"; else empty.
    """

    preference: Preference
    topic: str
    sure: bool
    term: tuple[str, ...] = ()


def read_years(query: str) -> YearRead | None:
    """Return the years that a query without identifiers names at its beginning or end; None if it names none.

    A bare year, and "in" before one, are not sure.
    """
    for form in _FORMS:
        if found := form.fullmatch(query):
            parts = {"topic": "", "papers": "", "when": "", **{k: v for k, v in found.groupdict().items() if v}}
            break
    else:
        return None
    first, last, when = int(parts["first"]), int(parts.get("last", parts["first"])), parts["when"].lower()
    if last < first:
        return None
    years = sorted({first, *map(int, re.findall(YEAR, parts.get("others", "")))})
    topic = " ".join(parts["topic"].split()).strip(" ,;")
    if topic and not parts["papers"] and (len(query.split()) > MOST_WORDS or _SENTENCE.fullmatch(query)):
        return None
    sure = bool(parts["papers"]) or when not in ("", "in", "during") or not topic
    if sure:
        topic = _PAPERS_ABOUT.sub("", topic, count=1) if _PAPERS_ABOUT.match(topic) else topic
    term = () if sure or when else (topic.split()[-1], str(first))
    if len(years) == 1:
        return YearRead(_preference(first, last, when), topic, sure, term)
    description = f"from {', '.join(map(str, years[:-1]))} or {years[-1]}"
    return YearRead(Preference("year", OneOf("year", tuple(years)), description), topic, sure, term)


def year_at_an_end(query: str) -> tuple[Preference, str] | None:
    """Return the bare year that a query begins or ends with, and the other words; None if there is none."""
    found = _AT_AN_END.fullmatch(query)
    if not found:
        return None
    year = int(found["before"] or found["after"])
    return _preference(year, year, ""), (found["rest"] or found["topic"] or "").strip(" ,;")


_BOUNDS: Mapping[str, Operator] = {"since": ">=", "after": ">", "before": "<", "until": "<="}


def _preference(first: int, last: int, when: str) -> Preference:
    if when in _BOUNDS:
        return Preference("year", Compare("year", _BOUNDS[when], first), f"{when} {first}")
    if first != last:
        span = And((Compare("year", ">=", first), Compare("year", "<=", last)))
        return Preference("year", span, f"from {first} to {last}")
    return Preference("year", Compare("year", "=", first), f"from {first}")


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
