"""Words of the first papers: the weights of RM3, by its formula."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.paper import Paper
from search_plugin.contract.legs import Fused, Scored
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.ranking.feedback import added_words
from search_plugin.ranking.stages import expand
from search_plugin.ranking.state import SearchState
from search_plugin.request import SearchRequest

FIRST = [Fused("a", 0.8, {}), Fused("b", 0.2, {}), Fused("gone", 0.1, {})]
PAPERS = {
    "a": Paper("a", "Flows of gas", "A gas flows over the wings."),  # flow 2, gas 2, over 1, wing 1
    "b": Paper("b", "Wings", "12 wings and flutter"),  # wing 2, flutter 1; numbers alone are no words
}


def test_weights_are_those_of_the_formula():
    added = {one.text: one.weight for one in added_words(FIRST, PAPERS, "english", 3)}
    likely = {"flows": 0.8 * 2 / 6, "gas": 0.8 * 2 / 6, "over": 0.8 / 6, "wings": 0.8 / 6 + 0.2 * 2 / 3}
    likely["flutter"] = 0.2 / 3
    expected = {word: 3 * value / sum(likely.values()) for word, value in likely.items()}
    assert added == pytest.approx(expected)
    assert list(added) == ["flows", "gas", "wings", "over", "flutter"]


def test_only_the_likeliest_words_are_added_and_their_weights_sum_to_that_of_the_query():
    many = {
        "a": Paper(
            "a", "", " ".join(f"word{letter}" * (1 + (letter == "c")) for letter in "abcdefghijklmnopqrstuvwxyz")
        )
    }
    added = added_words([Fused("a", 1.0, {})], many, "english", 2)
    assert len(added) == 20
    assert sum(one.weight for one in added) == pytest.approx(2)


def test_a_word_is_added_in_its_most_frequent_form():
    papers = {"a": Paper("a", "Infections", "infection Infection 3D 20")}
    assert [one.text for one in added_words([Fused("a", 1.0, {})], papers, "english", 1)] == ["infection", "3d"]
    last = {"a": Paper("a", "Infection", "Infections, infections")}
    assert [one.text for one in added_words([Fused("a", 1.0, {})], last, "english", 1)] == ["infections"]
    as_often = {"a": Paper("a", "Infections infected", "Infected infections")}
    assert [one.text for one in added_words([Fused("a", 1.0, {})], as_often, "english", 1)] == ["infected"]


def test_nothing_is_added_without_papers_or_scores():
    assert added_words([], {}, "english", 3) == ()
    assert added_words([Fused("a", 0.0, {})], PAPERS, "english", 3) == ()
    assert added_words(FIRST, PAPERS, "english", 0) == ()
    assert added_words(FIRST[2:], PAPERS, "english", 3) == ()


class Held:
    """An index that gives the same hits to every search, and papers of many words; it notes what is asked."""

    schema = IndexSchema("tiny", "f", (paper_vector("prx", 2, "cosine"),))

    def __init__(self, papers):
        self.papers, self.searched, self.read = papers, [], []

    def fetch(self, ids, counting=None):
        self.read.append(list(ids))
        return {id_: self.papers[id_] for id_ in ids if id_ in self.papers}, None

    def search(self, plan):
        self.searched.append(plan)
        return {"lexical": [Scored("new", 3.0, "Cell"), Scored("p00", 1.0)]}


NAMES = ["alpaca", "bison", "camel", "dingo", "egret", "ferret", "gibbon", "heron", "ibis", "jackal", "koala"]
"""Of the eleven papers found, each says a word of its own."""


def state(column="", legs=None, **held):
    papers = {f"p{at:02}": Paper(f"p{at:02}", name) for at, name in enumerate(NAMES)}
    found = {"lexical": [Scored(id_, 20.0 - at) for at, id_ in enumerate(papers)], "prx": [Scored("near", 0.5)]}
    zeros = VectorClause("prx", np.zeros(2, np.float32))
    plan = Plan("the masks", (zeros,), None, 50, column=column)
    weights = {"lexical": 1.0, "prx": 0.0}
    return SearchState(
        Held(papers), SearchRequest("the masks", expand=True, weights=weights), plan, legs or found, **held
    )


def test_the_words_of_the_first_ten_are_searched_and_five_of_them_named():
    before = state(notes=("Said before.",), values={"p00": "Nature"})
    after = expand(before)
    (asked,) = before.index.searched
    assert [one.text for one in asked.added] == NAMES[:10]
    assert sum(one.weight for one in asked.added) == pytest.approx(1)  # "the" is no word
    assert (asked.vectors, asked.words, after.plan.vectors) == ((), "the masks", before.plan.vectors)
    assert after.plan.added == asked.added
    assert after.notes == (
        "Said before.",
        "Words of the first papers are searched too, such as alpaca, bison, camel, dingo, egret.",
    )
    assert before.index.read == [[f"p{at:02}" for at in range(10)]]
    assert set(after.papers) == set(before.index.read[0])
    assert after.legs == {"lexical": [("new", 3.0, "Cell"), ("p00", 1.0, None)], "prx": before.legs["prx"]}
    assert after.values == {"p00": "Nature"}


def test_papers_found_by_added_words_bring_the_values_to_collapse_by():
    after = expand(state("venue", values={"p01": "Nature", "p00": "Lancet"}))
    assert after.values == {"p01": "Nature", "p00": None, "new": "Cell"}


def test_without_a_ranking_by_words_or_words_to_add_nothing_is_searched():
    by_meaning = state(legs={"prx": [Scored("near", 0.5)]}, notes=("Said before.",))
    after = expand(by_meaning)
    assert after.notes == ("Said before.", "No words are added: ses itself has ranked no papers by words here.")
    of_none = state(legs={"lexical": [], "prx": []})
    assert expand(of_none) is of_none
    unasked = replace(state(), request=SearchRequest("masks"))
    assert expand(unasked) is unasked
    assert [one.index.searched for one in (by_meaning, of_none, unasked)] == [[], [], []]
