"""Filters in the syntax of queries, for people: what a query from elsewhere became."""

from __future__ import annotations

from search_plugin.contract.tree import (
    Alike,
    And,
    Begun,
    Compare,
    Exists,
    Filter,
    Nearness,
    Not,
    OneOf,
    Or,
    Says,
    TermLike,
    Value,
    Wild,
    WildPhrase,
)


def as_query(where: Filter) -> str:  # noqa: C901 - one case for each kind of node
    """Return a filter as somebody would type it in a query."""
    match where:
        case Compare(field, op, value):
            return f"{field}:{'' if op == '=' else op}{_value(value)}"
        case OneOf(field, values) | Alike(field, _, values):
            star = "*" if isinstance(where, Alike) and where.manner == "prefix" else ""
            tests = [f"{field}:{_value(f'{value}{star}' if star else value)}" for value in values]
            return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"
        case Exists(field):
            return f"{field}:*"
        case Says(field, words):
            return _in_field(field, words if words.isalnum() else f'"{words}"')
        case Begun(start):
            return f"title:{start}*"
        case TermLike(field, terms, expression):
            return _in_field(field, "/".join([*terms, expression]))
        case Wild(field, typed):
            return _in_field(field, typed)
        case WildPhrase(field, typed):
            return _in_field(field, f'"{typed}"')
        case Nearness(field, one, other, within):
            return f"{as_query(Says(field, one))} NEAR/{within} {as_query(Says(field, other))}"
        case Not(part):
            return f"NOT {_operand(part)}"
        case And(parts):
            return " AND ".join(map(_operand, parts))
        case Or(parts):
            return " OR ".join(map(_operand, parts))


def _operand(where: Filter) -> str:
    text = as_query(where)
    return f"({text})" if isinstance(where, And | Or | Nearness) else text


def _in_field(field: str, said: str) -> str:
    return said if field == "text" else f"{field}:{said}"


def _value(value: Value) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if text.isalnum() or isinstance(value, int | float) else f'"{text}"'
