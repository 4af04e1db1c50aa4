"""Scores mixed with those of the nearest papers."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_plugin.contract.legs import Fused, Scored
from search_plugin.contract.plan import Plan
from search_plugin.fusion.fusions import minmax
from search_plugin.ranking.neighbours import POOL, given_by_neighbours, mixed, smooth, smoothed
from search_plugin.ranking.state import SearchState
from search_plugin.request import SearchRequest

PLANE = {"a": [1, 0], "b": [3, 3], "c": [0, 2], "d": [-1, 0]}
VECTORS = {id_: np.array(row, np.float32) for id_, row in PLANE.items()}


def test_two_thirds_are_the_mean_of_the_nearest_and_one_third_is_the_closeness_to_the_first():
    given = given_by_neighbours({"a": 0.9, "b": 0.5, "d": 0.3, "c": 0.1}, VECTORS)
    half = math.sqrt(0.5)
    # Of the others of a, only b is nearer than at right angles. Cosines to a are 1, .71, 0 and -1.
    assert given["a"] == pytest.approx(2 / 3 * 0.5 + 1 / 3)
    assert given["b"] == pytest.approx(2 / 3 * (half * 0.9 + half * 0.1) / (2 * half) + (half + 1) / 2 / 3)
    assert given["c"] == pytest.approx(2 / 3 * 0.5 + 0.5 / 3)
    assert given["d"] == pytest.approx(0)  # nothing is near it


def test_only_the_five_nearest_count():
    angles = np.linspace(0, 1, 9)
    vectors = {str(at): np.array([math.cos(angle), math.sin(angle)], np.float32) for at, angle in enumerate(angles)}
    of_none, of_one = (given_by_neighbours({id_: float(id_ == one) for id_ in vectors}, vectors) for one in ("", "6"))
    gained = {id_ for id_ in vectors if of_one[id_] > of_none[id_]}
    # To 0, 1 to 5 are nearer; to 1, 0 and 2 to 5; to 2, 0, 1 and 3 to 5.
    assert gained.isdisjoint("012")
    assert gained >= set("4578")


def test_papers_without_a_vector_or_with_one_of_zeros_are_given_nothing():
    vectors = {**VECTORS, "zero": np.zeros(2, np.float32)}
    given = given_by_neighbours({"a": 0.9, "b": 0.5, "zero": 0.7, "missing": 0.8}, vectors)
    assert given.keys() == {"a", "b", "zero"}
    assert given["zero"] == 0
    assert given["a"] == pytest.approx(2 / 3 * 0.5 + 1 / 3)
    assert given_by_neighbours({"a": 0.9}, VECTORS) == {}
    assert given_by_neighbours({"a": 0.9, "missing": 0.8}, VECTORS) == {}
    same = given_by_neighbours({"a": 0.9, "b": 0.5}, {"a": VECTORS["a"], "b": VECTORS["a"]})
    assert same == pytest.approx({"a": 2 / 3 * 0.5, "b": 2 / 3 * 0.9})


class Held:
    """An index that holds the vectors of `PLANE`."""

    schema = SimpleNamespace(legs=("prx",))

    def vectors(self, ids, leg):
        return {id_: VECTORS[id_] for id_ in ids}


@pytest.mark.parametrize(("fusion", "size"), [("minmax", 1), ("rrf", 0.02), ("rrf@20", 0.05), ("zscore", 2)])
def test_neighbours_give_as_much_whatever_the_size_of_the_scores_of_a_fusion(fusion, size):
    scores = {"a": 1.0, "b": 0.5, "d": 0.3, "c": 0.1}
    ranking = [Fused(id_, size * score, {}) for id_, score in scores.items()]
    given = given_by_neighbours(scores, VECTORS)
    after = smoothed(ranking, Held(), 0.3, fusion)
    assert {hit.id: hit.score for hit in after} == pytest.approx(
        {id_: size * (0.7 * scores[id_] + 0.3 * given[id_]) for id_ in scores}
    )


def test_min_max_gives_the_first_paper_one_third_even_if_its_own_score_is_low():
    ranking = [Fused("a", 0.5, {}), Fused("c", 0.25, {})]
    (a, c) = smoothed(ranking, Held(), 1.0, "minmax")
    assert (a.id, a.score, c.id, c.score) == ("a", pytest.approx(1 / 3), "c", pytest.approx(0))


def test_the_passages_of_a_paper_count_by_their_mean():
    passages = {id_: np.stack([2 * row, -row, row / 2]) for id_, row in VECTORS.items()}  # half the vector in the mean
    ranking = [Fused(id_, score, {}) for id_, score in (("a", 1.0), ("b", 0.5), ("d", 0.3), ("c", 0.1))]

    class Passages(Held):
        def vectors(self, ids, leg):
            return {id_: passages[id_] for id_ in ids}

    found = [(hit.id, hit.score) for hit in smoothed(ranking, Passages(), 0.3, "minmax")]
    assert found == [(hit.id, pytest.approx(hit.score)) for hit in smoothed(ranking, Held(), 0.3, "minmax")]


def test_neighbours_are_looked_for_among_the_best_fifty():
    ids = [f"{at:02}" for at in range(52)]
    ranking = [Fused(id_, 1 - at / 100, {}) for at, id_ in enumerate(ids)]
    asked = []

    class Alike(Held):
        def vectors(self, ids, leg):
            asked.append((list(ids), leg))
            return dict.fromkeys(ids, VECTORS["a"])

    after = smoothed(ranking, Alike(), 0.5, "minmax")
    assert asked == [(ids[:50], "prx")]
    assert [hit.id for hit in after if "neighbours" not in hit.contributions] == ids[50:]
    for same in (smoothed(ranking, None, 0.0, "minmax"), smoothed(ranking[:1], None, 0.5, "minmax")):
        assert same is ranking or same == ranking[:1]


@pytest.mark.parametrize(("legs", "changed"), [(("lexical",), False), (("lexical", "prx"), True)])
def test_a_single_leg_has_no_neighbours(legs, changed):
    ranking = [Fused("a", 1.0, {}), Fused("b", 0.5, {})]
    request, plan = SearchRequest("virus", neighbours=0.4), Plan("virus", (), None, 9)
    before = SearchState(Held(), request, plan, dict.fromkeys(legs, ()), ranking=ranking, shown=ranking)
    after = smooth(before)
    assert (after is not before) == changed
    assert after.ranking == (smoothed(ranking, Held(), 0.4, "minmax") if changed else ranking)
    assert after.shown == after.ranking


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
