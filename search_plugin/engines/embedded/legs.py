"""The legs of a search, listings of papers in an order, and the values of fields, in one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from corpora.lazy import np, tantivy
from search_plugin.contract.engine import MOST_VALUES, too_many
from search_plugin.contract.legs import BY_ID, TITLE, Facets, Listing, Position, Scored, Sort, ranked
from search_plugin.contract.plan import (
    LEXICAL,
    Counting,
    Plan,
    VectorClause,
    check_sparse,
    check_vector,
    counted_papers,
)
from search_plugin.contract.schema import IndexSchema, SparseField
from search_plugin.contract.tree import Filter
from search_plugin.engines.embedded import queries
from search_plugin.engines.embedded.columns import of_words
from search_plugin.engines.embedded.queries import among, both, either, matching, rows_of, to_tantivy
from search_plugin.engines.embedded.snapshot import Snapshot
from search_plugin.engines.embedded.vectors import nearest
from search_plugin.engines.embedded.words import Words
from search_plugin.filters.matching import joined

_MANY_PASS = 0.1
"""Share of the papers that pass a filter, from which on the best of all papers are searched for them."""

_SPARE = 1.5
"""How many times as many papers are searched for then as are expected to be enough."""

_PER_PAPER = 3
"""Passages that are looked for to find a paper: those near a query often belong to the same papers."""


def run_legs(snapshot: Snapshot, words: Words, schema: IndexSchema, plan: Plan) -> dict[str, list[Scored]]:
    """Return the papers of each leg of a plan, best first; equal scores are ordered by id.

    In a large index, the legs run at the same time.
    """
    legs: dict[str, Callable[[], list[Scored]]] = {}
    if plan.words:
        legs[LEXICAL] = partial(lexical_leg, snapshot, words, plan)
    for clause in plan.vectors:
        leg = sparse_leg if isinstance(schema.leg(clause.field), SparseField) else vector_leg
        legs[clause.field] = partial(leg, snapshot, schema, plan, clause)
    if len(legs) < 2 or snapshot.searcher.num_docs < queries.LARGE:
        return {name: leg() for name, leg in legs.items()}
    from concurrent.futures import ThreadPoolExecutor

    # Both libraries release the interpreter's lock while they search.
    with ThreadPoolExecutor(len(legs) - 1) as pool:
        first, *others = legs
        running = {name: pool.submit(legs[name]) for name in others}
        return {first: legs[first](), **{name: leg.result() for name, leg in running.items()}}


def lexical_leg(snapshot: Snapshot, words: Words, plan: Plan) -> list[Scored]:
    """Return the papers that match a plan's words, best first, ties by id."""
    found = _passing_of_best(snapshot, words, plan) or _best(snapshot, words, plan, plan.window)
    found = found[: plan.window]
    return _scored(snapshot, [row for row, _ in found], [score for _, score in found], plan.column)


def _best(snapshot: Snapshot, words: Words, plan: Plan, size: int) -> list[tuple[int, float]]:
    """Return the rows of the best papers for a plan's words, with their scores, best first."""
    best: dict[int, float] = {}
    for query in queries.ranking(words, snapshot.searcher, plan):
        for row, score in zip(*rows_of(snapshot.searcher, query, size), strict=True):
            best[row] = max(score, best.get(row, score))
    return sorted(best.items(), key=lambda one: -one[1])[:size]


def _passing_of_best(snapshot: Snapshot, words: Words, plan: Plan) -> list[tuple[int, float]]:
    """Return what `_best` returns for a plan with a filter, found without the filter; nothing if that is not enough.

    With a filter, tantivy scores all papers that pass. Without one, it skips those that can't be among the best. So in
    a large index it is faster to look for more papers, and to leave out those that do not pass. The result is the same,
    since all papers that are better than the last one found were found too.
    """
    if plan.filter is None or snapshot.searcher.num_docs < queries.LARGE or of_words(plan.filter, any):
        return []
    passing = snapshot.passing(plan.filter)
    share = np.count_nonzero(passing) / snapshot.searcher.num_docs
    if share < _MANY_PASS:
        return []
    size = round(_SPARE * plan.window / share)
    found = _best(snapshot, words, replace(plan, filter=None), size)
    passed = [one for one in found if passing[one[0]]]
    return passed if len(passed) >= plan.window or len(found) < size else []


