"""Values of Python programs as the values that files hold: texts, numbers, booleans, lists and objects.

Numpy, pandas, polars and pyarrow are recognised by what their values offer, so none of them is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

DEEPEST = 32
"""Levels of lists and objects in a value; no record of a corpus has more than a few."""

LONGEST_NUMBER = 1024
"""Bits of a whole number; more than that is beyond the numbers that engines keep."""

_MISSING = ("NAType", "NaTType", "MaskedConstant")
"""The types of `pandas.NA`, `pandas.NaT` and `numpy.ma.masked`."""

_DATES, _NOT_PLAIN = "M", "cmSV"
"""Numpy's kinds of dates; and of complex numbers, durations, bytes and structures."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value without a plain meaning in a record; the record is rejected if the value is read.

    `description` describes it, such as `a value of the type bytes`.
    """

    key: str
    description: str


class UnreadableError(ValueError):
    """A record has a value without a plain meaning; the text is a sentence."""


def plain(value: object, depth: int = 0) -> Any:
    """Return a value of Python as a file of JSON would hold it.

    Args:
        value: Texts, numbers, booleans, dates, paths, UUIDs, enums, scalars and arrays of numpy, pandas and pyarrow,
            mappings, dataclasses, named tuples, and lists or sets of all these. NaN, NaT and NA are missing.
        depth: Number of lists and mappings around it.

    Returns:
        Text, int, float, bool, None, a list or a dictionary. A date is `YYYY-MM-DD`, with its time unless that is
        midnight.

    Raises:
        ValueError: If it has no plain meaning; the text says what it is.
    """
    if value is None or type(value) in (str, bool):
        return value
    if depth > DEEPEST:
        raise ValueError("a value that is nested too deeply")
    if isinstance(value, int | float | Decimal) and not isinstance(value, Enum):
        return _number(value)
    if isinstance(value, str) and not isinstance(value, Enum):
        return str.__str__(value)
    return _simpler(value, depth + 1)


def record_of(given: object) -> dict[str, object] | None:
    """Return a paper of a program as a record by key, its values as of `plain` or `Unreadable`; None if it is none.

    It may be a mapping, a dataclass, a named tuple, a pydantic model, or a row of sqlite3 or pandas.
    """
    content = _content(given)
    return None if content is None else {str(key): _readable(str(key), value) for key, value in content.items()}


def _readable(key: str, value: object) -> object:
    try:
        return plain(value)
    except ValueError as error:
        return Unreadable(key, str(error))


def _content(given: Any) -> Mapping[Any, object] | None:
    """Return what an object holds by name, or None if it holds nothing by name."""
    if isinstance(given, Mapping):
        return given
    if isinstance(given, type):
        return None
    if is_dataclass(given):
        return {one.name: getattr(given, one.name) for one in fields(given)}
    for method in ("_asdict", "model_dump"):  # of named tuples, and of pydantic's models
        if callable(found := getattr(given, method, None)):
            return dict(found())
    if hasattr(given, "keys") and hasattr(given, "__getitem__"):
        return {key: given[key] for key in given.keys()}  # noqa: SIM118 - a row iterates over its values
    return None


def _number(value: float | Decimal) -> int | float | None:
    if value != value:
        return None
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Decimal):
        # Its exponent may be so large that the whole number would fill the memory.
        exact = value.is_finite() and value.adjusted() < 300 and value == value.to_integral_value()
        return int(value) if exact else float(value)
    if value.bit_length() > LONGEST_NUMBER:
        raise ValueError(f"a number of more than {LONGEST_NUMBER * math.log10(2):.0f} digits")
    return int(value)


def _simpler(value: Any, depth: int) -> Any:
    """Return what a value stands for, in plain values."""
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, Enum):
        return plain(value.value, depth)
    if isinstance(value, date):
        return _day(value.isoformat())
    if isinstance(value, PurePath | UUID):
        return str(value)
    unwrap = _unwrapping(value)
    if unwrap:
        return plain(unwrap(), depth)
    if not _is_list(value) and (content := _content(value)) is not None:
        return {str(plain(key, depth)): plain(one, depth) for key, one in content.items()}
    if _is_list(value):
        listed = [plain(one, depth) for one in value]
        return sorted(listed, key=str) if isinstance(value, set | frozenset) else listed
    raise ValueError(f"a value of the type {type(value).__name__}")


def _unwrapping(value: Any) -> Callable[[], object] | None:
    """Return what gives the value of a scalar of numpy, or of a scalar or array of pyarrow; None for other values."""
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        kind = getattr(value.dtype, "kind", "")
        if kind in _DATES:
            text = str(value)
            return lambda: None if text == "NaT" else _day(text)
        return None if kind in _NOT_PLAIN else value.item
    return getattr(value, "as_py", None) or getattr(value, "to_pylist", None)


def _is_list(value: Any) -> bool:
    """Whether a value is a list of values: not bytes, not a mapping, not a row with names, nothing read only once."""
    if isinstance(value, bytes | bytearray | memoryview | Mapping) or hasattr(value, "_asdict"):
        return False
    return isinstance(value, Collection) and getattr(value, "ndim", 1) > 0


def _day(text: str) -> str:
    """Return a date without its time if that is midnight, as pandas writes days."""
    day, _, time = text.partition("T")
    return text if time.strip("0:.") else day
