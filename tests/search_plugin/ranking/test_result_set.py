"""What the set of a search is: exact counts by words, papers near in meaning apart, the same on each page and facet."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.legs import Fused, Scored, parse_sort
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.contract.trace import Clock
from search_plugin.engines.registry import connect
from search_plugin.filters.parse import parse_filter
from search_plugin.ranking.result_set import continued, settle
from search_plugin.ranking.state import SearchState
from search_plugin.ranking.weakness import THRESHOLDS
from search_plugin.reading import pages
from search_plugin.request import SearchRequest
from search_plugin.search import prepare_search, search
from search_plugin.understanding.meaning import Meaning

SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", 2, "cosine"),))
WORDS, OTHERS = 35, 20
"""Papers that say the word, and papers that do not; of both, half are reviews."""


class Encoder:
    card = type("Card", (), {"name": "tiny", "fingerprint": "f", "papers_by": ""})

    @staticmethod
    def encode(_texts, _format):
        return np.array([[1, 0]], np.float32)


def unit(cosine):
    return np.array([cosine, (1 - cosine**2) ** 0.5], np.float32)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    opened = connect(f"embedded:{tmp_path_factory.mktemp('indexes')}").build("papers", SCHEMA, "s")
    said = [(f"w{at:02}", f"virus {'lung ' * (at % 7)}", 2000 + at, 0.5 - at / 100) for at in range(WORDS)]
    near = [(f"n{at:02}", "star", 1990, 0.9 - at / 100) for at in range(OTHERS)]
    for id_, title, year, cosine in [*said, *near]:
        paper = Paper(id_, title, year=year, types=("Review",) * (int(id_[1:]) % 2))
        opened.upsert([Document(paper, id_, {"prx": unit(cosine)})])
    opened.finish()
    return opened


ASKED = SearchRequest("virus", window=10, neighbours=0)


def found(index, **changed):
    return search(index, replace(ASKED, **changed), Encoder())


@pytest.mark.slow
def test_papers_that_say_a_word_are_counted_exactly_and_those_near_apart(index):
    page = found(index)
    assert (page.matches, page.near, page.candidates) == (WORDS, 10, WORDS + 10)
    assert {(one.matches, one.near) for one in (found(index, offset=at) for at in (0, 10, 20, 30, 40))} == {(WORDS, 10)}
    by_words = search(index, replace(ASKED, mode="lexical"))
    assert (by_words.matches, by_words.near, by_words.candidates) == (WORDS, 0, WORDS)
    by_meaning = found(index, mode="vector")
    assert (by_meaning.matches, by_meaning.near, by_meaning.candidates) == (None, 10, 10)


@pytest.mark.slow
def test_pages_go_on_behind_the_window_and_no_paper_comes_twice(index):
    ids = [hit.id for at in range(0, 50, 7) for hit in found(index, size=7, offset=at)]
    assert len(ids) == len(set(ids)) == WORDS + 10
    assert sum(id_.startswith("w") for id_ in ids) == WORDS
    assert found(index, offset=45).hits == ()
    ranks = [hit.rank for hit in found(index, offset=38)]
    assert ranks == list(range(39, 46))


def test_a_cursor_reads_the_set_of_the_pages(index):
    request = replace(ASKED, window=10_000, near=10, size=9)
    read = list(pages(prepare_search(index, request, Encoder(), Clock()), Clock()))
    ids = [hit.id for page in read for hit in page]
    on_pages = [hit.id for at in range(0, 50, 10) for hit in found(index, offset=at)]
    assert sorted(ids) == sorted(on_pages)
    assert {(page.matches, page.near) for page in read} == {(WORDS, 10)}


def test_the_number_of_a_facet_is_what_narrowing_by_it_finds(index):
    page = found(index, facets=("types", "year"))
    assert page.facets.matches == WORDS + 10
    for field in ("types", "year"):
        for value, count in page.facets.counts[field]:
            one = found(index, narrow=parse_filter(f"{field}={value}"), facets=("types",))
            assert one.candidates == one.facets.matches == count, (field, value)
            assert one.matches + one.near == count
    # A filter finds more: those near in meaning among the papers that pass it.
    assert found(index, filter=parse_filter("types=Review")).near == 10


def test_narrowing_holds_on_every_page_for_a_cursor_and_without_vectors(index):
    reviews = parse_filter("types=Review")
    ids = [hit.id for at in range(0, 30, 10) for hit in found(index, narrow=reviews, offset=at)]
    assert len(ids) == WORDS // 2 + 5
    assert all(int(id_[1:]) % 2 for id_ in ids)
    request = replace(ASKED, window=10_000, near=10, size=100, narrow=reviews)
    (read,) = pages(prepare_search(index, request, Encoder(), Clock()), Clock())
    assert sorted(hit.id for hit in read) == sorted(ids)
    lexical = search(index, replace(ASKED, mode="lexical", narrow=reviews))
    assert (lexical.matches, lexical.candidates) == (WORDS // 2, WORDS // 2)
    listed = search(index, SearchRequest("", narrow=reviews))
    assert listed.matches == listed.candidates == WORDS // 2 + OTHERS // 2


def test_of_papers_that_are_sorted_those_ranked_can_be_paged_through(index):
    from search_plugin.contract.legs import parse_sort

    page = found(index, sort=parse_sort("-year"))
    assert (page.matches, page.near) == (WORDS, 10)
    assert page.candidates == 20


((FINGERPRINT, THRESHOLD),) = THRESHOLDS.items()
FLOOR = THRESHOLD.least


def settled(legs, ranking, known_by=(), window=9):
    """What is left of a ranking where a model has a floor; papers hold the query's word if their leg is it."""
    schema = replace(SCHEMA, fingerprint=FINGERPRINT)
    found = {leg: [Scored(id_, score) for id_, score in hits.items()] for leg, hits in legs.items()}
    vectors = (VectorClause("prx", unit(1.0)),) if "prx" in legs else ()
    plan = Plan("virus" if "lexical" in legs else "", vectors, None, window)
    ranked = [Fused(id_, 1.0, {}) for id_ in ranking]
    meaning = Meaning("virus", known_by=dict.fromkeys(known_by, "title"))
    request = SearchRequest("virus", window=window, size=1)
    index = SimpleNamespace(schema=schema)
    return settle(SearchState(index, request, plan, found, ranking=ranked, shown=ranked, meaning=meaning))


