"""openreview-expertise on drawn vectors whose scores were computed once by its own `scincl.py`."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.models.formats import Format
from eval.embedder import Text
from eval.reviewers.protocol import rank_reviewers
from products.reviewers.rules import openreview
from tests.eval.vectors_by_hand import embedder

PROGRAM = {
    "max": [[0.437, 0.6798, 1.0, 0.6959], [0.5108, 0.8293, 0.9523, 0.76], [0.7582, 0.778, 0.8035, 0.9248]],
    "average": [[0.437, 0.5754, 0.5189, 0.4479], [0.5108, 0.6861, 0.5239, 0.4543], [0.7582, 0.7704, 0.5057, 0.5844]],
    "p75": [[0.437, 0.6276, 0.6952, 0.6151], [0.5108, 0.7577, 0.6597, 0.6603], [0.7582, 0.7742, 0.7498, 0.6488]],
}
"""By aggregate, the score of each reviewer for each of three submissions, with four places."""


@pytest.mark.parametrize("aggregate", PROGRAM)
def test_scores_are_those_of_the_program(aggregate):
    rng = np.random.default_rng(17)
    papers = {f"p{number}": rng.integers(-3, 4, 4).astype(float) for number in range(14)}
    submissions = {f"s{number}": rng.integers(-3, 4, 4).astype(float) for number in range(3)}
    profiles = {
        f"r{reviewer}": [f"p{number}" for number in rng.choice(14, int(rng.integers(1, 6)), replace=False)]
        for reviewer in range(4)
    }
    every = {**papers, **submissions}
    vectors = embedder(every)([Text(name, name) for name in every], Format.PRX)
    run = rank_reviewers(
        {"proximity": vectors}, profiles, dict.fromkeys(submissions, profiles), openreview(aggregate)
    ).run
    scores = [[dict(run.rankings[name])[reviewer] for reviewer in profiles] for name in submissions]
    # The program brings the similarities of all pairs of papers to a scale from 0 to 1.
    rows, others = (np.array([v / np.linalg.norm(v) for v in one.values()]) for one in (submissions, papers))
    pairs = rows @ others.T
    assert (np.array(scores) - pairs.min()) / np.ptp(pairs) == pytest.approx(np.array(PROGRAM[aggregate]), abs=6e-5)
