"""Values of settings as users write them: texts of the environment, values of TOML, or objects of Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

ValueReader = Callable[[Any], Any]
"""Returns the value of a setting, or raises `ValueError` or `TypeError`; a message of it says what to give."""

_SWITCHED = {
    **dict.fromkeys(("true", "1", "yes", "on", "y", "t"), True),
    **dict.fromkeys(("false", "0", "no", "off", "n", "f"), False),
}


def text(value: Any) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise TypeError("give a text")
    return value


def path(value: Any) -> Path:
    """Read a path."""
    if not isinstance(value, str | Path):
        raise TypeError("give a path")
    return Path(value)


def file(value: Any) -> Path:
    """Read the path of a file that exists."""
    if not path(value).is_file():
        raise ValueError("there is no such file")
    return path(value)


def choice(*allowed: str) -> ValueReader:
    """Return a reader of one of some words."""

    def read(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"give one of {', '.join(allowed)}")
        return str(value)

    return read


def switch(value: Any) -> bool:
    """Read true or false, also as `1`, `yes` or `on`, and `0`, `no` or `off`."""
    known = _SWITCHED.get(str(value).lower())
    if known is None:
        raise ValueError("give true or false")
    return known


def whole(least: int, most: int) -> ValueReader:
    """Return a reader of whole numbers within bounds."""

    def read(value: Any) -> int:
        number = _number(value)
        if not number.is_integer() or not least <= number <= most:
            raise ValueError(f"give a whole number from {least:,} to {most:,}")
        return int(number)

    return read


def seconds(*, zero: bool) -> ValueReader:
    """Return a reader of seconds, which may be 0 or not."""

    def read(value: Any) -> float:
        number = _number(value)
        if not (number > 0 or (zero and number == 0)):
            raise ValueError(f"give a number of seconds, {'0 or more' if zero else 'more than 0'}")
        return number

    return read


def _number(value: Any) -> float:
    try:
        return float("" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")  # which is within no bounds
