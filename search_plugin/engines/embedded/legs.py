"""The legs of a search, in one snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpora.errors import InputError
from search_plugin.engines.embedded.filters import to_tantivy
from search_plugin.engines.embedded.vectors import nearest
from search_plugin.engines.embedded.words import rows_of
from search_plugin.legs import Scored, ranked

if TYPE_CHECKING:
    import numpy as np

    from search_plugin.engines.embedded.snapshot import Snapshot
    from search_plugin.engines.embedded.words import Words
    from search_plugin.plan import Plan, VectorClause
    from search_plugin.schema import IndexSchema, VectorField


def lexical_leg(snapshot: Snapshot, words: Words, plan: Plan) -> list[Scored]:
    """Return the papers that match a plan's words, best first, ties by id."""
    from tantivy import Occur, Query

    query = words.matching(plan, plan.title_boost)
    if plan.filter:
        passes = Query.const_score_query(to_tantivy(plan.filter, words), 0.0)
        query = Query.boolean_query([(Occur.Must, query), (Occur.Must, passes)])
    found = rows_of(snapshot.searcher, query, plan.window)
    return ranked(_scored(snapshot, row, score, plan.column) for score, row in found)


def vector_leg(snapshot: Snapshot, schema: IndexSchema, plan: Plan, clause: VectorClause) -> list[Scored]:
    """Return the papers nearest to a vector, best first, ties by id; raises `InputError` if its length is wrong."""
    field = vector_field(schema, clause.field)
    if clause.vector.shape != (field.dimension,):
        raise InputError(
            f"The query's vector has {clause.vector.size} numbers and the index holds vectors of {field.dimension}",
            f"search with the model that made it, {schema.model}",
        )
    matrix, owners = snapshot.vectors[field.name], snapshot.owners(field.name)
    allowed = _allowed(snapshot, plan, owners)
    approximate = None if plan.exact else snapshot.approximate(field.name)
    count = plan.window
    while True:
        rows, scores = nearest(matrix, clause.vector, field.similarity, count, allowed, approximate)
        best: dict[int, float] = {}
        for owner, score in zip(owners[rows].tolist(), scores.tolist(), strict=True):
            best.setdefault(owner, score)
        # A paper may have many vectors near the query: then more vectors must be searched.
        if len(best) >= plan.window or len(rows) < count:
            break
        count *= 4
    return ranked(_scored(snapshot, row, score, plan.column) for row, score in best.items())[: plan.window]


def _scored(snapshot: Snapshot, row: int, score: float, column: str) -> Scored:
    """Return a hit, with the value of the requested field, if any."""
    if not column:
        return Scored(snapshot.found(row), score)
    paper = snapshot.stored(row).paper
    return Scored(paper.id, score, paper.value(column))


def vector_field(schema: IndexSchema, format_name: str) -> VectorField:
    """Return the vector field of a format, preferring papers to passages; raises `InputError` if there is none."""
    fields = [field for field in schema.vectors if field.format == format_name]
    return min(fields, key=lambda field: field.unit != "paper") if fields else schema.vector(format_name)


def _allowed(snapshot: Snapshot, plan: Plan, owners: np.ndarray) -> np.ndarray | None:
    """Return which vectors belong to matching papers, bool (vectors,), or None if all do."""
    there = owners >= 0
    if plan.filter is None:
        return None if there.all() else there
    allowed: np.ndarray = snapshot.passing(plan.filter)[owners] & there
    return allowed
