"""Scores mixed with those of the nearest papers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_plugin.contract.legs import Fused, Scored
from search_plugin.fusion.fusions import minmax
from search_plugin.ranking.neighbours import POOL, means_of_neighbours, mixed

PLANE = {"a": [1, 0], "b": [3, 3], "c": [0, 2], "d": [-1, 0]}
VECTORS = {id_: np.array(row, np.float32) for id_, row in PLANE.items()}


def test_a_mean_is_weighted_by_the_cosines_of_the_nearest():
    scores = {"a": 0.9, "b": 0.5, "c": 0.1, "d": 0.3}
    means = means_of_neighbours(scores, VECTORS)
    half = math.sqrt(0.5)
    assert means["a"] == pytest.approx(0.5)  # of the others, only b is nearer than at right angles
    assert means["b"] == pytest.approx((half * 0.9 + half * 0.1) / (2 * half))
    assert means["c"] == pytest.approx(0.5)
    assert "d" not in means  # nothing is near it


def test_only_the_five_nearest_count():
    angles = np.linspace(0, 1, 9)
    vectors = {str(at): np.array([math.cos(angle), math.sin(angle)], np.float32) for at, angle in enumerate(angles)}
    scores = {id_: float(id_ == "6") for id_ in vectors}
    means = means_of_neighbours(scores, vectors)
    assert means["0"] == 0  # 1 to 5 are nearer
    assert means["1"] == means["2"] == 0  # so are 0 and 2 to 5; 0, 1 and 3 to 5
    assert means["4"] > 0


def test_papers_without_a_vector_or_with_one_of_zeros_have_no_neighbours():
    vectors = {**VECTORS, "zero": np.zeros(2, np.float32)}
    means = means_of_neighbours({"a": 0.9, "b": 0.5, "zero": 0.7, "missing": 0.8}, vectors)
    assert means.keys() == {"a", "b"}
    assert means["a"] == pytest.approx(0.5)
    assert means_of_neighbours({"a": 0.9}, VECTORS) == {}
    assert means_of_neighbours({"a": 0.9, "missing": 0.8}, VECTORS) == {}


def test_the_parts_of_a_score_still_add_up_to_it():
    legs = {"lexical": [Scored("a", 9.0), Scored("b", 4.0)], "prx": [Scored("c", 0.8), Scored("a", 0.2)]}
    ranking = minmax(legs, {})
    after = mixed(ranking, {"a": 0.25, "c": 0.5}, 0.2)
    own = {hit.id: hit.score for hit in ranking}
    for hit in after:
        mean = {"a": 0.25, "c": 0.5}.get(hit.id, 0)
        assert hit.score == pytest.approx(0.8 * own[hit.id] + 0.2 * mean)
        assert math.fsum(part.value for part in hit.contributions.values()) == pytest.approx(hit.score)
    named = {hit.id: hit.contributions for hit in after}
    assert (named["c"]["neighbours"].rank, named["a"]["neighbours"].rank) == (1, 2)
    assert (named["a"]["neighbours"].raw, named["a"]["neighbours"].value) == (0.25, pytest.approx(0.05))
    assert named["a"]["lexical"].raw == 9.0  # as the leg scored it
    assert "neighbours" not in named["b"]
    assert named["b"].keys() == {"lexical"}


@given(scores=st.lists(st.floats(0, 1), min_size=2, max_size=POOL + 20), weight=st.floats(0, 1), data=st.data())
def test_papers_after_the_pool_stay_behind_it_in_their_order(scores, weight, data):
    ranking = [Fused(f"{at:03}", score, {}) for at, score in enumerate(sorted(scores, reverse=True))]
    pool = ranking[:POOL]
    means = {hit.id: data.draw(st.floats(0, 1)) for hit in pool[::7]}
    after = [hit.id for hit in mixed(ranking, means, weight)]
    assert sorted(after) == [hit.id for hit in ranking]
    rest = [hit.id for hit in ranking[POOL:]]
    assert [id_ for id_ in after if id_ in rest] == rest
    unmoved = {hit.id for hit in mixed(ranking, {}, weight)}
    assert unmoved == set(after)
