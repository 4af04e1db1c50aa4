"""`FIELD:VALUE` in a query as the filter that `FIELD = VALUE` is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from corpora.errors import InputError
from search_plugin.contract.fields import ALIASES, Field, find_field
from search_plugin.contract.tree import Filter
from search_plugin.filters.parse import parse_filter
from search_plugin.filters.text import quoted
from search_plugin.words.edits import edits

TITLE = "title"

SHORTEST = 4
"""Letters of a field's name that may be misspelled."""

_BOUND = re.compile(r"(<=|>=|<|>)(.+)")
_SPAN = re.compile(r"(.*)\.\.(.*)")
_YEARS = re.compile(r"(\d{4})[-\u2013](\d{4})")


def is_field(name: str, fields: Sequence[Field]) -> bool:
    """Return whether a name is that of a field which queries can test."""
    try:
        find_field(name, fields)
    except InputError:
        return name.lower() == TITLE
    return True


def field_named(name: str, fields: Sequence[Field]) -> str:
    """Return the name of the field that a user means; empty if there is none.

    Args:
        name: As typed; one edit from a field's name of `SHORTEST` letters or more is a misspelling.
        fields: Of the index.

    Returns:
        The name as typed, or the one that was misspelled.
    """
    if is_field(name, fields):
        return name
    known = [TITLE, *ALIASES, *(field.name for field in fields if field.kind != "text")]
    near = (one for one in known if len(one) >= SHORTEST and is_field(one, fields) and edits(name.lower(), one) <= 1)
    return next(near, "")


def field_filter(field: Field, value: str, fields: Sequence[Field], *, in_quotes: bool = False) -> Filter:
    """Return the filter of a field's value.

    Args:
        field: Of the index.
        value: For numbers and dates also `FROM..TO`, `FROM..`, `..TO`, `>=FROM` and the like, and `2019-2021` for
            numbers.
        fields: Of the index.
        in_quotes: Whether the value was in quotes, and so is no range.

    Returns:
        The same filter that an expression gives.

    Raises:
        InputError: If it can't be read.
    """
    tests = [("=", value)]
    if field.kind in ("number", "date") and not in_quotes:
        tests = _bounds(value, field) or tests
    # A quoted value can't be read as anything else.
    return parse_filter(" and ".join(f"{field.name} {sign} {quoted(bound)}" for sign, bound in tests), fields)


def _bounds(value: str, field: Field) -> list[tuple[str, str]]:
    if bound := _BOUND.fullmatch(value):
        return [(bound[1], bound[2])]
    span = _SPAN.fullmatch(value) or (_YEARS.fullmatch(value) if field.kind == "number" else None)
    return [(sign, bound) for sign, bound in ((">=", span[1]), ("<=", span[2])) if bound] if span else []
