"""Dates as fields hold them: `YYYY-MM-DD`, `YYYY-MM` or `YYYY`."""

from __future__ import annotations

import re
from calendar import monthrange

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
