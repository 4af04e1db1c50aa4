"""Read plain values as the dataclasses of the library: strictly, since a server may answer anything."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from corpora.custom import FieldValue

T = TypeVar("T")

_DEEPEST = 12
"""Nesting of types; those of a page are less deep."""


def read_as(kind: type[T], value: Any) -> T:
    """Return a dataclass from its attributes as JSON holds them: lists become tuples, whole numbers also floats.

    Attributes without a value get their defaults, and those that the dataclass has not are ignored: a newer service may
    answer more. Raises `ValueError` where a value has another type.
    """
    found: T = _read(kind, value, 0)
    return found


def _read(kind: Any, value: Any, depth: int) -> Any:
    origin = get_origin(kind)
    if depth > _DEEPEST:
        raise ValueError("nested too deep")
    if is_dataclass(kind):
        return _dataclass(kind, value, depth)
    if origin in (Union, types.UnionType):
        return _one_of(get_args(kind), value, depth)
    if origin is tuple:
        return _tuple(get_args(kind), value, depth)
    if origin is Mapping and isinstance(value, dict):
        return {name: _read(get_args(kind)[1], one, depth + 1) for name, one in value.items()}
    if origin is Literal and value in get_args(kind) and isinstance(value, str):
        return value
    if kind is float and type(value) is int:
        return float(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise ValueError(f"{str(value)[:40]!r} stands for {getattr(kind, '__name__', kind)}")


def _dataclass(kind: Any, value: Any, depth: int) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{str(value)[:40]!r} stands for a {kind.__name__}")  # noqa: TRY004 - as all here
    hints = _hints(kind)
    given = {one.name: _read(hints[one.name], value[one.name], depth + 1) for one in fields(kind) if one.name in value}
    for one in fields(kind):
        if one.name not in given and one.default is MISSING and one.default_factory is MISSING:
            raise ValueError(f"a {kind.__name__} has no {one.name}")
    return kind(**given)


@lru_cache(maxsize=32)
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind, localns={"FieldValue": FieldValue})


def _one_of(kinds: tuple[Any, ...], value: Any, depth: int) -> Any:
    if value is None and type(None) in kinds:
        return None
    # A whole number is read as a float only where it can't be an int.
    for kind in sorted(kinds, key=lambda one: one is float and type(value) is int):
        try:
            return _read(kind, value, depth + 1)
        except ValueError:
            continue
    raise ValueError(f"{str(value)[:40]!r} has no type that can stand here")


def _tuple(kinds: tuple[Any, ...], value: Any, depth: int) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{str(value)[:40]!r} stands for a list")  # noqa: TRY004 - as all here
    if kinds[-1] is Ellipsis:
        return tuple(_read(kinds[0], one, depth + 1) for one in value)
    return tuple(_read(kind, one, depth + 1) for kind, one in zip(kinds, value, strict=True))
