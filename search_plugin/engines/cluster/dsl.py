"""Filters as the JSON queries of Elasticsearch and OpenSearch, which read the ones made here alike.

Their limits shape the rendering. OpenSearch takes 1,024 clauses in a whole search, so tests of one field that ask for
values are gathered into one `terms`. Elasticsearch takes 30 levels of nesting, and the grammar can make twice as many:
deeper parts are enclosed as text, for which the servers restart the count. Neither accepts values that an index can't
hold, such as numbers beyond 32 bits, so such tests are evaluated here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from corpora.errors import InputError
from search_plugin.contract.schema import PAPER_FIELDS
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
    unresolved,
)
from search_plugin.engines.cluster.dialect import TEXT, Dialect, QueryBody, enclosed
from search_plugin.words.terms import shorter_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from search_plugin.contract.schema import Field
    from search_plugin.contract.tree import Operator

    FieldsByName = Mapping[str, Field]

MAX_CLAUSES = 512
"""Maximum clauses of one filter as OpenSearch counts them; the other half of its 1,024 is for the search's words."""

MAX_VALUES = 65_536
"""Maximum values of one `terms`, the default of `index.max_terms_count`."""

# Leaves six levels to the queries an engine puts around the filter.
_MAX_LEVELS = 24

# Lucene does not index longer terms, and Elasticsearch refuses to search for them.
_MAX_TERM_BYTES = 32_766

_MIN_INTEGER, _MAX_INTEGER = -(2**31), 2**31 - 1

_RANGES: dict[Operator, str] = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


class _Clause(NamedTuple):
    """A query, its nesting depth, and the number of clauses that a server counts for it."""

    query: QueryBody
    levels: int
    cost: int


def to_query(
    where: Filter, fields: Sequence[Field] = PAPER_FIELDS, in_order: QueryBody = Dialect.in_order
) -> QueryBody:
    """Return a filter as a query for non-scoring contexts, such as `bool.filter`; `in_order` is that of the dialect.

    The documents of the index leave out what is missing. Raises `InputError` if the filter exceeds the servers' limits.
    """
    known = {field.name: field for field in fields}
    clause = _render(_gathered(where, known), known, in_order)
    if clause.cost > MAX_CLAUSES:
        raise InputError(
            f"The filter comes to {clause.cost:,} clauses, and search servers take {MAX_CLAUSES} beside the words; ask "
            "for many values of one field with in (...), or search several times."
        )
    return clause.query


def _gathered(where: Filter, known: FieldsByName) -> Filter:
    """Return an equal tree: flat, no Or under a Not, `=` as OneOf, and only values that an index can hold."""
    match where:
        case Not(part):
            return _negated(_gathered(part, known))
        case And(parts):
            return _all_of(_gathered(part, known) for part in parts)
        case Or(parts):
            return _any_of(_gathered(part, known) for part in parts)
        case Compare(field, "=", value):
            return _one_of(known[field], (value,))
        case Compare(field, op, value) if not _can_be_held(known[field], value):
            return Exists(field) if (cast("int", value) > 0) == (op in ("<", "<=")) else OneOf(field, ())
        case OneOf(field, values):
            return _one_of(known[field], values)
        case _:
            return where


def _one_of(field: Field, values: Iterable[Value]) -> OneOf:
    return OneOf(field.name, tuple(dict.fromkeys(value for value in values if _can_be_held(field, value))))


def _can_be_held(field: Field, value: Value) -> bool:
    if isinstance(value, int | float):
        return _MIN_INTEGER <= value <= _MAX_INTEGER or not field.whole
    # An empty string in a field of one value means missing, so no document holds it.
    return len(value.encode()) <= _MAX_TERM_BYTES and (value != "" or field.kind == "keywords")


def _negated(where: Filter) -> Filter:
    match where:
        case Not(part):
            return part
        case Or(parts):
            return _all_of(map(_negated, parts))
        case _:
            return Not(where)


def _any_of(parts: Iterable[Filter]) -> Filter:
    by_field: dict[str, dict[Value, None]] = {}
    others: dict[Filter, None] = {}
    for part in _spliced(Or, parts):
        match part:
            case OneOf(field, values):
                by_field.setdefault(field, {}).update(dict.fromkeys(values))
            case _:
                others[part] = None
    joined = (*(OneOf(field, tuple(values)) for field, values in by_field.items()), *others)
    return joined[0] if len(joined) == 1 else Or(joined)