def vector_leg(snapshot: Snapshot, schema: IndexSchema, plan: Plan, clause: VectorClause) -> list[Scored]:
    """Return the papers nearest to a vector, best first, ties by id; raises `InputError` if its length is wrong."""
    field = check_vector(clause, schema)
    matrix, (owners, owned) = snapshot.matrix(field), snapshot.owners(field.name)
    allowed = owned if plan.filter is None else snapshot.passing(plan.filter)[owners] & (owners >= 0)
    approximate = None if plan.exact else snapshot.approximate(field.name)
    count = plan.window * (_PER_PAPER if field.unit == "passage" else 1)
    while True:
        rows, scores = nearest(matrix, clause.vector, field.similarity, count, allowed, approximate)
        best: dict[int, float] = {}
        for owner, score in zip(owners[rows].tolist(), scores.tolist(), strict=True):
            best.setdefault(owner, score)
        # A paper may have many vectors near the query: then more vectors must be searched.
        if len(best) >= plan.window or len(rows) < count:
            break
        count *= 4
    found = list(best)[: plan.window]
    return _scored(snapshot, found, [best[row] for row in found], plan.column)


def sparse_leg(snapshot: Snapshot, schema: IndexSchema, plan: Plan, clause: VectorClause) -> list[Scored]:
    """Return the papers with the largest dot products with a sparse vector, best first, ties by id."""
    field = check_sparse(clause, schema)
    scores = snapshot.sparse_scores(field, clause.vector).astype(np.float32)
    rows = np.flatnonzero(snapshot.passing(plan.filter) & (scores > 0))
    if len(rows) > plan.window:
        # With all that are as good as the last: the ids decide between them.
        least = np.partition(scores[rows], -plan.window)[-plan.window]
        rows = rows[scores[rows] >= least]
    return _scored(snapshot, rows.tolist(), scores[rows].tolist(), plan.column)[: plan.window]


def _scored(snapshot: Snapshot, rows: Sequence[int], scores: Sequence[float], column: str) -> list[Scored]:
    """Return hits, best first, ties by id, with the values of the requested field, if any."""
    ids = snapshot.found(rows)
    values = [snapshot.stored(row).paper.value(column) for row in rows] if column else [None] * len(rows)
    return ranked(map(Scored, ids, scores, values))


def listing(snapshot: Snapshot, where: Filter | None, order: Sort, size: int, after: Position | None = None) -> Listing:
    """Return the first papers of those that match a filter, or the next ones after a position, and how many match.

    Papers without a value come last, ties are ordered by id.
    """
    rows = np.flatnonzero(snapshot.passing(where))
    matches = len(rows)
    if not size or not matches:
        return Listing([], matches)
    values, at = _sort_values(snapshot, rows, order, after)
    if after:
        later, same = values > at, np.flatnonzero(values == at)
        later[same] = [snapshot.id_of(row) > after.id for row in rows[same].tolist()]
        rows, values = rows[later], values[later]
    if size < len(rows):
        # Ids are read only of the papers that can be among the first.
        kept = values <= np.partition(values, size - 1)[size - 1]
        rows, values = rows[kept], values[kept]
    numbered = ((value, snapshot.id_of(row), row) for value, row in zip(values.tolist(), rows.tolist(), strict=True))
    first = sorted(numbered)[:size]
    return Listing([id_ for _, id_, _ in first], matches, [_position(snapshot, order, *one) for one in first])


