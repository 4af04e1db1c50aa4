"""The values of papers that filters and facets see, as the word index and the columns keep them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from corpora.dates import first_day

if TYPE_CHECKING:
    from corpora.paper import Paper
    from search_plugin.contract.schema import IndexSchema
    from search_plugin.contract.tree import Value

Kinds = Mapping[str, str]
"""The kind of each field that can be used in filters, by name."""

COMPARED = ("number", "date")
"""Kinds whose values are stored as ordered numbers."""


def kinds_of(schema: IndexSchema) -> Kinds:
    """Return the kinds of an index's fields, without those of text."""
    return {field.name: field.kind for field in schema.fields if field.kind != "text"}


def number_of(value: Value) -> float:
    """Return a number, or the ordinal of a date's first day."""
    return float(date.fromisoformat(first_day(value)).toordinal() if isinstance(value, str) else value)


def held_values(paper: Paper, kinds: Kinds) -> dict[str, Any]:
    """Return a paper's values by field, without missing ones.

    Numbers and dates are floats, booleans True, and lists have no repetitions.
    """
    held: dict[str, Any] = {}
    for name, kind in kinds.items():
        value = paper.value(name)
        if value is None:
            continue
        if kind in COMPARED:
            held[name] = number_of(value)  # type: ignore[arg-type]  # a list is of another kind
        else:
            held[name] = list(dict.fromkeys(value)) if isinstance(value, tuple) else value
    return held


def compared_path(name: str, kinds: Kinds) -> str:
    """Return the name under which the word index keeps a field's number; field names have no capitals."""
    return f"fields.{name}Day" if kinds[name] == "date" else f"fields.{name}"


def to_json(held: Mapping[str, Any], kinds: Kinds) -> dict[str, Any]:
    """Return values for the word index: a date by its day for filters, and by its year for facets."""
    days = {f"{name}Day": value for name, value in held.items() if kinds[name] == "date"}
    years = {name: float(date.fromordinal(int(held[name])).year) for name in held if kinds[name] == "date"}
    return {**held, **days, **years}
