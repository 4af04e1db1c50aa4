"""The gold standard by the factors of `products.reviewers`: vectors and words, alone and combined."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from corpora.errors import InputError
from corpora.paper import Paper
from eval.embedder import Vectors
from eval.outcome import Outcome
from eval.reviewers.gold_standard import Expertise, GoldStandard, score_predictions
from products.reviewers.factors import FactorBuilder, VectorsBuilder, WordsBuilder, stored
from products.reviewers.pool import PAPERS, in_blocks, make_pool
from products.reviewers.scoring import score_venue
from search_plugin.engines.base import Document

WORDS = "words"
"""The factor of TF-IDF, which needs no vectors."""


def evaluate_combined(
    data: GoldStandard, vectors: Mapping[str, Vectors], *, words: bool, aggregate: str = "top3", combine: str = "ranks"
) -> Outcome:
    """Predict expertise as matching a venue does, and measure it.

    All papers that somebody reported on are the submissions, and all reviewers are ranked for each.

    Args:
        data: The data set.
        vectors: By factor; each has all papers.
        words: Whether to compare words by TF-IDF too.
        aggregate: Over a reviewer's papers, `top3` or `max`.
        combine: The factors, by `ranks` or `scores`.

    Returns:
        As `score_predictions`.

    Raises:
        InputError: If there are neither vectors nor words, or a paper has no vector.
    """
    if any(paper not in of.rows for of in vectors.values() for paper in data.papers):
        raise InputError("Some papers of the gold standard have no vector; give vectors of all of them.")
    submissions = sorted({paper for reported in data.expertise.values() for paper in reported})
    papers = {name: Paper(name, text.title, text.abstract or "") for name, text in data.papers.items()}
    predictions: list[Expertise] = []
    for profiles in data.draws:
        pool = make_pool(profiles)
        with tempfile.TemporaryDirectory() as name:
            builders: dict[str, FactorBuilder] = {
                told: VectorsBuilder(of.of(submissions), stored(told), Path(name) / told)
                for told, of in vectors.items()
            }
            if words:
                builders[WORDS] = WordsBuilder([papers[paper] for paper in submissions])
            for ids in in_blocks((paper for own in pool.papers for paper in own), PAPERS):
                held = [
                    Document(papers[name], "", {told: of.of([name])[0] for told, of in vectors.items()}) for name in ids
                ]
                for builder in builders.values():
                    builder.add(held)
            factors = {told: builder.factor() for told, builder in builders.items()}
            made = score_venue(factors, pool, len(submissions), Path(name), aggregate=aggregate, combine=combine)
            scores = made.combined.read(0, len(submissions))
        row, column = ({name: place for place, name in enumerate(of)} for of in (submissions, pool.reviewers))
        predictions.append(
            {
                reviewer: {paper: float(scores[row[paper], column[reviewer]]) for paper in reported}
                for reviewer, reported in data.expertise.items()
                if reviewer in column
            }
        )
    return score_predictions(predictions, data.expertise)
