"""A plan's legs as searches of a cluster: bodies out, scored ids back.

User input is in them only as values, never as query syntax or script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from search_plugin.contract.legs import Position, Scored, Sort, ranked
from search_plugin.contract.plan import LEXICAL, Plan, TermVariant, VectorClause, check_sparse, check_vector
from search_plugin.contract.schema import IndexSchema, Quantization, SparseField
from search_plugin.contract.tree import Filter
from search_plugin.engines.cluster.dialect import TEXT, Dialect, QueryBody, as_json, raw_closeness
from search_plugin.engines.cluster.documents import id_of
from search_plugin.engines.cluster.dsl import to_query
from search_plugin.engines.cluster.mapping import sort_field
from search_plugin.engines.cluster.passages import dot_products, nearest_papers, scored_papers

MIN_CANDIDATES = 500
MAX_CANDIDATES = 10_000
"""Candidates that a graph search keeps. More candidates give a higher recall and a slower search."""

OVERSAMPLING: dict[Quantization, float] = {"none": 1.0, "int8": 1.5, "int4": 2.0, "1bit": 4.0}
"""Oversampling factor of a quantized search; float vectors rank the candidates again (docs/benchmarks.md)."""

# The stored fields of a document include its vectors, so ids come from a column and no document is unpacked.
ID_COLUMN = {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["id"], "track_total_hits": False}
"""Options for id-only searches."""

BEST_FIRST = {"sort": [{"_score": "desc"}, {"id": "asc"}]}
"""The order of a leg: equal scores by id."""


def words_query(plan: Plan, where: QueryBody | None) -> QueryBody:
    """Return the query for papers with at least one of the plan's words, with a boost for titles.

    The words of titles are among those of the text, so a title only adds to a score. All clauses are in one list: only
    then do the engines skip papers that can't be among the best.
    """
    clauses: list[QueryBody] = []
    for field, boost in ((TEXT, 1.0), ("title", plan.title_boost)):
        if boost:
            clauses += [*_words(plan, field, boost), *(_phrase(field, one, boost) for one in plan.added)]
    return {"bool": {"should": clauses, "minimum_should_match": 1, **({"filter": [where]} if where else {})}}


def holding(plan: Plan, field: str) -> QueryBody:
    """Return the query for papers of which a field holds at least one of the plan's words, in any spelling."""
    words = _words(plan, field, 1.0)
    return words[0] if len(words) == 1 else {"bool": {"should": words}}


def _words(plan: Plan, field: str, boost: float) -> list[QueryBody]:
    """Return a query for each of the plan's words that has other spellings, after one for all others."""
    plain = plan.words if plan.plain is None else plan.plain
    best = [
        {"dis_max": {"queries": [_match(field, one.typed, boost), *(_phrase(field, by, boost) for by in one.others)]}}
        for one in plan.groups
    ]
    return [*([_match(field, plain, boost)] if plain or not best else []), *best]


def _match(field: str, words: str, boost: float) -> QueryBody:
    return {"match": {field: {"query": words, **({} if boost == 1.0 else {"boost": boost})}}}


def _phrase(field: str, words: TermVariant, boost: float) -> QueryBody:
    return {"match_phrase": {field: {"query": words.text, "boost": boost * words.weight}}}


def condition(where: Filter | None, schema: IndexSchema, dialect: Dialect) -> QueryBody | None:
    """Return a plan's filter as a query, if it has one."""
    return to_query(where, schema.fields, dialect.in_order) if where else None


def columns(plan: Plan) -> dict[str, Any]:
    """Return what a leg requests for each hit: the id, and the value of the plan's column."""
    return {**ID_COLUMN, "docvalue_fields": ["id", plan.column]} if plan.column else ID_COLUMN


def value_of(hit: Mapping[str, Any], column: str) -> Any:
    """Return a hit's value of a column; None if it is missing."""
    return hit["fields"].get(column, (None,))[0]


def leg_bodies(plan: Plan, schema: IndexSchema, dialect: Dialect) -> dict[str, dict[str, Any]]:
    """Return the search of each leg, whose hits carry an id, a score and the plan's column, and nothing else.

    Raises `InputError` if a vector has another length than the index's.
    """
    where = condition(plan.filter, schema, dialect)
    bodies = {}
    if plan.words:
        query = words_query(plan, where)
        bodies[LEXICAL] = {"query": query, "size": plan.window, **columns(plan), **BEST_FIRST}
    for clause in plan.vectors:
        bodies[clause.field] = {**_nearest(clause, plan, schema, dialect, where), "size": plan.window, **columns(plan)}
    return bodies


