"""What the query names comes first: how near a paper has to be, and which titles are compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corpora.paper import Paper
from search_plugin.contract.legs import Fused, Scored
from search_plugin.contract.plan import Plan
from search_plugin.contract.tree import Compare
from search_plugin.ranking.named import put_named_first
from search_plugin.ranking.state import SearchState
from search_plugin.request import SearchRequest
from search_plugin.understanding.meaning import Meaning, Preference

FROM_2020 = Preference("year", Compare("year", "=", 2020), "from 2020")
IN_CELL = Preference("venue", Compare("venue", "=", "Cell"), "in Cell")
BY_TOTH = Preference("author", Compare("authors", "=", "Toth"), "by Toth")
TITLE = "Masks in old trams"


class Held:
    """Gives the same legs to every search, and papers of one title; it notes what is asked."""

    def __init__(self, legs=None, titles=()):
        self.legs, self.titles = legs or {}, dict(titles)
        self.searched, self.read = [], []

    def search(self, plan):
        self.searched.append(plan.filter)
        return self.legs

    def fetch(self, ids, counting=None):
        assert counting is None
        self.read.append(list(ids))
        return {id_: Paper(id_, self.titles.get(id_, "Another")) for id_ in ids}, None


def state(index, legs, meaning, query="masks", ids=(), column="", **options):
    ranking = [Fused(id_, 1.0, {}) for id_ in ids]
    plan = Plan(query, (), None, 100, column=column)
    found = {leg: [Scored(*hit) for hit in hits] for leg, hits in legs.items()}
    return SearchState(index, SearchRequest(query, **options), plan, found, ranking=ranking, meaning=meaning)


def ids(after):
    assert after.shown == after.ranking
    return [hit.id for hit in after.ranking]


@pytest.mark.parametrize(
    ("preferred", "others", "first"),
    [
        ([("half", 4.0), ("less", 3.9)], [("top", 8.0)], ["half"]),
        ([("best", 8.0), ("half", 4.0), ("less", 3.9)], [("top", 6.0)], ["best", "half"]),
        ([("best", 8.0), ("half", 4.0), ("less", 3.9)], [], ["best", "half"]),
        ([("less", 3.9)], [("top", 8.0), ("second", 1.0)], []),
    ],
)
def test_a_preferred_paper_needs_half_the_score_of_the_best_of_all(preferred, others, first):
    index = Held({"lexical": [Scored(*hit) for hit in preferred]})
    every = [id_ for id_, _ in sorted({**dict(preferred), **dict(others)}.items(), key=lambda one: -one[1])]
    after = put_named_first(state(index, {"lexical": others}, Meaning("masks", preferences=(FROM_2020,)), ids=every))
    assert ids(after) == [*first, *(id_ for id_ in every if id_ not in first)]
    said = "Papers from 2020 come first." if first else "No paper from 2020 matches the other words well."
    assert after.notes == (said,)
    assert after.meaning.known_by == {}


def test_one_leg_in_which_a_paper_is_near_is_enough():
    index = Held({"lexical": [Scored("a", 1.0)], "prx": [Scored("b", 0.9), Scored("a", 0.3)]})
    legs = {"lexical": [("top", 2.0)], "prx": [("top", 1.0)]}
    after = put_named_first(state(index, legs, Meaning("masks", preferences=(FROM_2020,)), ids=["top", "a", "b", "c"]))
    assert set(ids(after)[:2]) == {"a", "b"}
    assert ids(after)[2:] == ["top", "c"]


def test_papers_are_asked_for_with_all_that_is_named_and_with_the_first_alone():
    index = Held({"lexical": [Scored("a", 1.0)]})
    after = put_named_first(state(index, {}, Meaning("masks", preferences=(IN_CELL, FROM_2020)), ids=["b", "a"]))
    both, alone = index.searched
    assert both.parts == (IN_CELL.filter, FROM_2020.filter)
    assert alone == IN_CELL.filter
    assert (ids(after), after.notes) == (["a", "b"], ("Papers in Cell from 2020 come first.",))
    once = Held({"lexical": [Scored("a", 1.0)]})
    put_named_first(state(once, {}, Meaning("masks", preferences=(IN_CELL,)), ids=["b", "a"]))
    assert once.searched == [IN_CELL.filter]


def test_papers_of_an_author_come_first_whatever_they_are_about():
    index = Held({"lexical": [Scored("far", 0.1)]})
    after = put_named_first(
        state(index, {"lexical": [("top", 8.0)]}, Meaning("masks", preferences=(BY_TOTH,)), ids=["top", "far"])
    )
    assert ids(after) == ["far", "top"]
    assert after.meaning.known_by == {"far": "author"}


def test_preferred_papers_bring_the_values_to_collapse_by():
    legs = {"lexical": [("top", 8.0, "Nature")]}
    for column, values in (("venue", {"a": "Cell", "b": "Lancet"}), ("", {"b": "Lancet"})):
        index = Held({"lexical": [Scored("a", 8.0, "Cell")]})
        before = state(index, legs, Meaning("masks", preferences=(FROM_2020,)), ids=["top"], column=column)
        after = put_named_first(replace(before, values={"b": "Lancet"}))
        assert after.values == values


@pytest.mark.parametrize(
    ("place", "leg_place", "known"), [(9, None, True), (10, None, False), (10, 2, True), (10, 3, False)]
)
def test_titles_of_the_first_ten_and_of_the_first_three_of_each_leg_are_compared(place, leg_place, known):
    ranked = [f"r{at}" for at in range(12)]
    ranked[place] = "titled"
    leg = [f"l{at}" for at in range(5)]
    if leg_place is not None:
        leg[leg_place] = "titled"
    index = Held(titles={"titled": f"{TITLE}."})
    legs = {"lexical": [("r0", 9.0)], "prx": [(id_, 1.0 - at / 10) for at, id_ in enumerate(leg)]}
    after = put_named_first(state(index, legs, Meaning(TITLE), TITLE, ids=ranked))
    assert after.meaning.known_by == ({"titled": "title"} if known else {})
    assert (after.ranking[0].id == "titled") == known
    assert index.read == [list(dict.fromkeys([*ranked[:10], "r0", *leg[:3]]))]


def test_papers_that_were_read_are_not_read_again_to_compare_titles():
    index = Held(titles={"a": TITLE})
    before = state(index, {}, Meaning(TITLE), TITLE, ids=["b", "a"])
    held = {"a": Paper("a", TITLE), "b": Paper("b", "Another")}
    after = put_named_first(replace(before, papers=held))
    assert (ids(after), index.read) == (["a", "b"], [])


@pytest.mark.parametrize(("words", "known"), [("Old trams", {}), ("In old trams", {"a": "title"})])
def test_three_words_may_be_a_title(words, known):
    index = Held(titles={"a": words})
    after = put_named_first(state(index, {}, Meaning(words), words, ids=["a"]))
    assert after.meaning.known_by == known
    assert index.read == ([["a"]] if known else [])


def test_a_named_paper_keeps_its_score_and_one_that_no_leg_found_has_none():
    papers = {"named": Paper("named", "A", venue="Cell"), "found": Paper("found", "B", venue="Nature")}
    meaning = Meaning("", papers, dict.fromkeys(papers, "DOI 10.1/x"))
    before = state(Held(), {}, meaning, ids=["other", "found"], column="venue")
    after = put_named_first(before)
    assert [(hit.id, hit.score) for hit in after.ranking] == [("named", 0.0), ("found", 1.0), ("other", 1.0)]
    assert after.values == {"named": "Cell", "found": "Nature"}
    assert after.papers == papers
