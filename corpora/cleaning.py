"""Converts raw values of corpora into clean ones: text, years, lists of names, dates.

Fields hold dates as `YYYY-MM-DD`, `YYYY-MM` or `YYYY`.
"""

from __future__ import annotations

import ast
import json
import re
from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence

from corpora.plain import Unreadable, UnreadableError

EARLIEST_YEAR, LATEST_YEAR = 1400, 2100

_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ud800-\udfff]")
_FOUR_DIGITS = re.compile(r"(?<!\d)(\d{4})(?:\d{4})?(?!\d)")
_LONGEST_LITERAL = 1 << 20

_NAME_KEYS = ("name", "display_name", "category", "paperId", "corpusId", "corpusid", "id", "text", "term", "label")
"""Keys under which an object keeps its name; the first one with a value is used."""

_YES = ("true", "t", "yes", "y", "1", "retracted")
_NO = ("", "false", "f", "no", "n", "0", "none", "null", "nan", "not retracted")


def clean_text(text: str) -> str:
    """Return the text without control characters or lone surrogates; each run of white space becomes one blank."""
    return " ".join(_INVISIBLE.sub("", text).split())


def text_of(value: object) -> str:
    """Return any raw value as one clean string, empty if there is no value.

    It may be a string, a number, an object with a name, or a list of such parts (paragraphs), which a blank joins.
    Raises `UnreadableError` if a program gave a value without a plain meaning.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value != value:  # NaN, which pandas writes for "missing"
            return ""
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, Mapping):
        return _name_of(value)
    if isinstance(value, Sequence):
        return " ".join(filter(None, (text_of(part) for part in value)))
    if isinstance(value, Unreadable):
        raise UnreadableError(f"The key {value.key} holds {value.description}, which can't be read.")
    return ""


def year_of(value: object) -> int | None:
    """Return the first plausible year a value names (1998, "1998-05-01", "May 1998", "19980501"), or None."""
    years = (int(digits) for digits in _FOUR_DIGITS.findall(text_of(value)))
    return next((year for year in years if EARLIEST_YEAR <= year <= LATEST_YEAR), None)


def texts_of(value: object) -> tuple[str, ...]:
    """Return the distinct clean strings of a list, in order, without empty ones.

    The list has strings, numbers, objects with a name, or lists whose first item is the name. Or it is one string,
    divided at `;` or `|` (never at a comma, which stands inside names), or that spells such a list out.
    """
    return tuple(dict.fromkeys(filter(None, _parts(value))))


def flag_of(value: object) -> bool | None:
    """Return True for a value such as true, "True", 1 or "yes", False for "", 0, None and the like, None for others."""
    text = str(value).lower() if isinstance(value, bool) else text_of(value).lower()
    return True if text in _YES else False if text in _NO else None


def url_of(value: object) -> str:
    """Return the first web address of a value, empty where there is none (a `javascript:` one is none)."""
    return next((text for text in texts_of(value) if text.startswith(("http://", "https://"))), "")


def _parts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        listed = _spelled_out(value)
        separator = ";" if ";" in value else "|"
        return map(clean_text, value.split(separator)) if listed is None else map(text_of, listed)
    if isinstance(value, Sequence):
        return (text_of(item[0] if isinstance(item, list) and item else item) for item in value)
    return (text_of(value),)


def _spelled_out(text: str) -> Sequence[object] | None:
    """Return the list that a cell contains as JSON or as Python prints it, or None."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]") and len(text) <= _LONGEST_LITERAL):
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        return value if isinstance(value, list) else None
    return None


def _name_of(value: Mapping[str, object]) -> str:
    if "last" in value:  # S2ORC: {"first": "A", "middle": ["B"], "last": "C", "suffix": ""}
        return " ".join(filter(None, (text_of(value.get(key)) for key in ("first", "middle", "last", "suffix"))))
    return next((name for key in _NAME_KEYS if (name := text_of(value.get(key)))), "")


_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:[T ].*)?")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")


def first_day(date: str) -> str:
    """Return the day (`YYYY-MM-DD`) that a date of a field stands for."""
    return f"{date}{'-01-01'[len(date) - 4 :]}"


def last_day(date: str) -> str:
    """Return the last day (`YYYY-MM-DD`) of the year, the month or the day that a date names."""
    year, month, day = (*date.split("-"), "", "")[:3]
    month = month or "12"
    return f"{year}-{month}-{day or monthrange(int(year), int(month))[1]}"


def normal_date(text: str) -> str | None:
    """Return a date as `YYYY-MM-DD`, `YYYY-MM` or `YYYY`, or None where a text is none."""
    match = _DATE.fullmatch(text) or _COMPACT.fullmatch(text)
    if match is None:
        return None
    year, month, day = (int(part) if part else 0 for part in match.groups())
    if year < 1 or (match[2] and not 1 <= month <= 12) or (match[3] and not 1 <= day <= monthrange(year, month)[1]):
        return None
    return f"{year:04}" + (f"-{month:02}" if month else "") + (f"-{day:02}" if day else "")