def _nearest(
    clause: VectorClause, plan: Plan, schema: IndexSchema, dialect: Dialect, where: QueryBody | None
) -> dict[str, Any]:
    if isinstance(schema.leg(clause.field), SparseField):
        return {"query": dot_products(dialect, check_sparse(clause, schema), clause.vector, where), **BEST_FIRST}
    field = check_vector(clause, schema)
    graph = schema.graph_of(field)
    if plan.exact or graph is None:
        return {"query": scored_papers(dialect, field, clause.vector, where), **BEST_FIRST}
    query, found = nearest_query(clause, plan, schema, dialect, where)
    if graph == "none":
        return {"query": query, **BEST_FIRST}
    again = {"rescore_query": scored_papers(dialect, field, clause.vector, None), "query_weight": 0}
    return {"query": query, "rescore": {"window_size": found, "query": again}}


def nearest_query(
    clause: VectorClause, plan: Plan, schema: IndexSchema, dialect: Dialect, where: QueryBody | None
) -> tuple[QueryBody, int]:
    """Return the graph search of a leg, and how many papers it returns."""
    field = schema.leg(clause.field)
    found = min(round(plan.window * OVERSAMPLING[schema.graph_of(field) or "none"]), MAX_CANDIDATES)
    candidates = min(max(2 * found, MIN_CANDIDATES), MAX_CANDIDATES)
    return nearest_papers(dialect, field, clause.vector, found, candidates, where), found


def counted_query(clause: VectorClause, plan: Plan, schema: IndexSchema, dialect: Dialect) -> QueryBody:
    """Return the query for the papers of a vector leg, as many as its window, for one request that counts them too.

    A quantized graph is searched without the spare papers that float vectors would rank again. Without a graph, the
    papers are all that have a vector.
    """
    where, field = condition(plan.filter, schema, dialect), schema.leg(clause.field)
    if isinstance(field, SparseField):
        return dot_products(dialect, check_sparse(clause, schema), clause.vector, where)
    check_vector(clause, schema)
    if schema.graph_of(field) is None:
        return scored_papers(dialect, field, clause.vector, where)
    found = min(plan.window, MAX_CANDIDATES)
    candidates = found if dialect.finds_candidates else min(max(2 * found, MIN_CANDIDATES), MAX_CANDIDATES)
    return nearest_papers(dialect, field, clause.vector, found, candidates, where)


def listing_body(
    where: Filter | None, order: Sort, size: int, schema: IndexSchema, dialect: Dialect, after: Position | None = None
) -> dict[str, Any]:
    """Return the search for the first papers that match a filter, or the next ones, in an order; it counts all."""
    field = {"order": "desc" if order.descending else "asc", "missing": "_last"}
    return {
        "query": {"bool": {"filter": [condition(where, schema, dialect) or {"match_all": {}}]}},
        "size": size,
        "sort": [{sort_field(order): field}, {"id": "asc"}],
        **({"search_after": list(after)} if after else {}),
        **ID_COLUMN,
        "track_total_hits": True,
    }


def multi_search(bodies: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Return some searches, by name, as the lines of one request."""
    whole: dict[str, Any] = {"allow_partial_search_results": False}
    lines = []
    for name, body in bodies.items():
        # Word frequencies are counted over all shards, or a paper's score would depend on its shard. With one shard
        # this costs nothing.
        header = whole | ({"search_type": "dfs_query_then_fetch"} if name == LEXICAL else {})
        lines += [as_json(header), as_json(body)]
    return b"\n".join([*lines, b""])


def scored(
    hits: Sequence[Mapping[str, Any]], leg: str, schema: IndexSchema, window: int, column: str = ""
) -> list[Scored]:
    """Return a leg's hits, best first, ties by id, with the scores that all engines give."""
    scores: Iterable[float] = (float(hit["_score"]) for hit in hits)
    if leg != LEXICAL and not isinstance(field := schema.leg(leg), SparseField):
        scores = (raw_closeness(field.similarity, score) for score in scores)
    values = [value_of(hit, column) for hit in hits] if column else repeat(None)
    return ranked(map(Scored, map(id_of, hits), scores, values))[:window]


def counting_body(word: str) -> dict[str, Any]:
    """Return the search that counts the papers with a word.

    An engine reads most such counts from its dictionary, where it would collect papers for a count by aggregation.
    """
    return {"query": {"match": {TEXT: {"query": word, "operator": "and"}}}, "size": 0, "track_total_hits": True}


def fuzzy_query(terms: Sequence[str], distance: int) -> QueryBody:
    """Return the query for papers that hold similar terms."""
    near = [{"fuzzy": {TEXT: {"value": term, "fuzziness": distance, "prefix_length": 1}}} for term in terms]
    return {"bool": {"should": near}}
