"""What a setting can be: the readers of its values, named by the annotations of classes of settings.

A class of settings is a frozen dataclass. A field annotated `Annotated[int, whole(1, 9)]` is read by `whole(1, 9)`, and
one without a reader is a text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, get_type_hints

from corpora.errors import InputError

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}

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


def existing_file(value: Any) -> Path:
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


def texts(value: Any) -> tuple[str, ...]:
    """Read a list of texts, or texts with commas between them."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
        raise TypeError("give a list of texts")
    return tuple(one.strip() for one in listed if one.strip())


def networks(value: Any) -> tuple[IPv4Network | IPv6Network, ...]:
    """Read a list of networks and addresses, such as `10.0.0.0/8`."""
    try:
        return tuple(ip_network(one) for one in texts(value))
    except ValueError as error:
        raise ValueError("give networks such as 10.0.0.0/8, and addresses") from error


def some_of(*allowed: str) -> ValueReader:
    """Return a reader of a list of some words."""

    def read(value: Any) -> tuple[str, ...]:
        listed = texts(value)
        if not set(listed) <= set(allowed):
            raise ValueError(f"give some of {', '.join(allowed)}")
        return listed

    return read


def matching(pattern: str, example: str) -> ValueReader:
    """Return a reader of a list of texts of a form, in small letters."""

    def read(value: Any) -> tuple[str, ...]:
        listed = tuple(one.lower() for one in texts(value))
        if not all(re.fullmatch(pattern, one) for one in listed):
            raise ValueError(f"give texts such as {example}")
        return listed

    return read


def rate(value: Any) -> tuple[int, int] | None:
    """Read a rate such as `600/minute` as a number and its seconds, and `off` as None."""
    if value == "off":
        return None
    found = re.fullmatch(r"([1-9]\d{0,8})/(second|minute|hour|day)", text(value))
    if not found:
        raise ValueError("give a rate such as 600/minute, by second, minute, hour or day, or off")
    return int(found[1]), _SECONDS[found[2]]


def checked_value(kind: type, name: str, given: Any, hint: str) -> Any:
    """Return the value of a setting as its reader returns it.

    Args:
        kind: The class of settings, a dataclass.
        name: Name of the setting.
        given: The value from a file, the environment or a caller.
        hint: What to do about a wrong value.

    Returns:
        The value.

    Raises:
        InputError: If the setting can't have that value; the value of a secret is not shown.
    """
    try:
        value = _readers(kind)[name](given)
    except (TypeError, ValueError) as error:
        hidden = next(one for one in fields(kind) if one.name == name).repr is False
        shown = "so" if hidden else repr(given)[:80]
        raise InputError(f"The setting {name} can't be {shown} ({error})", hint) from error
    # TOML can write it, and no path, header or address can hold it.
    if "\0" in str(value):
        raise InputError(f"The setting {name} can't hold a null character", hint)
    return value


@functools.cache
def _readers(kind: type) -> Mapping[str, ValueReader]:
    hints = get_type_hints(kind, include_extras=True)
    return {name: getattr(hint, "__metadata__", (text,))[0] for name, hint in hints.items()}