def _sort_values(snapshot: Snapshot, rows: np.ndarray, order: Sort, after: Position | None) -> tuple[np.ndarray, float]:
    """Return what rows are sorted by, float64 (rows,), infinity where there is none; and the same of a position."""
    key = after.key if after else None
    if order.field == TITLE:
        after_title = str(key or "").encode()
        keys = [*snapshot.title_keys(rows.tolist()), after_title]
        # The place of each title among all different ones.
        places = {one: float(place) for place, one in enumerate(sorted(set(keys)))} | {b"": np.nan}
        values = np.array([places[one] for one in keys], np.float64)
    elif order == BY_ID:
        values = np.zeros(len(rows) + 1)
    else:
        values = np.append(snapshot.numbers(order.field)[rows], np.nan if key is None else float(key))
    values = np.where(np.isnan(values), np.inf, -values if order.descending else values)
    return values[:-1], float(values[-1])


def _position(snapshot: Snapshot, order: Sort, value: float, id_: str, row: int) -> Position:
    if order.field == TITLE:
        return Position(snapshot.title_keys([row])[0].decode() or None, id_)
    if value == float("inf") or order == BY_ID:
        return Position(None, id_)
    return Position(-value if order.descending else value, id_)


def count_facets(words: Words, searcher: Any, counting: Counting) -> Facets:
    """Return the counts of the papers of `Counting`, and which papers were counted."""
    plan = counting.plan
    query = among(words, counting.found)
    if plan.order:
        query = to_tantivy(plan.filter, words) if plan.filter else tantivy.Query.all_query()
    elif plan.words:
        matched = matching(words, searcher, plan)
        if plan.filter:
            matched = both(matched, to_tantivy(plan.filter, words))
        query = either([matched, query])
    matches, counts = counted(searcher, query, column_paths(counting.fields), counting.size, counting.include)
    return Facets(matches, counted_papers(plan), {field: tuple(counts[field]) for field in counting.fields})


def column_paths(fields: Iterable[str]) -> dict[str, str]:
    """Return tantivy's names of fields."""
    return {field: field if field == "id" else f"fields.{field}" for field in fields}


def counted(
    searcher: Any, query: Any, fields: Mapping[str, str], size: int, include: Sequence[str] = ()
) -> tuple[int, dict[str, list[tuple[Any, int]]]]:
    """Return how many papers a query finds, and the most frequent values of fields with their counts, ties by value.

    `fields` gives tantivy's names of the fields, `size` how many values of each to return, and `include` the only
    values to count, if there are any.
    """
    # Often several values have the count of the last one: asking for more than are shown saves the second request.
    ask = dict.fromkeys(fields, 8 * size)
    only = {"include": list(include)} if include else {}
    found: dict[str, list[tuple[Any, int]]] = {}
    while True:
        wanted = {
            name: {"terms": {"field": fields[name], "size": most, "segment_size": 1 << 30, **only}}
            for name, most in ask.items()
        }
        reply = searcher.aggregate(query, {**wanted, "row": {"value_count": {"field": "row"}}})
        total = int(reply["row"]["value"])
        for name, most in list(ask.items()):
            buckets = reply[name]["buckets"]
            # tantivy does not define the order of values with equal counts: all ties must be fetched.
            if len(buckets) == most and buckets[-1]["doc_count"] == buckets[size - 1]["doc_count"]:
                ask[name] = most * 8
                continue
            del ask[name]
            pairs = [(_value(bucket), bucket["doc_count"]) for bucket in buckets if bucket["key"] != ""]
            found[name] = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:size]
        if not ask:
            return total, found


def matching_values(
    searcher: Any, fields: Mapping[str, str], patterns: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return what `Index.matching_values` does; `fields` gives tantivy's names of the fields."""
    found: dict[str, list[str]] = {}
    for name, expressions in patterns.items():
        values: dict[str, None] = {}
        for expression in joined(expressions):
            terms = {"field": fields[name], "size": MOST_VALUES + 1, "segment_size": 1 << 30, "include": expression}
            buckets = searcher.aggregate(tantivy.Query.all_query(), {"values": {"terms": terms}})["values"]["buckets"]
            values |= dict.fromkeys(bucket["key"] for bucket in buckets)
        if len(values) > MOST_VALUES:
            raise too_many(name)
        found[name] = list(values)
    return found


def _value(bucket: Mapping[str, Any]) -> Any:
    value = bucket.get("key_as_string", bucket["key"])
    return int(value) if isinstance(value, float) and value.is_integer() else value
