"""The legs of a search in LanceDB tables, run at once.

Papers are row addresses here. To look up their ids costs as much as a leg, so it is done once, for all legs together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from search_plugin.filters.sql import to_sql
from search_plugin.legs import Scored, ranked
from search_plugin.plan import LEXICAL, Plan, VectorClause

if TYPE_CHECKING:
    import pyarrow as pa

    from search_plugin.schema import IndexSchema

PROBES = 20
"""Partitions of vectors searched at least; more where a filter leaves too few papers in them."""

Rows = Mapping[int, float]
"""Scores by row address."""


async def search_legs(table: Any, schema: IndexSchema, plan: Plan) -> tuple[dict[str, list[Scored]], dict[str, int]]:
    """Run a plan's legs at once.

    Args:
        table: LanceDB's asynchronous table of the index.
        schema: Of the index.
        plan: The legs.

    Returns:
        Each leg's papers, best first, ties by id; and the row address of each paper by id.

    Raises:
        InputError: If a vector has another length than the index's.
    """
    names = (await table.schema()).names
    condition = to_sql(plan.filter, schema.fields, names) if plan.filter else None
    legs = {clause.field: _nearest(table, schema, clause, plan, condition) for clause in plan.vectors}
    if plan.words:
        legs = {LEXICAL: _lexical(table, plan, condition), **legs}
    found: dict[str, Rows] = dict(zip(legs, await asyncio.gather(*legs.values()), strict=True))
    there = [name for name in ("id", plan.column) if name in names]
    told = await _told(table, sorted({row for leg in found.values() for row in leg}), there)
    ranking = {
        name: ranked(Scored(told[row]["id"], score, told[row].get(plan.column)) for row, score in leg.items())[
            : plan.window
        ]
        for name, leg in found.items()
    }
    return ranking, {columns["id"]: row for row, columns in told.items()}


async def matches(
    table: Any, words: str, column: str, limit: int, condition: str | None, columns: Sequence[str] = ()
) -> pa.Table:
    """Return the best matches of plain words in a text column: `_rowid`, `_score` and the columns asked for."""
    from lancedb.query import MatchQuery

    query = table.query().nearest_to_text(MatchQuery(words, column)).select([*columns, "_score"]).with_row_id()
    query = query.where(condition) if condition else query
    found: pa.Table = await query.limit(max(limit, 1)).to_arrow()
    return found


async def _lexical(table: Any, plan: Plan, condition: str | None) -> Rows:
    # LanceDB's own boolean query of the two clauses visits every match, which takes longer.
    texts, titles = await asyncio.gather(
        *(matches(table, plan.words, column, 2 * plan.window, condition) for column in ("text", "title"))
    )
    boosts = _by_row(titles, "_score")
    return {row: score + plan.title_boost * boosts.get(row, 0.0) for row, score in _by_row(texts, "_score").items()}


async def _nearest(table: Any, schema: IndexSchema, clause: VectorClause, plan: Plan, condition: str | None) -> Rows:
    field = schema.vector(clause.field)
    if clause.vector.shape != (field.dimension,):
        raise InputError(
            f"The query's vector has {clause.vector.size} numbers and the index holds vectors of {field.dimension}: "
            f"search with the model that made it, {schema.model}."
        )
    query = table.query().nearest_to(clause.vector).column(field.name).distance_type(field.similarity)
    query = query.select(["_distance"]).with_row_id().minimum_nprobes(PROBES).maximum_nprobes(0)
    query = query.where(condition) if condition else query
    query = query.bypass_vector_index() if plan.exact else query
    distances = _by_row(await query.limit(plan.window).to_arrow(), "_distance")
    return {row: _CLOSENESS[field.similarity](distance) for row, distance in distances.items()}


async def take(table: Any, rows: Sequence[int], columns: Sequence[str]) -> pa.Table:
    """Return columns of the rows at some addresses, and `_rowid`, in the table's order."""
    found: pa.Table = await table.take_row_ids(list(rows)).select(list(columns)).with_row_id().to_arrow()
    return found


async def _told(table: Any, rows: list[int], columns: Sequence[str]) -> dict[int, dict[str, Any]]:
    """Return columns by row address."""
    found = (await take(table, rows, columns)).to_pylist() if rows else ()
    return {row["_rowid"]: row for row in found}


def _by_row(found: pa.Table, column: str) -> dict[int, float]:
    return dict(zip(found["_rowid"].to_pylist(), found[column].to_pylist(), strict=True))


_CLOSENESS: dict[str, Callable[[float], float]] = {
    "cosine": lambda distance: 1.0 - distance,
    "dot": lambda distance: 1.0 - distance,
    "l2": lambda distance: -(distance**0.5),  # Lance measures the square
}
"""From Lance's distance to a score that grows with similarity: cosine, dot product, minus Euclidean distance."""
