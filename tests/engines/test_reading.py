"""All results of a search are read page by page, on every engine: each once, the ranked ones first."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from corpora.errors import InputError
from search_plugin import reading
from search_plugin.contract.trace import Clock
from search_plugin.request import SearchRequest, make_request
from search_plugin.search import prepare_search, search
from tests.engines.conftest import SCHEMA, documents, filled_in, opened
from tests.engines.test_search import ENCODER

filled = opened


def whole(index, request, meanwhile=lambda number: None):
    """All pages, each read by what the page before left as plain values."""
    clock = Clock()
    order = reading.order_of(prepare_search(index, request, ENCODER, clock), clock)
    place, pages = reading.START, []
    while place is not None:
        meanwhile(len(pages))
        order = order and reading.FixedRanking(**json.loads(json.dumps(asdict(order))))
        state = prepare_search(index, request, None, clock, ranked=True)
        page, place = reading.read(state, order, place, clock)
        pages.append(page)
        assert len(pages) < 200
    return pages


def ids(pages):
    return [hit.id for page in pages for hit in page]


@pytest.mark.parametrize("mode", ["lexical", "hybrid", "vector"])
def test_the_ranked_ones_are_those_of_a_page(filled, mode):
    request = SearchRequest("virus lung cells", mode=mode, window=200, size=31)
    pages = whole(filled, request)
    at_once = search(filled, replace(request, size=200), ENCODER)
    hits = [hit for page in pages for hit in page]
    assert hits == list(at_once)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert {page.candidates for page in pages} == {at_once.candidates}
    assert all((page.notes, page.found, page.mode) == (at_once.notes, at_once.found, mode) for page in pages)


@pytest.mark.slow
def test_after_a_ranking_come_all_others_with_a_word(filled):
    request = SearchRequest("virus lung", mode="lexical", window=20, size=16)
    pages = whole(filled, request)
    matching = search(filled, replace(request, window=200, size=200))
    found = ids(pages)
    assert found[:20] == ids([search(filled, replace(request, size=20))])
    assert found[20:] == sorted({hit.id for hit in matching} - set(found[:20]))
    assert len(found) > 40
    assert pages[-1].notes == ("The first 20 papers are ranked; the others hold a word of the query, ordered by id.",)
    assert not pages[0].notes
    assert all(hit.snippets for page in pages for hit in page)


def test_the_others_pass_the_filter_too(filled):
    request = make_request("virus lung", mode="lexical", window=8, size=8, filter="year>=2005", fields=SCHEMA.fields)
    papers = [hit.paper for page in whole(filled, request) for hit in page]
    assert len(papers) > 10
    assert min(paper.year for paper in papers) >= 2005


@pytest.mark.slow
def test_changes_while_a_ranking_is_read(engine):
    filled = filled_in(engine)
    request = SearchRequest("virus lung", mode="lexical", window=20, size=12)
    before = ids(whole(filled, request))
    gone = {before[1], before[14], before[19], before[22], before[40]}
    new = [replace(one, paper=replace(one.paper, id=f"z{one.paper.id}")) for one in documents(20)]

    def change(number):
        if number != 1:
            return
        with engine.lock("papers"):
            index = engine.open("papers")
            index.delete(sorted(gone))
            index.upsert(new)
            index.finish()

    after = ids(whole(engine.open("papers"), request, change))
    assert len(set(after)) == len(after)
    # The first page was read before.
    assert [id_ for id_ in after if not id_.startswith("z")] == [i for i in before if i not in gone or i == before[1]]
    assert any(id_.startswith("z") for id_ in after)


def test_a_listing_is_read_in_its_order(filled):
    request = SearchRequest("", size=45)
    pages = whole(filled, request)
    assert ids(pages) == ids([search(filled, replace(request, size=200))])
    assert {page.candidates for page in pages} == {200}
    assert [hit.rank for page in pages for hit in page] == list(range(1, 201))


def test_what_can_not_be_read():
    with pytest.raises(InputError, match="read from the first one; leave offset out"):
        reading.of_all({"offset": 3})
    with pytest.raises(InputError, match="0 hits at a time"):
        reading.of_all({"size": 0})
    assert reading.of_all({}) == {"window": 10_000}
    assert reading.of_all({"rerank": "complete", "size": 3}) == {"window": 5_000, "rerank": "complete", "size": 3}
    assert reading.of_all({"window": 30}) == {"window": 30}
