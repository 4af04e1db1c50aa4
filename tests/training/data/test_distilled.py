"""Candidates with teachers' scores."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from corpora.errors import InputError
from tests.training.data.papers import build, source
from tests.training.data.test_mined import NONE_MADE, encoder, judged, split, text  # noqa: F401 - a fixture
from training.data.builders.base import BuilderSource
from training.data.builders.distilled import _chosen, _weights
from training.data.pool import PoolQuery, by_vectors, by_words, read_pool
from training.data.queries import OPTIONS

OF_POOL = {**OPTIONS, **NONE_MADE}


def scaled(scores):
    return (scores - scores.min()) / (scores.max() - scores.min())


@pytest.mark.parametrize(
    ("teachers", "weights", "shares"),
    [("bm25", "", (1, 0)), ("bm25 base", "", (0.5, 0.5)), ("bm25 base", "3 1", (0.75, 0.25))],
)
def test_scores_are_the_mean_of_scaled_ones_over_all_candidates(encoder, teachers, weights, shares):  # noqa: F811
    given, _ = judged(encoder)
    made = build("distilled", given, **NONE_MADE, teachers=teachers, weights=weights, depth=999, candidates=6, top=2)
    assert len(made) > 3
    pool = read_pool(given, OF_POOL)
    texts = [text(one) for one in pool.papers]
    for one in made:
        query, candidates = one.record["query"], one.record["candidates"]
        judges = (by_words(pool), by_vectors(encoder, pool))
        fused = sum(share * scaled(judge.scores([query])[0]) for share, judge in zip(shares, judges, strict=True))
        rows = [texts.index(text(one)) for one in candidates]
        np.testing.assert_allclose([one["score"] for one in candidates], fused[rows], atol=1e-6)
        answer = next(asked.answers[0] for asked in pool.queries if asked.content == query)
        assert rows[0] == answer
        assert len(set(rows)) == 6
        others = sorted((fused[row] for row in range(len(texts)) if row != answer), reverse=True)
        np.testing.assert_allclose(fused[rows[1:3]], others[:2])
        assert sorted(fused[rows[1:]], reverse=True) == fused[rows[1:]].tolist()


def test_the_others_are_drawn_from_the_depth(encoder):  # noqa: F811
    given, _ = judged(encoder)
    made = build("distilled", given, **NONE_MADE, teachers="bm25", depth=6, candidates=5, top=0)
    pool = read_pool(given, OF_POOL)
    texts, words = [text(one) for one in pool.papers], by_words(pool)
    drawn = set()
    for query, _, _ in split(made):
        scores = words.scores([query])[0]
        one = next(one for one in made if one.record["query"] == query)
        rows = [texts.index(text(candidate)) for candidate in one.record["candidates"]]
        ranks = [sorted(range(len(texts)), key=lambda row: (-scores[row], row)).index(row) for row in rows[1:]]
        assert max(ranks) < 6
        drawn.add(tuple(ranks))
    assert len(drawn) > 1


def test_a_query_with_too_few_candidates_is_counted(encoder):  # noqa: F811
    given = source([{"query": "virus", "pos": {"title": "virus"}, "neg": {"title": "lung"}}])
    assert build("distilled", given, **NONE_MADE, teachers="bm25", candidates=3) == []
    assert given.left_out == {"too few candidates": 1}


@pytest.mark.parametrize("weights", ["1", "1 x", "1 -1", "0 0", "1 1 1"])
def test_wrong_weights(encoder, weights):  # noqa: F811
    with pytest.raises(InputError, match="give each of its 2 teachers one number"):
        build("distilled", judged(encoder)[0], weights=weights)


def test_an_unknown_fusion(encoder):  # noqa: F811
    with pytest.raises(InputError, match="There is no fusion 'mean'"):
        build("distilled", judged(encoder)[0], fusion="mean")


def test_other_models_teach_by_name(encoder):  # noqa: F811
    given, _ = judged(encoder)
    named = []

    def model(name=""):
        named.append(name)
        return encoder

    several = BuilderSource(given.papers, model, 1)
    made = build("distilled", several, **NONE_MADE, teachers="bm25 base model:other", candidates=4)
    assert named == ["", "other"]
    two_thirds = build("distilled", given, **NONE_MADE, teachers="bm25 base", weights="1 2", candidates=4)
    for one, other in zip(made, two_thirds, strict=True):
        assert one.record["query"] == other.record["query"]
        scores = [[c["score"] for c in found.record["candidates"]] for found in (one, other)]
        np.testing.assert_allclose(*scores, rtol=1e-12)


def test_the_best_are_taken_and_the_rest_are_drawn_with_equal_chances():
    counts = Counter()
    for number in range(600):
        query = PoolQuery(f"q{number}", "", "?", (9,))
        found = _chosen(query, [5, 3, 8, 1, 7, 2, 6, 4], 4, {"top": 2}, 1)
        assert found[:2] == [5, 3]
        assert found[2:] == [row for row in (8, 1, 7, 2, 6, 4) if row in found]
        assert len(found) == 4
        counts.update(found[2:])
    assert all(150 < counts[row] < 250 for row in (8, 1, 7, 2, 6, 4))
    assert _chosen(query, [5, 3, 8], 2, {"top": 3}, 1) == [5, 3]
    assert _chosen(query, [5, 3, 8], 9, {"top": 1}, 1) == [5, 3, 8]


def test_weights_of_zero_leave_a_teacher_out():
    assert _weights("0 2.5", 2) == {"0": 0.0, "1": 2.5}
    assert _weights("", 3) == {"0": 1.0, "1": 1.0, "2": 1.0}
