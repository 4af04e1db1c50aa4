"""From a request to a page, the same over every engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from corpora.errors import InputError
from encoders.formats import Format
from search_plugin.executors.registry import get_executor
from search_plugin.filters.tree import And, Compare, Filter, Not
from search_plugin.fusion.registry import fusion_of
from search_plugin.highlights import highlight
from search_plugin.page import Hit, Page
from search_plugin.plan import Plan, VectorClause
from search_plugin.request import MAX_QUERY, SearchRequest
from search_plugin.schema import resolve_field

if TYPE_CHECKING:
    import numpy as np

    from encoders.encoder import TextEncoder
    from search_plugin.engines.base import Index
    from search_plugin.legs import Fused

FACET_SIZE = 10
SEARCHED = Format.PRX.value
"""Queries look among the document vectors."""


def search(index: Index, request: SearchRequest, encoder: TextEncoder | None = None) -> Page:
    """Search an index.

    Args:
        index: Of any engine.
        request: What the user asks.
        encoder: Of the model that made the index; not needed for lexical searches.

    Returns:
        The page asked for.

    Raises:
        InputError: If the encoder's model is not the index's, or a field or fusion is unknown.
        UnavailableError: If the engine does not answer.
    """
    clock = Clock()
    with clock.step("encode"):
        plan = make_plan(index, request, encoder)
    return _page(index, request, plan, clock)


def make_plan(index: Index, request: SearchRequest, encoder: TextEncoder | None) -> Plan:
    """Return the legs of a search; parameters and errors as of `search`."""
    vectors: tuple[VectorClause, ...] = ()
    if request.mode != "lexical":
        vectors = (VectorClause(SEARCHED, _query_vector(index, encoder, request.query)),)
    return _plan(request, vectors, request.filter)


def _plan(request: SearchRequest, vectors: tuple[VectorClause, ...], where: Filter | None) -> Plan:
    words = request.query if request.mode != "vector" else ""
    return Plan(words, vectors, where, request.window, request.exact, request.title_boost)


def similar(index: Index, paper_id: str, request: SearchRequest | None = None) -> Page:
    """Find papers like one that is in the index, by its own vector and, in hybrid mode, its title's words.

    Args:
        index: Of any engine.
        paper_id: The paper; it is not among the hits.
        request: Gives mode, filter, facets and page; its query is not used.

    Returns:
        The page asked for.

    Raises:
        InputError: If the paper is not in the index.
    """
    clock = Clock()
    paper = index.papers([paper_id]).get(paper_id)
    if paper is None:
        raise InputError(f"The index {index.name} holds no paper {paper_id!r}; search for it to see its id.")
    request = replace(request or SearchRequest(paper.title, mode="vector"), query=paper.title[:MAX_QUERY])
    vectors: tuple[VectorClause, ...] = ()
    if request.mode != "lexical":
        vectors = (VectorClause(SEARCHED, index.vectors([paper_id], SEARCHED)[paper_id]),)
    others: Filter = Not(Compare("id", "=", paper_id))
    everything = And((request.filter, others)) if request.filter else others
    return _page(index, request, _plan(request, vectors, everything), clock)


def _page(index: Index, request: SearchRequest, plan: Plan, clock: Clock) -> Page:
    fields = {name: resolve_field(name) for name in request.facets}
    fusion_of(request.fusion)
    execute = get_executor(request.executor)
    with clock.step("legs"):
        ranking = execute(index, plan, request)
    shown: Sequence[Fused] = ranking.fused
    hidden: Mapping[str, int] = {}
    if request.collapse:
        with clock.step("collapse"):
            shown, hidden = _collapsed(index, ranking.fused, resolve_field(request.collapse))
    with clock.step("papers"):
        hits = _hits(index, request, shown[request.offset : request.offset + request.size], hidden)
    facets = None
    if fields:
        with clock.step("facets"):
            facets = index.facets(
                plan, [hit.id for hit in ranking.fused], list(dict.fromkeys(fields.values())), FACET_SIZE
            )
            facets = replace(facets, counts={name: facets.counts[field] for name, field in fields.items()})
    return Page(
        index=index.name,
        query=request.query,
        mode=request.mode,
        fusion=request.fusion,
        executor=ranking.executor,
        hits=hits,
        candidates=len(shown),
        window=request.window,
        found=ranking.found,
        facets=facets,
        milliseconds=clock.milliseconds,
    )


def _query_vector(index: Index, encoder: TextEncoder | None, query: str) -> np.ndarray:
    index.schema.vector(SEARCHED)
    if encoder is None:
        raise InputError(
            "A hybrid or vector search needs the model that made the index; give one, or search lexically."
        )
    check_model(index, encoder.card.name, encoder.card.fingerprint)
    vector: np.ndarray = encoder.encode([query], Format.QRY)[0]
    return vector


def check_model(index: Index, name: str, fingerprint: str) -> None:
    """Raise `InputError`, naming both, where a model is not the one that made the index."""
    schema = index.schema
    if schema.fingerprint != fingerprint:
        raise InputError(
            f"The index {index.name} was made by the model {schema.model} ({schema.fingerprint}), not by {name} "
            f"({fingerprint}): give --model {schema.model}, or index again with --fresh --model {name}."
        )


def _collapsed(index: Index, fused: Sequence[Fused], field: str) -> tuple[list[Fused], dict[str, int]]:
    """Keep the best of the papers that share a value, those without one too; and count, by id, what each stands for."""
    papers = index.papers([hit.id for hit in fused])
    best: dict[object, str] = {}
    shown: list[Fused] = []
    hidden: dict[str, int] = {}
    for hit in fused:
        value = getattr(papers.get(hit.id), field, None)
        if value in best:
            hidden[best[value]] = hidden.get(best[value], 0) + 1
            continue
        shown.append(hit)
        if value not in (None, ""):
            best[value] = hit.id
    return shown, hidden


def _hits(index: Index, request: SearchRequest, fused: Sequence[Fused], hidden: Mapping[str, int]) -> tuple[Hit, ...]:
    papers = index.papers([hit.id for hit in fused])
    return tuple(
        Hit(
            rank=request.offset + position,
            paper=papers[hit.id],
            score=hit.score,
            legs=hit.contributions,
            snippets=highlight(request.query, papers[hit.id].title, papers[hit.id].abstract),
            collapsed=hidden.get(hit.id, 0),
        )
        for position, hit in enumerate(fused, start=1)
        if hit.id in papers  # deleted since the legs ran
    )


class Clock:
    """Adds up the milliseconds of named steps."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time what happens inside the block."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._spent[name] = self._spent.get(name, 0.0) + (time.perf_counter() - begun) * 1000

    @property
    def milliseconds(self) -> Mapping[str, float]:
        """Milliseconds by step."""
        return {name: round(spent, 2) for name, spent in self._spent.items()}
