"""What tuning tries: every setting of a stage once, the start first."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from eval.retrieval.stages import BOOSTS, K1, B, boosts, fusions, scorings, stages, start
from search_plugin.contract.schema import Bm25
from search_plugin.fusion.search_settings import SearchSettings

LEGS = ("lexical", "prx")


def test_fusions_are_all_there_the_simplest_first():
    begun = SearchSettings("minmax", {"lexical": 0.5, "prx": 0.5}, title_boost=0.2, bm25=Bm25(0.9, 0.4))
    points = fusions(LEGS, begun)
    assert points[0] == begun
    assert {(point.title_boost, point.bm25) for point in points} == {(0.2, Bm25(0.9, 0.4))}
    assert len(points) == 11 + 11 + 11 * 4
    assert len({(point.name, *point.weights.values()) for point in points}) == len(points)
    distances = [abs(point.weights["lexical"] - 0.5) for point in points]
    assert distances == pytest.approx(sorted(distances))
    of_three = fusions("abc", begun, steps=4, constants=(60,))
    assert all(sum(point.weights.values()) == pytest.approx(1) for point in of_three)
    assert len(of_three) == 3 * (15 + 1)  # equal weights are no quarters


@pytest.mark.parametrize("begun", [start(LEGS), SearchSettings("rrf", {"prx": 1}, 20, 0.7, Bm25(1.3, 0.1))])
def test_scores_of_words_vary_around_the_start(begun):
    tried = scorings(begun)
    assert tried[0] == begun
    assert {(one.bm25.k1, one.bm25.b) for one in tried[1:]} >= {
        (k1, b) for k1 in K1 for b in B if (k1, b) != (begun.bm25.k1, begun.bm25.b)
    }
    assert len({one.name for one in tried}) == len({one.title_boost for one in tried}) == 1
    raised = boosts(begun)
    assert raised[0] == begun
    assert {one.title_boost for one in raised} == {begun.title_boost, *BOOSTS}
    assert len({one.bm25 for one in raised}) == 1


def test_the_start_is_what_a_search_does():
    assert start(LEGS) == SearchSettings(weights={"lexical": 0.5, "prx": 0.5})


def test_the_constants_of_bm25_are_tried_where_asked_for():
    assert [len(stages(LEGS, bm25=bm25)) for bm25 in (False, True)] == [2, 3]
    with pytest.raises(InputError, match="fewer than two legs"):
        stages(["prx"], bm25=True)