def ids(hits):
    return [hit.id for hit in hits]


def test_papers_below_the_floor_that_hold_no_word_are_left_out():
    legs = {"lexical": {"said": 2.0}, "prx": {"near": FLOOR, "far": FLOOR - 0.001, "said": 0.1}}
    after = settled(legs, ["near", "far", "said", "unfound"])
    assert ids(after.ranking) == ids(after.shown) == ["near", "said"]
    assert (after.near, after.named, after.by_words) == (("near",), (), 1)
    # One that is named counts as a match.
    other = settled(legs, ["near", "far", "said", "unfound"], known_by=["unfound", "said"])
    assert ids(other.ranking) == ["near", "said", "unfound"]
    assert (other.near, other.named, other.by_words) == (("near",), ("unfound",), 2)
    # A paper that the vectors did not find is no nearer than the last that they found.
    assert settled({**legs, "prx": {"near": 0.9, "last": FLOOR}}, ["near", "unfound"]).near == ("near", "unfound")


@pytest.mark.parametrize("sort", [None, "year"])
def test_papers_below_the_floor_stand_for_no_others_and_behind_none(tmp_path, sort):
    schema = replace(SCHEMA, fingerprint=FINGERPRINT)
    encoder = type("OfTheModel", (Encoder,), {"card": type("Card", (Encoder.card,), {"fingerprint": FINGERPRINT})})()
    opened = connect(f"embedded:{tmp_path}").build("papers", schema, "s")
    # By meaning, a paper that is too far is the first of its venue after the near one is not.
    held = [
        ("near", "star", "A", 0.99),
        ("far", "sun", "B", 0.1),
        ("said", "virus", "A", 0.05),
        ("say", "virus", "B", 0.01),
    ]
    for at, (id_, title, venue, cosine) in enumerate(held):
        paper = Paper(id_, title, venue=venue, year=2000 + at)
        opened.upsert([Document(paper, id_, {"prx": unit(cosine)})])
    opened.finish()
    page = search(opened, replace(ASKED, collapse="venue", sort=sort and parse_sort(sort)), encoder)
    assert (page.matches, page.near) == (2, 1)
    assert sum(1 + hit.collapsed for hit in page) == page.matches + page.near
    assert page.candidates == len(page) == 2
    assert "far" not in ids(page)


