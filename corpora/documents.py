"""Documents of others that are read whole, in JSON or TOML: their size, depth and numbers are limited.

Their values become dataclasses, strictly: importing pydantic for that takes longer than a search.
"""

from __future__ import annotations

import functools
import json
import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from corpora.custom import FieldValue

LARGEST = 16 << 20
"""Most bytes of a document. JSON in memory takes up to 25 times as many."""
_PIECE = 1 << 20
DEEPEST = 100
"""Most lists and objects in one another; code that walks through a value calls itself as often."""

_MOST_DIGITS = 308
"""Most digits of a whole number: any number of so many can be a double."""


def read_within(stream: IO[bytes], largest: int = LARGEST) -> bytes:
    """Return all bytes of a stream, or raise `ValueError` if there are more than `largest`."""
    content = bytearray()
    # In pieces: a reader allocates as many bytes as it is asked for, however few there are.
    while piece := stream.read(min(_PIECE, largest + 1 - len(content))):
        content += piece
        if len(content) > largest:
            raise ValueError(f"it is larger than {largest >> 20:,} MiB")
    return bytes(content)


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


T = TypeVar("T")

_DEEPEST = 24
"""Nesting of values; those of a page are less deep."""


def typed(kind: type[T], content: Any, *, may_be_newer: bool = False) -> T:
    """Return a dataclass made of values of JSON; attributes with defaults may be missing.

    Lists become tuples, and whole numbers stand for floats too.

    Args:
        kind: The dataclass. Its attributes are texts, numbers, booleans, `Literal`, dataclasses, unions, or tuples and
            mappings of these.
        content: Its attributes, as JSON holds them.
        may_be_newer: Whether unknown attributes are left out: a newer service may answer more. Else they are wrong.

    Returns:
        The dataclass.

    Raises:
        ValueError: If an attribute is missing, unknown, or of another type.
    """
    made: T = _value(kind, content, depth=_DEEPEST, newer=may_be_newer)
    return made


def _value(kind: Any, value: Any, *, depth: int, newer: bool) -> Any:
    if not depth:
        raise ValueError("nested too deep")
    read = functools.partial(_value, depth=depth - 1, newer=newer)
    origin, args = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(value, dict):
        return _attributes(kind, value, read, newer=newer)
    if origin in (Union, types.UnionType):
        return _one_of(args, value, read)
    if origin is tuple and isinstance(value, list | tuple):
        if args[-1] is Ellipsis:
            return tuple(read(args[0], one) for one in value)
        return tuple(read(of, one) for of, one in zip(args, value, strict=True))
    if origin is Mapping and isinstance(value, dict):
        return {name: read(args[1], one) for name, one in value.items()}
    if origin is Literal and isinstance(value, str) and value in args:
        return value
    if type(value) is kind:
        return value
    if kind is float and type(value) is int:
        return float(value)
    raise ValueError(f"{value!r:.80} is not {getattr(kind, '__name__', kind)}")


def _attributes(kind: Any, content: dict[str, Any], read: Any, *, newer: bool) -> Any:
    kinds, needed = _expected(kind)
    unknown = set() if newer else content.keys() - kinds.keys()
    if wrong := sorted(unknown | (needed - content.keys())):
        raise ValueError(f"{kind.__name__} lacks or does not know {', '.join(wrong)}")
    return kind(**{name: read(kinds[name], value) for name, value in content.items() if name in kinds})


def _one_of(kinds: tuple[Any, ...], value: Any, read: Any) -> Any:
    if value is None and type(None) in kinds:
        return None
    # A whole number is read as a float only where it can't be an int.
    for kind in sorted(kinds, key=lambda one: one is float and type(value) is int):
        try:
            return read(kind, value)
        except ValueError:
            continue
    raise ValueError(f"{value!r:.80} has no type that can stand here")


@functools.cache
def _expected(kind: Any) -> tuple[dict[str, Any], set[str]]:
    """Return the types of a dataclass's attributes, and which of them must be given."""
    needed = {one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}
    # Papers name this type for type checkers alone.
    hints = get_type_hints(kind, localns={"FieldValue": FieldValue})
    return {one.name: hints[one.name] for one in fields(kind)}, needed
