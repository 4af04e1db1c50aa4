"""What each stage does to a search, on the embedded engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from search_plugin.contract.engine import Document
from search_plugin.contract.legs import Contribution, Fused, Scored, parse_sort
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.registry import connect
from search_plugin.filters.parse import parse_filter
from search_plugin.fusion.boosting import Boost
from search_plugin.fusion.search_settings import SearchSettings
from search_plugin.pages.hit import Version
from search_plugin.ranking.stages import RANKING, SETTLING, SHOWING, boost, collapse, render, sort
from search_plugin.ranking.state import SearchState
from search_plugin.request import DEFAULTS, SearchRequest, make_request
from search_plugin.search import search, similar, similar_text
from search_plugin.understanding.meaning import Meaning
from tests.tiny import papers

DIMENSION = 8
SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", DIMENSION, "cosine"),))
QUERY = np.eye(DIMENSION, dtype=np.float32)[0]


class Encoder:
    """Gives every query the same vector."""

    def __init__(self, leg=""):
        assert leg in ("", "prx")

    card = type("Card", (), {"name": "tiny", "fingerprint": "f", "papers_by": ""})

    @staticmethod
    def encode(_texts, _format):
        return QUERY[None]


class Spy:
    """An index that notes the plans that it is asked for."""

    def __init__(self, index):
        self.index, self.plans = index, []

    def __getattr__(self, name):
        return getattr(self.index, name)

    def pinned(self):
        return self

    def search(self, plan):
        self.plans.append(plan)
        return self.index.search(plan)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    draw = np.random.default_rng(1)
    opened = connect(f"embedded:{tmp_path_factory.mktemp('indexes')}").build("papers", SCHEMA, "s")
    written = [
        Document(paper, paper.content_hash(), {"prx": draw.standard_normal(DIMENSION).astype(np.float32)})
        for paper in papers(150)
    ]
    opened.upsert(written)
    opened.finish()
    return opened


def scores_by_hand(index, words, ids):
    """Every leg's scores of some papers, from a search of all."""
    plan = Plan(words, (VectorClause("prx", QUERY),), None, 150, exact=True)
    return {leg: {hit.id: hit.score for hit in found if hit.id in ids} for leg, found in index.search(plan).items()}


def scaled(scores):
    low, high = min(scores.values()), max(scores.values())
    return {id_: (score - low) / (high - low) for id_, score in scores.items()}


def test_fields_of_vectors_share_the_weight_that_words_have_alone(index):
    plan = Plan("virus", tuple(VectorClause(name, QUERY) for name in ("prx", "clf", "rgn")), None, 9)
    legs = {leg: (Scored(leg, 1.0, None),) for leg in ("lexical", "prx", "clf", "rgn")}
    for weights, expected in (
        ({}, {"lexical": 3 / 6, "prx": 1 / 6, "clf": 1 / 6, "rgn": 1 / 6}),
        ({"prx": 2.0, "lexical": 3.0}, {"lexical": 9 / 17, "prx": 6 / 17, "clf": 1 / 17, "rgn": 1 / 17}),
    ):
        fused = SearchState(index, SearchRequest("virus", weights=weights), plan).joined(legs)
        assert {hit.id: hit.score for hit in fused} == pytest.approx(expected)


def test_every_stage_is_timed_in_order(index):
    page = search(index, SearchRequest("virus lung"), Encoder())
    stages = "retrieve expand feedback fuse neighbours rerank literal boost known_item"
    stages += " settle collapse sort continue render sentence weak_matches"
    assert list(page.milliseconds) == ["read", "encode", *stages.split()]
    assert stages.split() == [*RANKING, *SETTLING, *SHOWING]
    assert page.milliseconds["retrieve"] > 0
    assert page.requests == {}  # an embedded engine is asked nothing over a wire
    assert list(similar(index, "p00001").milliseconds) == ["read", *stages.split()]


