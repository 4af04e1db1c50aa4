"""Words of the first papers: the weights of RM3, by its formula."""

from __future__ import annotations

import pytest

from corpora.paper import Paper
from search_plugin.contract.legs import Fused
from search_plugin.ranking.feedback import added_words

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