def test_if_all_that_is_left_is_far_the_nearest_five_are_shown():
    far = {f"f{at}": 0.2 - at / 100 for at in range(7)}
    after = settled({"lexical": {}, "prx": far}, list(far))
    assert ids(after.ranking) == ids(after.shown) == list(far)[:5]
    assert (after.near, after.by_words) == ((), 0)
    named = settled({"lexical": {}, "prx": far}, list(far), known_by=["f6"])
    assert (ids(named.ranking), named.by_words) == (["f6"], 1)
    nothing = settled({"lexical": {}, "prx": {}}, [])
    assert (nothing.ranking, nothing.by_words) == ([], 0)


def test_a_search_by_meaning_alone_counts_what_is_named_by_itself():
    near = {"a": 0.9, "b": 0.1}
    plain, named = (settled({"prx": near}, list(near), known_by=known_by) for known_by in ((), ("a", "c")))
    assert (plain.near, plain.by_words, ids(plain.ranking)) == (("a", "b"), None, ["a", "b"])
    assert (named.near, named.by_words, ids(named.ranking)) == (("b",), 2, ["a", "b"])


class Asked:
    """An index that lists all papers and ranks them by words, and notes how many it is asked for."""

    schema = SCHEMA

    def __init__(self):
        self.windows = []

    def listed(self, where, order, size):
        self.windows.append(size)
        return SimpleNamespace(ids=[f"p{at}" for at in range(size)])

    def search(self, plan):
        assert (plan.vectors, plan.column) == ((), "")
        self.windows.append(plan.window)
        return {"lexical": [Scored(f"p{at}", 9.0 - at) for at in range(plan.window)]}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("offset", "shown"), [(1, 3), (2, 4)])
def test_papers_after_those_ranked_are_asked_for_where_a_page_needs_them(whole, offset, shown):
    index = Asked()
    ranked = [Fused(id_, 1.0, {}) for id_ in ("p1", "a", "b")]
    plan = Plan("virus", (VectorClause("prx", unit(1.0)),), None, 9, column="venue")
    request = SearchRequest("virus", size=2, offset=offset, whole=whole)
    before = SearchState(index, request, plan, {"lexical": [Scored("p1", 9.0)]}, ranking=ranked, shown=ranked)
    after = continued(before)
    if shown == 3:
        assert (after is before, index.windows) == (True, [])
        return
    assert index.windows == [2 + offset + 3]
    assert ids(after.shown) == ["p1", "a", "b", "p0", "p2", "p3", "p4", "p5", "p6"]
    assert {hit.score for hit in after.shown[3:]} == {0.0}
    first = after.shown[3].contributions
    assert (first == {}) == whole
    if not whole:
        assert (first["lexical"].rank, first["lexical"].raw, first["lexical"].value) == (1, 9.0, 0.0)
    for same in (
        replace(before, plan=replace(plan, order=parse_sort("year"))),
        replace(before, request=replace(request, sort=parse_sort("year"))),
        replace(before, request=replace(request, collapse="journal")),
        *([] if whole else [replace(before, by_words=1), replace(before, legs={"lexical": []})]),
    ):
        assert continued(same) is same
