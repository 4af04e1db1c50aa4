"""Ranking again by a model that reads the query and each of the best papers together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from corpora.paper import Paper
from search_plugin.contract.legs import RERANKED, Fused
from search_plugin.ranking.state import SearchState

if TYPE_CHECKING:
    from encoders.rerankers.scorer import PairScorer

AT_ONCE = 8
"""Papers that are read between two looks at the clock."""


def rerank_by_model(
    state: SearchState, scorer: PairScorer, clock: Callable[[], float] = time.perf_counter
) -> SearchState:
    """Rank the best papers again by a model's scores; the others keep their order behind them.

    `rerank_depth` papers of the request are read. With a `rerank_budget`, they are read by eights, the best first, and
    no more once it is spent; the first eight always are, and a note says how many were read. A paper that was read has
    the model's score, to which its legs add nothing; equal scores keep their order. A paper that was not read is as far
    below the last one read as it was before.
    """
    request, end = state.request, clock() + state.request.rerank_budget / 1_000
    best = state.ranking[: request.rerank_depth]
    papers = {**state.papers, **state.index.papers([hit.id for hit in best if hit.id not in state.papers])}
    known = [hit for hit in best if hit.id in papers]  # others were deleted since the legs ran
    parts = [known[at : at + AT_ONCE] for at in range(0, len(known), AT_ONCE)] if request.rerank_budget else [known]
    scores: dict[str, float] = {}
    for part in parts:
        if scores and clock() >= end:
            break
        texts = [text_of(papers[hit.id]) for hit in part]
        scores |= zip((hit.id for hit in part), scorer.scores(state.topic, texts).tolist(), strict=True)
    notes = state.notes
    if len(scores) < len(known):
        notes = (
            *notes,
            f"The reranker read {len(scores)} of {len(known)} papers within {request.rerank_budget:g} ms; the others "
            "follow in the order of the fusion.",
        )
    ranking = _ranked(state.ranking, scores)
    return replace(state, ranking=ranking, shown=ranking, papers=papers, notes=notes)


def text_of(paper: Paper) -> str:
    """Return a paper as rerankers read it: title and abstract with a blank between, as in BEIR."""
    return " ".join(part for part in (paper.title, paper.abstract) if part)


def _ranked(ranking: Sequence[Fused], scores: Mapping[str, float]) -> list[Fused]:
    """Return a ranking with the papers that have scores first, ordered by them."""
    if not scores:
        return list(ranking)
    read = sorted((hit for hit in ranking if hit.id in scores), key=lambda hit: -scores[hit.id])
    places = {hit.id: (place, scores[hit.id], scores[hit.id]) for place, hit in enumerate(read, 1)}
    given = {
        leg: {id_: (rank, raw, 0.0) for id_, (rank, raw, _) in parts.items() if id_ in scores}
        for leg, parts in read[0].given.items()
    }
    given[RERANKED] = places
    lowered = min(scores.values()) - min(hit.score for hit in read)
    rest = [hit._replace(score=hit.score + lowered) for hit in ranking if hit.id not in scores]
    return [*(Fused(hit.id, scores[hit.id], given) for hit in read), *rest]