def test_queries_and_papers_are_encoded_in_formats_of_their_own(index):
    class Both(Encoder):
        card = type("Card", (), {**vars(Encoder.card), "text": staticmethod(lambda *parts: " ".join(parts))})

        @staticmethod
        def encode(_texts, task_format):
            return {Format.QRY: QUERY, Format.PRX: -QUERY}[task_format][None]

    stored = {id_: row @ QUERY / np.linalg.norm(row) for id_, row in index.vectors(list(index.ids()), "prx").items()}
    nearest = sorted(stored, key=lambda id_: -stored[id_])
    request = SearchRequest("virus lung", "vector", size=5)
    assert [hit.id for hit in search(index, request, Both())] == nearest[:5]
    assert [hit.id for hit in similar_text(index, "virus", "lung", request, Both())] == nearest[:-6:-1]


def test_the_words_of_the_first_papers_rank_and_the_vectors_are_not_searched_again(index):
    spy = Spy(index)
    page = search(spy, SearchRequest("virus lung", size=100, expand=True), Encoder())
    first, again, _ = spy.plans  # the last one asks which of those near in meaning hold a word too
    assert (first.legs, first.added, again.legs) == (("lexical", "prx"), (), ("lexical",))
    scores = {hit.id: hit.score for hit in index.search(again)["lexical"]}
    before = {hit.id: hit.score for hit in index.search(first)["lexical"]}
    told = {hit.id: hit.legs["lexical"].raw for hit in page if "lexical" in hit.legs}
    assert told == {id_: scores[id_] for id_ in told}
    assert len(told) > 50
    assert all(told[id_] > before.get(id_, 0) for id_ in told)


def test_complete_gives_every_paper_found_what_every_leg_scores_it(index):
    request = SearchRequest("virus lung", window=9, size=9, neighbours=0)
    plain, complete = (search(index, replace(request, rerank=name, size=9), Encoder()) for name in ("", "complete"))
    assert (plain.rerank, complete.rerank) == ("", "complete")
    assert complete.candidates == plain.candidates > 9
    assert complete.candidates == complete.matches + complete.near
    legs = index.search(Plan("virus lung", (VectorClause("prx", QUERY),), None, 9))
    ids = {hit.id for found in legs.values() for hit in found}
    by_hand = {leg: scaled(scores) for leg, scores in scores_by_hand(index, "virus lung", ids).items()}
    assert len(by_hand["prx"]) == len(ids)
    expected = {id_: (by_hand["lexical"].get(id_, 0) + by_hand["prx"][id_]) / 2 for id_ in ids}
    order = sorted(ids, key=lambda id_: (-expected[id_], id_))
    assert [hit.paper.id for hit in complete.hits] == order[:9]
    assert [hit.score for hit in complete.hits] == pytest.approx([expected[id_] for id_ in order[:9]], abs=1e-6)
    assert all("prx" in hit.legs for hit in complete.hits)
    assert not all("prx" in hit.legs for hit in plain.hits)
    near = search(index, replace(request, rerank="complete", neighbours=0.3), Encoder())
    assert all({"neighbours", "prx"} <= hit.legs.keys() for hit in near.hits)


def test_complete_compares_with_every_vector_and_one_leg_has_no_neighbours(index):
    spy = Spy(index)
    request = SearchRequest("virus lung", "vector", window=9, size=9, rerank="complete", neighbours=0.3)
    page = search(spy, request, Encoder())
    first, again = spy.plans
    assert (first.exact, again.exact, first.window, again.window) == (False, True, 9, 9)
    assert set(again.filter.values) == {hit.id for hit in page}
    assert {leg for hit in page for leg in hit.legs} == {"prx"}


class Values:
    """An index of one field's values."""

    schema = SCHEMA

    def __init__(self, field, values):
        self.field, self.held = field, values

    def values(self, ids, fields):
        assert fields == [self.field]
        return {id_: {self.field: self.held[id_]} if self.held[id_] is not None else {} for id_ in ids}


def test_papers_of_a_higher_forecast_rank_a_little_higher_and_the_page_says_so():
    index = Values("impact", {"a": 0, "b": 100, "c": None, "d": 100})
    ranking = [Fused(id_, 1.0, {}) for id_ in "abcd"]
    request = SearchRequest("virus", boost=Boost("impact", 0.8))
    before = SearchState(index, request, Plan("virus", (), None, 9), ranking=ranking, notes=("Said before.",))
    after = boost(before)
    # Ranks 1 to 4 by factors of 1.4, .6, 1 and .6.
    assert "".join(hit.id for hit in after.ranking) == "badc"
    assert after.shown == after.ranking
    assert after.notes == (
        "Said before.",
        "Papers with a higher forecast (impact) are up to 40% of their rank further up; "
        "a forecast repeats past citations and says nothing of quality.",
    )
    for same in (
        replace(before, ranking=()),
        replace(before, plan=Plan("", (), None, 9)),
        replace(before, request=SearchRequest("virus")),
    ):
        assert boost(same) is same


