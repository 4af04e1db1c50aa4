"""Filters as SQL for LanceDB, whose parser and planner are DataFusion's.

Lance answers a test from a scalar index only where it stands bare, so `coalesce(test, false)` around each would cost a
scan of the table. Instead every `not` is pushed down to the tests (De Morgan): a test on a missing value is NULL, which
counts as false under `and` and `or` alone, and a negated test says outright that NULL passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from search_plugin.filters.tree import And, Compare, Exists, Filter, Not, OneOf, Or, Test, Value
from search_plugin.schema import PAPER_FIELDS, find_field

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from corpora.custom import FieldKind
    from search_plugin.schema import Field


class _Clause(NamedTuple):
    sql: str
    joined_by: Literal["", "AND", "OR"]
    depth: int


def to_sql(where: Filter, fields: Sequence[Field] = PAPER_FIELDS, columns: Collection[str] = ()) -> str:
    """Render a filter as a `where` clause.

    Args:
        where: The filter.
        fields: Of the index.
        columns: Those the table has, if not one for each field; of a field without one, no paper has a value.

    Returns:
        SQL that is true for the papers the filter passes, over columns named as the schema's fields.
    """
    return _clause(where, fields, columns or {field.name for field in fields}, negated=False).sql


def _clause(where: Filter, fields: Sequence[Field], columns: Collection[str], *, negated: bool) -> _Clause:
    match where:
        case Not(part):
            return _clause(part, fields, columns, negated=not negated)
        case And(parts):
            return _join(
                "OR" if negated else "AND", [_clause(part, fields, columns, negated=negated) for part in parts]
            )
        case Or(parts):
            return _join(
                "AND" if negated else "OR", [_clause(part, fields, columns, negated=negated) for part in parts]
            )
        case _ if where.field not in columns:
            return _Clause(str(negated).lower(), "", 0)
        case _:
            sql = _test(where, find_field(where.field, fields).kind)
            return _Clause(f"(NOT {sql} OR `{where.field}` IS NULL)" if negated else sql, "", 0)


def _join(word: Literal["AND", "OR"], clauses: Sequence[_Clause]) -> _Clause:
    # The SQL parser stops at 50 levels, and what stands after an AND or OR costs one more: the deepest part goes first.
    ordered = sorted(clauses, key=lambda clause: -clause.depth)
    parts = [f"({clause.sql})" if (word, clause.joined_by) == ("AND", "OR") else clause.sql for clause in ordered]
    return _Clause(f" {word} ".join(parts), word, ordered[0].depth + 1)


def _test(test: Test, kind: FieldKind) -> str:
    column = f"`{test.field}`"
    match test:
        case Exists():
            return {
                "number": f"{column} IS NOT NULL",
                "boolean": f"{column} IS NOT NULL",
                "date": f"{column} <> ''",
                "keyword": f"{column} <> ''",
                "keywords": f"array_length({column}) > 0",
            }[kind]
        case _:
            return _compared(test if kind != "date" else _as_text(test), column, kind)


def _as_text(test: Compare | OneOf) -> Compare | OneOf:
    """Return a test of days for a column where the first of a month or year may stand as the month or year alone.

    The order of such texts is that of the days, but for the several forms of one day.
    """
    if isinstance(test, OneOf):
        return OneOf(test.field, tuple(form for day in test.values for form in _forms(str(day))))
    forms = _forms(str(test.value))
    if test.op == "=":
        return OneOf(test.field, forms)
    return Compare(test.field, test.op, forms[-1] if test.op in ("<", ">=") else forms[0])


def _forms(day: str) -> tuple[str, ...]:
    """Return the texts that stand for a day, the longest first."""
    month = (day[:7],) if day.endswith("-01") else ()
    return (day, *month, *((day[:4],) if day.endswith("-01-01") else ()))


def _compared(test: Compare | OneOf, column: str, kind: FieldKind) -> str:
    match test:
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


def _literal(value: Value) -> str:
    if isinstance(value, int | float):
        return str(value).lower()
    # DataFusion knows no escapes inside quotes: backslashes, newlines and NUL stand for themselves.
    doubled = value.replace("'", "''")
    return f"'{doubled}'"
