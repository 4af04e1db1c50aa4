"""The vector of a query, moved towards the first papers by words."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.errors import InputError
from search_plugin.contract.legs import Scored
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.ranking.feedback import NO_FEEDBACK, moved_vector
from search_plugin.ranking.stages import feedback
from search_plugin.ranking.state import SearchState
from search_plugin.request import SearchRequest

PAPERS = {str(number): np.array(row, np.float32) for number, row in enumerate([[0, 3], [0, 1], [1, 0], [0, 2], [0, 1]])}


class Held:
    """An index of five papers and one that is not read; it notes what is asked."""

    def __init__(self):
        self.schema = SimpleNamespace(legs=("prx",))
        self.asked = []

    def vectors(self, ids, leg):
        assert leg == "prx"
        return {id_: PAPERS[id_] for id_ in ids if id_ in PAPERS}

    def search(self, plan):
        self.asked.append(plan)
        return {"prx": [Scored("new", 0.9)]}


def state(weight, legs=None, vectors=None):
    vectors = (VectorClause("prx", np.array([1, 0], np.float32)),) if vectors is None else vectors
    hits = [Scored(id_, 9.0 - number) for number, id_ in enumerate(["0", "1", "2", "3", "4", "not read"])]
    given = {"lexical": hits, "prx": [Scored("old", 0.8)]} if legs is None else legs
    return SearchState(Held(), SearchRequest("masks", feedback=weight), Plan("masks", vectors, None, 100), given)


def test_the_vector_moves_by_the_mean_direction_of_the_first_five():
    before = state(0.4)
    after = feedback(before)
    wanted = np.array([1 + 0.4 * 1 / 5, 0.4 * 4 / 5])
    np.testing.assert_allclose(after.plan.vectors[0].vector, wanted / np.linalg.norm(wanted), atol=1e-6)
    (asked,) = before.index.asked
    assert (asked.words, asked.legs, asked.window) == ("", ("prx",), 100)
    assert [hit.id for hit in after.legs["prx"]] == ["new"]
    assert after.legs["lexical"] == before.legs["lexical"]


def test_without_feedback_nothing_is_asked():
    before = state(0.0)
    assert feedback(before) is before


@pytest.mark.parametrize("legs", [{"lexical": [Scored("0", 1.0)]}, {}])
def test_a_search_of_another_kind_says_that_feedback_does_not_count(legs):
    assert feedback(state(0.4, legs, ())).notes == (NO_FEEDBACK,)


def test_without_papers_by_words_the_vector_stays():
    before = state(0.4, {"lexical": [], "prx": [Scored("old", 0.8)]})
    assert feedback(before) is before


def test_the_length_of_the_query_stays_and_papers_of_zeros_count_for_nothing():
    moved = moved_vector(np.array([2.0, 0.0]), {"a": np.array([0.0, 5.0]), "b": np.zeros(2)}, 1.0)
    np.testing.assert_allclose(moved, [math.sqrt(2), math.sqrt(2)], atol=1e-6)
    passages = moved_vector(np.array([1.0, 0.0]), {"a": np.array([[0.0, 1.0], [0.0, 3.0]])}, 1.0)
    np.testing.assert_allclose(passages, [math.sqrt(0.5)] * 2, atol=1e-6)
    np.testing.assert_array_equal(moved_vector(np.array([1.0, 0.0]), {}, 1.0), [1.0, 0.0])


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_a_weight_out_of_bounds_is_refused(wrong):
    with pytest.raises(InputError, match="feedback"):
        replace(SearchRequest("masks"), feedback=wrong)


def test_the_other_vectors_of_a_query_stay_and_new_papers_bring_the_values_to_collapse_by():
    other = VectorClause("sentences", np.array([0, 1], np.float32))
    moved = VectorClause("prx", np.array([1, 0], np.float32))
    before = state(0.4, vectors=(other, moved))
    before = replace(before, plan=replace(before.plan, column="venue"), values={"old": "Cell"})
    before.index.search = lambda plan: {"prx": [Scored("new", 0.9, "Nature")]}
    after = feedback(before)
    assert after.plan.vectors[0] is other
    assert [clause.field for clause in after.plan.vectors] == ["sentences", "prx"]
    assert not np.array_equal(after.plan.vectors[1].vector, moved.vector)
    assert after.values == {"old": "Cell", "new": "Nature"}


def test_a_listing_and_an_index_without_vectors_have_no_feedback():
    listing = replace(state(0.4, {}, ()), plan=Plan("", (), None, 100))
    assert feedback(listing) is listing
    words = state(0.4, {"lexical": [Scored("0", 1.0)]}, ())
    words.index.schema = SimpleNamespace(legs=())
    assert feedback(replace(words, notes=("Said before.",))).notes == ("Said before.", NO_FEEDBACK)