def _all_of(parts: Iterable[Filter]) -> Filter:
    flat = _spliced(And, parts)
    excluded = _any_of(part.part for part in flat if isinstance(part, Not))
    demanded = [part for part in flat if not isinstance(part, Not)]
    joined = tuple(dict.fromkeys([*demanded, *map(Not, _spliced(Or, [excluded]))]))
    return joined[0] if len(joined) == 1 else And(joined)


def _spliced(kind: type[And | Or], parts: Iterable[Filter]) -> list[Filter]:
    return [inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))]


def _render(where: Filter, known: FieldsByName, in_order: QueryBody) -> _Clause:  # noqa: C901 - one case for each kind of node
    match where:
        case OneOf(field, values):
            return _terms(field, values, _cost(known[field]))
        case Compare(field, op, value):
            return _Clause({"range": {field: {_RANGES[op]: value}}}, 1, _cost(known[field]))
        case Exists(field):
            return _Clause({"exists": {"field": field}}, 1, 1)
        case Says(field, words):
            return _Clause({"match_phrase": {TEXT if field == "text" else field: {"query": words}}}, 1, 1)
        case Begun(start):
            whole = {"match": {"title": {"query": start}}}
            queries: list[QueryBody] = [whole, {"prefix": {"title": {"value": start}}}]
            queries += [{"terms": {"title": terms}}] if (terms := shorter_terms(start)) else []
            return _bool(should=[_Clause(one, 1, 1) for one in queries])
        case TermLike(field, terms, expression):
            return _like(TEXT if field == "text" else field, terms, expression)
        case Nearness(field, one, other, within):
            near = _near(one, other, within, in_order)
            return _Clause({"intervals": {TEXT if field == "text" else field: near}}, 1, 1)
        case Alike() | Wild() | WildPhrase():
            raise unresolved(where)
        case Or(parts):
            any_of = _bool(should=[_render(part, known, in_order) for part in parts])
            any_of.query["bool"]["minimum_should_match"] = 1
            return any_of
        case And(parts):
            return _bool(
                filter=[_render(part, known, in_order) for part in parts if not isinstance(part, Not)],
                must_not=[_render(part.part, known, in_order) for part in parts if isinstance(part, Not)],
            )
        case Not(part):
            return _bool(must_not=[_render(part, known, in_order)])


def _like(field: str, terms: Sequence[str], expression: str) -> _Clause:
    """Return the query for a term like these, of whose expression only letters and digits are the user's."""
    queries: list[QueryBody] = [{"terms": {field: list(terms)}}] if terms or not expression else []
    if expression:
        queries.append({"regexp": {field: {"value": expression}}})
    return _bool(should=[_Clause(one, 1, 1) for one in queries])


def _near(one: str, other: str, within: int, in_order: QueryBody) -> QueryBody:
    phrases = [{"match": {"query": text, "max_gaps": 0, **in_order}} for text in (one, other)]
    return {"all_of": {"intervals": phrases, "max_gaps": within}}


def _terms(field: str, values: Sequence[Value], cost: int) -> _Clause:
    if not values:
        return _Clause({"match_none": {}}, 1, 1)
    if len(values) == 1:
        return _Clause({"term": {field: values[0]}}, 1, cost)
    if len(values) > MAX_VALUES:
        raise InputError(
            f"The filter asks for {len(values):,} values of {field}, and search servers take {MAX_VALUES:,}; "
            "search several times."
        )
    return _Clause({"terms": {field: list(values)}}, 1, cost)


def _cost(field: Field) -> int:
    # The server searches a number or date in its points or its column, whichever is faster, and counts two clauses.
    return 2 if field.kind in ("number", "date") else 1


def _bool(**occurrences: Sequence[_Clause]) -> _Clause:
    used = {name: [_shallow(clause) for clause in clauses] for name, clauses in occurrences.items() if clauses}
    inside = [clause for clauses in used.values() for clause in clauses]
    query = {name: [clause.query for clause in clauses] for name, clauses in used.items()}
    # If all clauses are must_not, the server adds one that matches everything.
    cost = sum(clause.cost for clause in inside) + (used.keys() == {"must_not"})
    return _Clause({"bool": query}, 1 + max(clause.levels for clause in inside), cost)


def _shallow(clause: _Clause) -> _Clause:
    if clause.levels < _MAX_LEVELS:
        return clause
    return _Clause(enclosed(clause.query), 1, clause.cost)
