"""Filters as tantivy queries; `passing` does the same for vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from search_plugin.contract.tree import Alike, And, Compare, Exists, Filter, Not, OneOf, Or, Says, Value, unresolved
from search_plugin.engines.embedded.fields import COMPARED, compared_path, number_of
from search_plugin.engines.embedded.queries import either, saying

if TYPE_CHECKING:
    from search_plugin.engines.embedded.words import Words

_RANGES = {"=": "[{0} TO {0}]", "<": "[* TO {0}}}", "<=": "[* TO {0}]", ">": "{{{0} TO *]", ">=": "[{0} TO *]"}


def to_tantivy(where: Filter, words: Words) -> Any:  # noqa: C901 - one case for each kind of node
    """Return a query that finds the papers that match a filter.

    Args:
        where: The filter.
        words: The word index.

    Returns:
        tantivy's query.
    """
    from tantivy import Occur, Query

    match where:
        case Not(part):
            return Query.boolean_query([(Occur.Must, Query.all_query()), (Occur.MustNot, to_tantivy(part, words))])
        case And(parts):
            return Query.boolean_query([(Occur.Must, to_tantivy(part, words)) for part in parts])
        case Or(parts):
            return either([to_tantivy(part, words) for part in parts])
        case Says(field, said):
            return saying(words, field, said)
        case Alike():
            raise unresolved(where)
        case Exists("id"):
            return Query.all_query()
        case Exists(field):
            return Query.exists_query(f"fields.{field}")
        case OneOf(field, values):
            return _one_of(field, values, words)
        case Compare(field, "=", value) if words.kinds[field] not in COMPARED:
            return _one_of(field, (value,), words)
        case Compare(field, op, value):
            return _range(field, op, value, words)


def _one_of(field: str, values: Sequence[Value], words: Words) -> Any:
    from tantivy import Query

    if words.kinds[field] in COMPARED:
        return either([_range(field, "=", value, words) for value in values])
    path = field if field == "id" else f"fields.{field}"
    return either([Query.term_query(words.schema, path, value, "basic") for value in values])


def _range(field: str, op: str, value: Value, words: Words) -> Any:
    import numpy as np

    # tantivy offers ranges over JSON only in its query language; a number is all that it gets from the user.
    number = np.format_float_positional(number_of(value), trim="-")
    return words.index.parse_query(f"{compared_path(field, words.kinds)}:{_RANGES[op].format(number)}", ["text"])
