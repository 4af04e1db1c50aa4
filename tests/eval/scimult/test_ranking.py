"""Blocked products and their best against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from eval.scimult.ranking import closeness, interval_over, recall, score_blocks, top
from eval.statistics.interval import mean_interval

SMALL = st.integers(-2, 2).map(float)  # few values, so that ties abound and products are exact


def slow(queries, candidates, similarity):
    if similarity == "l2":
        return np.array([[-np.sum((q - c) ** 2) for c in candidates] for q in queries])
    scores = np.array([[np.dot(q, c) for c in candidates] for q in queries])
    if similarity == "cosine":
        scores /= np.maximum(np.outer(np.linalg.norm(queries, axis=1), np.linalg.norm(candidates, axis=1)), 1e-12)
    return scores


@pytest.mark.parametrize("similarity", ["dot", "cosine", "l2"])
@pytest.mark.parametrize("block", [1, 20, 45, 10_000])
def test_blocks_are_the_whole_product(similarity, block):
    rng = np.random.default_rng(0)
    queries, candidates = (rng.standard_normal((rows, 8)).astype(np.float32) for rows in (13, 20))
    queries[3] = 0
    starts, blocks = zip(*score_blocks(queries, candidates, similarity, block), strict=True)
    assert max(map(len, blocks)) == min(13, max(1, block // 20))
    assert list(starts) == list(np.cumsum([0, *map(len, blocks)])[:-1])
    wanted = slow(queries.astype(float), candidates.astype(float), similarity)
    np.testing.assert_allclose(np.concatenate(blocks), wanted, atol=1e-4)
    np.testing.assert_allclose(closeness(queries, candidates, similarity), wanted, atol=1e-4)


@given(st.lists(SMALL, min_size=1, max_size=30), st.integers(1, 35))
def test_top_is_the_sorted_beginning_with_ties_in_order(scores, depth):
    wanted = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:depth]
    assert top(np.array(scores, np.float32), depth).tolist() == wanted


def test_recall_and_intervals(monkeypatch):
    assert recall(["a", "b", "c"], frozenset("ac"), 2) == 0.5
    assert recall(["a"], frozenset("axy"), 20) == pytest.approx(1 / 3)
    assert recall((), frozenset("a"), 20) == 0
    values = [0.0, 1.0] * 2_000
    assert interval_over(values[:50]) == mean_interval(values[:50], resamples=10_000)
    monkeypatch.setattr("eval.scimult.ranking.DRAWS", 5_000_000)
    assert interval_over(values) == mean_interval(values, resamples=1_250), "many values are drawn less often"
    monkeypatch.setattr("eval.scimult.ranking.DRAWS", 1)
    assert interval_over(values) == mean_interval(values, resamples=1_000), "but often enough"


def test_vectors_of_different_lengths_are_refused():
    for similarity in ("dot", "cosine", "l2"):
        with pytest.raises(InputError, match="have 3 values, and those they are compared with 2"):
            next(score_blocks(np.ones((1, 3), np.float32), np.ones((4, 2), np.float32), similarity))
