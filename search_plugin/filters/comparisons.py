"""Comparisons as the filters of a user mean them: a field, and values as written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from corpora.custom import FieldKind
from corpora.dates import first_day, last_day, normal_date
from search_plugin.contract.fields import Field
from search_plugin.contract.tree import Alike, And, Compare, Filter, Manner, Not, OneOf, Operator, Or, Value
from search_plugin.filters.syntax import short, unreadable
from search_plugin.words.identifiers import identifier_of

# 9 digits fit the 32-bit columns of every engine.
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,17})?(e[+-]?[0-9]{1,2})?", re.ASCII | re.IGNORECASE)


class Given(NamedTuple):
    """A value as written, where, and whether a star stands for its end."""

    text: str
    position: int
    open: bool = False


def alike(field: Field, values: Sequence[Given]) -> Filter:
    """Return the filter for papers with a value: in any case, and authors by any form of their names."""
    return alike_one_of(field, values) if _is_loose(field) else exact(field, values)


def alike_one_of(field: Field, values: Sequence[Given]) -> Filter:
    """Return the filter for papers with one of some values: in any case, and authors by any form of their names."""
    if not _is_loose(field):
        return exactly_one_of(field, values)
    own: Manner = "name" if field.name == "authors" else "same"
    asked: dict[Manner, dict[str, None]] = {}
    for given in values:
        asked.setdefault("prefix" if given.open else own, {})[str(_value(field, given))] = None
    return _any_of([Alike(field.name, manner, tuple(texts)) for manner, texts in asked.items()])


def _is_loose(field: Field) -> bool:
    # Ids are compared exactly: they are all different, and may differ in case alone.
    return field.kind in ("keyword", "keywords") and field.name != "id"


def exact(field: Field, values: Sequence[Given]) -> Filter:
    """Return the filter for papers with a value as it is written."""
    return _any_of([_equal(field, value) for value in dict.fromkeys(_read(field, values))])


def exactly_one_of(field: Field, values: Sequence[Given]) -> Filter:
    """Return the filter for papers with one of some values as they are written."""
    read = _read(field, values)
    parts = [_equal(field, value) for value in dict.fromkeys(read)]
    return OneOf(field.name, read) if all(isinstance(part, Compare) for part in parts) else _any_of(parts)


def _read(field: Field, values: Sequence[Given]) -> tuple[Value, ...]:
    whole = (Given(given.text + "*" * given.open, given.position) for given in values)
    return tuple(_value(field, given) for given in whole)


def compared(field: Field, op: Operator, given: Given) -> Filter:
    """Return the filter for a number or a date in some relation to a value."""
    value = _value(field, given)
    if field.kind == "date":
        value = first_day(str(value)) if op in ("<", ">=") else last_day(str(value))
    return Compare(field.name, op, value)


def identified(kind: str, values: Sequence[Given]) -> Filter:
    """Return the filter for papers with one of some identifiers of a kind, or with one that begins so."""
    parts: list[Filter] = []
    for given in values:
        if given.open:
            parts.append(Alike("identifiers", "prefix", (f"{kind}:{given.text}",)))
            continue
        identifier = identifier_of(kind, given.text)
        parts.append(OneOf("identifiers", identifier.identifiers))
        if identifier.ids:
            parts.append(OneOf("id", identifier.ids))
    return _any_of(parts)


def _any_of(parts: Sequence[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _equal(field: Field, value: Value) -> Filter:
    if value is False:
        return Not(Compare(field.name, "=", value=True))
    if field.kind == "date" and (first := first_day(str(value))) != (last := last_day(str(value))):
        return And((Compare(field.name, ">=", first), Compare(field.name, "<=", last)))
    return Compare(field.name, "=", value)


def _value(field: Field, given: Given) -> Value:
    if not given.text:
        raise unreadable(
            given.position, f"expected a value but found empty quotes (papers without one: not {field.name} exists)"
        )
    read, expected = _WHOLE if field.whole else _READERS.get(field.kind, (str, "text"))
    value = read(given.text)
    if value is None:
        raise unreadable(given.position, f"expected {expected} for {field.name} but found {short(given.text)}")
    return value


def _number(text: str) -> Value | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return int(number) if number.is_integer() else number


_Reader = tuple[Callable[[str], Value | None], str]
"""Reads a value, or returns None if it is invalid, and says what was expected."""

_WHOLE: _Reader = (
    lambda text: int(text) if _WHOLE_NUMBER.fullmatch(text) else None,
    "a whole number of at most 9 digits",
)
_READERS: Mapping[FieldKind, _Reader] = {
    "boolean": (lambda text: {"true": True, "false": False}.get(text.lower()), "true or false"),
    "number": (_number, "a number"),
    "date": (normal_date, "a date such as 2020-03-16, 2020-03 or 2020"),
}
