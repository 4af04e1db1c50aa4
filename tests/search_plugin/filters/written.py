"""Filters back to the text that users write, for tests of what reads it."""

from __future__ import annotations

from search_plugin.contract.tree import Alike, And, Compare, Exists, Filter, Not, OneOf, Or, Says, Value
from search_plugin.filters.parse import quoted


def to_text(where: Filter) -> str:
    """Return a filter's text, which `parse_filter` reads back as the same tree.

    Args:
        where: The filter.

    Returns:
        The expression, with every string quoted.
    """
    match where:
        case Compare(field, "=", str(value)):
            return f"{field} == {_value(value)}"
        case Compare(field, op, value):
            return f"{field} {op} {_value(value)}"
        case OneOf(field, values):
            return f"{field} == ({', '.join(map(_value, values))})"
        case Alike(field, manner, values):
            star = "*" if manner in ("prefix", "family") else ""
            return f"{field} in ({', '.join(_value(value) + star for value in values)})"
        case Exists(field):
            return f"{field} exists"
        case Says(field, words):
            return f"{field} says {quoted(words)}"
        case Not(part):
            return f"not {_operand(part)}"
        case And(parts):
            return " and ".join(map(_operand, parts))
        case Or(parts):
            return " or ".join(to_text(part) if isinstance(part, And) else _operand(part) for part in parts)


def _operand(where: Filter) -> str:
    text = to_text(where)
    return f"({text})" if isinstance(where, And | Or) else text


def _value(value: Value) -> str:
    if isinstance(value, int | float):
        return str(value).lower()
    return quoted(value)
