"""Documents of others that are read whole, in JSON or TOML: their size, depth and numbers are limited."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import IO, Any

LARGEST = 16 << 20
"""In bytes. JSON in memory takes up to 25 times as many."""
DEEPEST = 100
"""Lists and objects in one another; code that walks through a value calls itself as often."""

_MOST_DIGITS = 308
"""Of a whole number: all of them can be doubles."""


def read_within(stream: IO[bytes], largest: int = LARGEST) -> bytes:
    """Return all bytes of a stream, or raise `ValueError` if there are more than `largest`."""
    content = stream.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"it is larger than {largest >> 20:,} MiB")
    return content


def read_text(path: Path, largest: int = LARGEST) -> str:
    """Return the text of a file in UTF-8, without a byte order mark; `OSError`, or `ValueError` with the reason."""
    with path.open("rb") as stream:
        return read_within(stream, largest).decode("utf-8-sig")


def read_json(path: Path, largest: int = LARGEST) -> Any:
    """Return the value in a JSON file; errors as of `json_of`, and `OSError`."""
    with path.open("rb") as stream:
        return json_of(read_within(stream, largest))


def json_of(content: bytes) -> Any:
    """Return the value of a JSON document (RFC 8259) in UTF-8, in which all numbers are finite, also as doubles.

    Raises `ValueError` if it is no JSON, holds other numbers, or is nested too deep; the message is the reason.
    """
    text = content.decode("utf-8-sig")
    try:
        value = json.loads(text, parse_float=_finite, parse_int=_whole, parse_constant=_finite)
    except RecursionError:
        raise _too_deep() from None
    level = [value]
    for _ in range(DEEPEST):
        inside = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [part for parts in inside for part in parts if isinstance(part, dict | list)]
        if not level:
            return value
    raise _too_deep()


def read_toml(path: Path, largest: int = LARGEST) -> dict[str, Any]:
    """Return the tables of a TOML file in UTF-8; `OSError`, or `ValueError` with the reason if it can't be read."""
    import tomllib

    try:
        return tomllib.loads(read_text(path, largest))
    except RecursionError:
        raise _too_deep() from None


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text:.20} is not finite")
    return value


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(text):,} digits")
    return int(text)


def _too_deep() -> ValueError:
    return ValueError("its lists or objects are nested too deep")