@pytest.mark.parametrize(
    ("legs", "more"),
    [
        ({"lexical": 2, "prx": 1}, ""),
        ({"lexical": 1, "prx": 3}, "; a larger window finds more"),
        ({}, "; a larger window finds more"),  # joined by the engine
    ],
)
def test_the_papers_found_are_sorted_and_the_page_says_if_there_are_more(legs, more):
    index = Values("year", {"a": 2001, "b": None, "c": 1999})
    found = {leg: [Scored(id_, 1.0) for id_ in "abc"[:count]] for leg, count in legs.items()}
    shown = [Fused(id_, 1.0, {}) for id_ in "bac"]
    request = SearchRequest("virus", window=3, size=3, sort=parse_sort("year"))
    before = SearchState(index, request, Plan("virus", (), None, 3), found, shown=shown, notes=("Said before.",))
    after = sort(before)
    assert "".join(hit.id for hit in after.shown) == "cab"
    assert after.notes == ("Said before.", f"Only the 3 papers that the search found are sorted{more}.")
    for same in (
        replace(before, shown=()),
        replace(before, plan=replace(before.plan, order=parse_sort("year"))),
        replace(before, request=SearchRequest("virus")),
    ):
        assert sort(same) is same


def test_complete_keeps_to_the_filter_and_leaves_a_lexical_search_alone(index):
    where = parse_filter("year>=2000")
    request = SearchRequest("virus lung", window=9, size=9, filter=where, rerank="complete")
    page = search(index, request, Encoder())
    assert page.hits
    assert all(hit.paper.year >= 2000 for hit in page.hits)
    lexical = replace(request, mode="lexical")
    assert search(index, lexical).hits == search(index, replace(lexical, rerank="")).hits
    nothing = replace(request, filter=parse_filter("year>3000"))
    assert search(index, nothing, Encoder()).hits == ()


def test_rerankers_that_cannot_be_had_are_refused_before_the_index_is_asked():
    class Unasked:
        name = "x"
        pinned = classmethod(lambda cls: cls)

    with pytest.raises(InputError, match="no reranker 'magic'; choose one of complete"):
        search(Unasked, SearchRequest("virus", mode="lexical", rerank="magic"))
    with pytest.raises(InputError, match="window of 5,001 is too large to rank again; choose up to 5,000"):
        SearchRequest("virus", window=5_001, rerank="complete")


def test_papers_that_a_stage_has_read_are_not_read_again(index):
    asked = []

    class Fetched:
        schema = SCHEMA

        def fetch(self, ids, counting=None):
            asked.append(list(ids))
            return index.fetch(ids, counting)

    ranking = [Fused(id_, 1.0, {}) for id_ in ("p00001", "p00002", "p00003")]
    read = index.papers(["p00002"])
    state = SearchState(
        Fetched(), SearchRequest("virus", size=3), Plan("virus", (), None, 9), shown=ranking, papers=read
    )
    assert [hit.paper.id for hit in render(state).hits] == ["p00001", "p00002", "p00003"]
    assert asked == [["p00001", "p00003"]]


def test_a_hit_has_all_that_is_known_of_it(index):
    ranking = [Fused(id_, 1.5, {"lexical": {id_: (2, 3.0, 1.5)}}) for id_ in ("p00001", "p00002", "gone", "p00003")]
    versions = {"p00002": (Version("x", "Another"),)}
    meaning = Meaning("virus", known_by={"p00002": "title"})
    request = SearchRequest("virus", size=3, offset=1)
    state = SearchState(index, request, Plan("virus", (), None, 9), shown=ranking, before=20, versions=versions)
    after = render(replace(state, hidden={"p00002": 1}, meaning=meaning))
    first, second = after.hits
    assert [(hit.rank, hit.paper.id, hit.score) for hit in after.hits] == [(22, "p00002", 1.5), (24, "p00003", 1.5)]
    assert (first.collapsed, first.versions, first.known_by) == (1, versions["p00002"], "title")
    assert (second.collapsed, second.versions, second.known_by) == (0, (), "")
    assert first.legs == {"lexical": Contribution(2, 3.0, 1.5)}
    assert set(after.papers) == {"p00002", "p00003"}
    assert set(after.held) == {"p00002", "p00003"}
    assert (after.facets, after.matches) == (None, None)


