"""Filters as SQL for LanceDB, whose parser and planner are DataFusion's.

Lance answers a test from a scalar index only where it stands bare, so `coalesce(test, false)` around each would cost a
scan of the table. Instead every `not` is pushed down to the tests (De Morgan): a test on a missing value is NULL, which
counts as false under `and` and `or` alone, and a negated test says outright that NULL passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from search_plugin.filters.tree import And, Compare, Exists, Filter, Not, OneOf, Or, Test, Value
from search_plugin.schema import FIELDS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class _Clause(NamedTuple):
    sql: str
    joined_by: Literal["", "AND", "OR"]
    depth: int


def to_sql(where: Filter, columns: Collection[str] = FIELDS) -> str:
    """Render a filter as a `where` clause.

    Args:
        where: The filter.
        columns: Those the table has; of a field without one, no paper has a value.

    Returns:
        SQL that is true for the papers the filter passes, over columns named as the schema's fields.
    """
    return _clause(where, columns, negated=False).sql


def _clause(where: Filter, columns: Collection[str], *, negated: bool) -> _Clause:
    match where:
        case Not(part):
            return _clause(part, columns, negated=not negated)
        case And(parts):
            return _join("OR" if negated else "AND", [_clause(part, columns, negated=negated) for part in parts])
        case Or(parts):
            return _join("AND" if negated else "OR", [_clause(part, columns, negated=negated) for part in parts])
        case _ if where.field not in columns:
            return _Clause(str(negated).lower(), "", 0)
        case _:
            sql = _test(where)
            return _Clause(f"(NOT {sql} OR {_column(where)} IS NULL)" if negated else sql, "", 0)


def _join(word: Literal["AND", "OR"], clauses: Sequence[_Clause]) -> _Clause:
    # The SQL parser stops at 50 levels, and what stands after an AND or OR costs one more: the deepest part goes first.
    ordered = sorted(clauses, key=lambda clause: -clause.depth)
    parts = [f"({clause.sql})" if (word, clause.joined_by) == ("AND", "OR") else clause.sql for clause in ordered]
    return _Clause(f" {word} ".join(parts), word, ordered[0].depth + 1)


def _test(test: Test) -> str:
    column, kind = _column(test), FIELDS[test.field]
    match test:
        case Exists():
            return {
                "number": f"{column} IS NOT NULL",
                "flag": f"{column} IS NOT NULL",
                "keyword": f"{column} <> ''",
                "keywords": f"array_length({column}) > 0",
            }[kind]
        case OneOf(_, values):
            # An empty string in a column of one value stands for none, so it can't be one of those asked for.
            asked = [_literal(value) for value in values if value != "" or kind == "keywords"]
            if not asked:
                return "false"
            listed = ", ".join(asked)
            return f"array_has_any({column}, [{listed}])" if kind == "keywords" else f"{column} IN ({listed})"
        case Compare(_, op, value):
            if kind == "keywords":
                return f"array_has({column}, {_literal(value)})"
            return "false" if value == "" else f"{column} {op} {_literal(value)}"


def _column(test: Test) -> str:
    return f"`{test.field}`"


def _literal(value: Value) -> str:
    if isinstance(value, int):
        return str(value).lower()
    # DataFusion knows no escapes inside quotes: backslashes, newlines and NUL stand for themselves.
    doubled = value.replace("'", "''")
    return f"'{doubled}'"
