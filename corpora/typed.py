"""Dataclasses from values of JSON, strictly: importing pydantic for that takes longer than a search."""

from __future__ import annotations

import functools
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def typed(kind: type[T], content: Any) -> T:
    """Return a dataclass made of values of JSON; attributes with defaults may be missing.

    Its attributes are texts, numbers, booleans, `Literal`, dataclasses, or tuples of these. Raises `ValueError` if an
    attribute is missing, unknown or of another type.
    """
    made: T = _value(kind, content)
    return made


def _value(kind: Any, value: Any) -> Any:
    if is_dataclass(kind) and isinstance(value, dict):
        return _attributes(kind, value)
    if get_origin(kind) is tuple and isinstance(value, list | tuple):
        return tuple(_value(get_args(kind)[0], one) for one in value)
    if get_origin(kind) is Literal and value in get_args(kind):
        return value
    if type(value) is kind:
        return value
    if kind is float and type(value) is int:
        return float(value)
    raise ValueError(f"{value!r:.80} is not {getattr(kind, '__name__', kind)}")


def _attributes(kind: Any, content: dict[str, Any]) -> Any:
    kinds, needed = _expected(kind)
    if wrong := sorted((content.keys() - kinds.keys()) | (needed - content.keys())):
        raise ValueError(f"{kind.__name__} lacks or does not know {', '.join(wrong)}")
    return kind(**{name: _value(kinds[name], value) for name, value in content.items()})


@functools.cache
def _expected(kind: Any) -> tuple[dict[str, Any], set[str]]:
    """Return the types of a dataclass's attributes, and which of them must be given."""
    needed = {one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}
    return get_type_hints(kind), needed
