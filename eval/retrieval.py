"""Retrieval on a BEIR folder through a real engine: every query in every mode, scored by trec_eval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eval.metrics import Scores, evaluate
from eval.runs import Run
from search_plugin.fusion.registry import DEFAULT_FUSION, get_fusion
from search_plugin.request import MAX_QUERY, Mode, SearchRequest
from search_plugin.search import make_plan

if TYPE_CHECKING:
    from encoders.encoder import TextEncoder
    from eval.beir import BeirFolder
    from search_plugin.engines.base import Index

MEASURES = ("nDCG@10", "MAP", "Recall@100", "MRR@10")
DEPTH = 100
"""Hits a query; Recall@100 needs them all."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One mode's outcome.

    Attributes:
        run: What was found.
        scores: How good that is.
        without_text: Judged queries that have no text, and so count 0.
        shortened: Queries too long to be searched whole.
    """

    run: Run
    scores: Scores
    without_text: int
    shortened: int


def evaluate_retrieval(
    folder: BeirFolder,
    index: Index,
    encoder: TextEncoder,
    *,
    split: str = "test",
    modes: Sequence[Mode] = ("lexical", "vector", "hybrid"),
    fusion: str = DEFAULT_FUSION,
    measures: Sequence[str] = MEASURES,
    drop_same_id: bool = False,
) -> dict[Mode, Retrieval]:
    """Run a split's judged queries against an index of the folder's corpus.

    Args:
        folder: Queries and judgments.
        index: Holds the corpus.
        encoder: Of the model that made the index.
        split: Which judgments.
        modes: Search modes to compare.
        fusion: Of the hybrid mode.
        measures: As `eval.metrics.parse_measure` takes them.
        drop_same_id: As `eval.metrics.evaluate` takes it.

    Returns:
        By mode, the run and its scores.

    Raises:
        InputError: If the split or a measure is unknown, or the model is not the index's.
    """
    judged = folder.judged(split)
    outcome: dict[Mode, Retrieval] = {}
    for mode in modes:
        rankings = {query: _ranking(index, encoder, text, mode, fusion) for query, text in judged.texts.items()}
        run = Run(tag=f"ses-{mode}", rankings=rankings)
        scores = evaluate(run, judged.qrels, measures, drop_same_id=drop_same_id)
        shortened = sum(len(text) > MAX_QUERY for text in judged.texts.values())
        outcome[mode] = Retrieval(run, scores, len(judged.without_text), shortened)
    return outcome


def _ranking(index: Index, encoder: TextEncoder, text: str, mode: Mode, fusion: str) -> list[tuple[str, float]]:
    request = SearchRequest(text[:MAX_QUERY], mode, fusion, window=DEPTH)
    legs = index.search(make_plan(index, request, encoder))
    return [(hit.id, hit.score) for hit in get_fusion(fusion)(legs, {})[:DEPTH]]