@pytest.mark.parametrize(
    ("field", "values", "shown", "hidden"),
    [
        ("venue", {"a": "Cell", "b": "Cell", "c": None, "d": "", "e": "Cell"}, "acd", {"a": 2}),
        ("year", {"a": 2000, "b": None, "c": 2000, "d": 2001}, "abde", {"a": 1}),
        ("retracted", {"a": None, "b": True, "c": None, "d": True, "e": None}, "ab", {"a": 2, "b": 1}),
        ("", {"a": "Cell", "b": "Cell"}, "abcde", {}),
    ],
)
def test_of_papers_that_share_a_value_the_first_is_shown(field, values, shown, hidden):
    ranking = [Fused(id_, 1.0, {}) for id_ in "abcde"]
    plan = Plan("virus", (), None, 9, column=field)
    index = type("Index", (), {"schema": SCHEMA})
    state = SearchState(
        index, SearchRequest("virus", collapse=field), plan, values=values, ranking=ranking, shown=ranking
    )
    after = collapse(state)
    assert "".join(hit.id for hit in after.shown) == shown
    assert after.hidden == hidden
    assert after.ranking == ranking  # which facets count


def test_the_legs_bring_the_values_of_the_field_to_collapse_by(index):
    page = search(index, SearchRequest("virus lung", collapse="journal", size=50), Encoder())
    venues = [hit.paper.venue for hit in page.hits if hit.paper.venue]
    assert len(venues) == len(set(venues)) > 1
    assert sum(hit.collapsed for hit in page.hits) > 0
    flagged = search(index, SearchRequest("virus lung", collapse="retracted", size=50), Encoder())
    assert len(flagged.hits) == 1


def test_a_request_is_made_of_what_users_write():
    made = make_request(
        " masks ",
        mode="hybrid",
        weights=["lexical=0.7", "prx = 2"],
        filter=["year>=2000", "not journal=Nature"],
        facets="journal",
        size=5,
        collapse="",
        fusion=None,
    )
    assert (made.query, made.size, made.facets, made.collapse) == ("masks", 5, ("journal",), "")
    assert made.weights == {"lexical": 0.7, "prx": 2.0}
    assert made.filter == parse_filter("year>=2000 and not journal=Nature")
    assert make_request("masks", filter="year>=2000").filter == parse_filter("year>=2000")
    assert make_request("masks") == SearchRequest("masks")
    assert make_request("masks", offset=0, exact=False) == SearchRequest("masks")
    with pytest.raises(InputError, match=r"takes no 'colour'; it takes .*, window"):
        make_request("masks", colour="red")
    with pytest.raises(InputError, match="can't be joined by 'magic'; choose one of ses, engine"):
        make_request("masks", join="magic")
    with pytest.raises(InputError, match="LEG=NUMBER"):
        make_request("masks", weights=["lexical"])


def test_what_is_given_counts_before_what_was_fitted_and_that_before_the_defaults():
    tuned = SearchSettings(fusion="rrf", rank_constant=20, weights={"prx": 3.0}, title_boost=0.7)
    made = make_request("masks", tuned=tuned)
    assert (made.fusion, made.weights, made.title_boost) == ("rrf@20", {"prx": 3.0}, 0.7)
    given = make_request("masks", tuned=tuned, fusion="zscore", weights={"lexical": 2.0}, title_boost=0.0)
    assert (given.fusion, given.weights, given.title_boost) == ("zscore", {"lexical": 2.0}, 0.0)
    assert make_request("masks", tuned=tuned, mode="lexical").weights == {}
    assert DEFAULTS["window"] == SearchRequest("masks").window
