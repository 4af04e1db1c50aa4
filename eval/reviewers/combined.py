"""The gold standard by the factors of `products.reviewers`: vectors and words, alone and combined."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from corpora.errors import require
from corpora.paper import Paper
from eval.embedder import Vectors
from eval.outcome import Outcome
from eval.reviewers.gold_standard import RESAMPLES, Expertise, GoldStandard, pair_sums, score_predictions
from eval.statistics.bootstrap import bootstrap_statistic
from products.indexed import in_blocks
from products.reviewers.factors import FactorBuilder, VectorsBuilder, WordsBuilder, stored
from products.reviewers.pool import PAPERS, make_pool
from products.reviewers.scoring import score_venue
from search_plugin.contract.engine import Document

WORDS = "words"
"""The factor of TF-IDF, which needs no vectors."""


def predict_combined(
    data: GoldStandard, vectors: Mapping[str, Vectors], *, words: bool, aggregate: str = "top3", combine: str = "scores"
) -> list[Expertise]:
    """Predict expertise as matching a venue does, by vectors of each factor, which has all papers, and by words.

    All papers that somebody reported on are the submissions, and all reviewers are scored for each, by the `aggregate`
    (`top3` or `max`) of a reviewer's papers, and the factors combined by `scores` or `ranks`. Returns for each draw of
    the profiles the scores by reviewer and paper. Raises `InputError` if there are neither vectors nor words, or a
    paper has no vector.
    """
    require(
        all(paper in of.rows for of in vectors.values() for paper in data.papers),
        "Some papers of the gold standard have no vector; give vectors of all of them.",
    )
    papers = {name: Paper(name, text.title, text.abstract or "") for name, text in data.papers.items()}
    submissions = sorted({paper for reported in data.expertise.values() for paper in reported})
    row = {paper: place for place, paper in enumerate(submissions)}
    predictions: list[Expertise] = []
    for profiles in data.draws:
        pool = make_pool(profiles)
        column = {reviewer: place for place, reviewer in enumerate(pool.reviewers)}
        with tempfile.TemporaryDirectory() as name:
            builders: dict[str, FactorBuilder] = {
                told: VectorsBuilder(of.of(submissions), stored(told), Path(name) / told)
                for told, of in vectors.items()
            }
            if words:
                builders[WORDS] = WordsBuilder([papers[paper] for paper in submissions])
            for ids in in_blocks((paper for own in pool.papers for paper in own), PAPERS):
                rows = {told: of.of(ids) for told, of in vectors.items()}
                held = [
                    Document(papers[paper], "", {told: of[place] for told, of in rows.items()})
                    for place, paper in enumerate(ids)
                ]
                for builder in builders.values():
                    builder.add(held)
            factors = {told: builder.factor() for told, builder in builders.items()}
            made = score_venue(factors, pool, len(submissions), Path(name), aggregate=aggregate, combine=combine)
            scores = made.combined.read(0, len(submissions))
        predictions.append(
            {
                reviewer: {paper: float(scores[row[paper], column[reviewer]]) for paper in reported}
                for reviewer, reported in data.expertise.items()
                if reviewer in column
            }
        )
    return predictions


def compare_factors(data: GoldStandard, vectors: Mapping[str, Vectors], aggregate: str = "top3") -> dict[str, Outcome]:
    """Measure words and the factors of vectors, each alone and all together, on the gold standard.

    Returns by name, also for the vectors together: the measures of `score_predictions`, and `loss - words`, the loss
    less that of words, with its interval over 1,000 resamples of the reviewers, the same for both (paired).
    """
    chosen = {WORDS: predict_combined(data, {}, words=True, aggregate=aggregate)}
    for factor, of in vectors.items():
        chosen[factor] = predict_combined(data, {factor: of}, words=False, aggregate=aggregate)
    if len(vectors) > 1:
        told = f"{' + '.join(vectors)}, by scores"
        chosen[told] = predict_combined(data, vectors, words=False, aggregate=aggregate)
    for combine in ("scores", "ranks"):
        told = f"{' + '.join((*vectors, WORDS))}, by {combine}"
        chosen[told] = predict_combined(data, vectors, words=True, aggregate=aggregate, combine=combine)
    base = pair_sums(chosen[WORDS], data.expertise)
    outcomes = {}
    for name, predictions in chosen.items():
        outcome = score_predictions(predictions, data.expertise)
        sums = pair_sums(predictions, data.expertise)
        paired = bootstrap_statistic(_difference, sums[:, 0], base[:, 0], base[:, 1], resamples=RESAMPLES)
        outcomes[name] = replace(outcome, cells={**outcome.cells, "loss - words": paired})
    return outcomes


def _difference(one: np.ndarray, other: np.ndarray, whole: np.ndarray) -> float:
    return float((np.sum(one) - np.sum(other)) / np.sum(whole))
