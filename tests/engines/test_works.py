"""Versions of one work are one hit, the same on every engine: on a page, on later pages, and in all results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from search_plugin import reading
from search_plugin.contract.engine import Document
from search_plugin.request import SearchRequest, make_request
from search_plugin.search import search, similar
from tests.engines.conftest import NEWEST, SCHEMA, by_http_too, documents, emptied
from tests.engines.test_reading import whole
from tests.engines.test_search import ENCODER

TITLE = "Virus transmission by aerosols in primary schools"
BASE = documents(60)
FIRST = BASE[0]
"""Its vectors are those of all versions."""


def written(id_, **changes):
    paper = replace(
        FIRST.paper, **{"id": id_, "title": TITLE, "authors": ("Ada Byron", "Eric A. Toth"), "year": 2020, **changes}
    )
    return Document(paper, paper.content_hash(), FIRST.vectors)


VERSIONS = [
    written("v1", venue="medRxiv", identifiers=("doi:10.1101/2020.04.01.20049999v1",)),
    written("v2", venue="The Lancet", year=2021, authors=("Byron A", "Toth EA"), retracted=True, identifiers=()),
    written("v3", title="Virustransmission durch Aerosole", identifiers=("doi:10.1101/2020.04.01.20049999v2",)),
    written("v4", title=f"Retraction: {TITLE}", identifiers=("doi:10.1101/2020.04.01.20049999",)),
    written("v5", title=f"{TITLE}. Part II", identifiers=()),
]
REQUEST = SearchRequest("virus transmission", collapse="work", window=100, size=100)


@pytest.fixture(scope="module", params=NEWEST)
def kept(request, tmp_path_factory):
    for engine in emptied(request.param, tmp_path_factory.mktemp("kept")):
        made = engine.build("papers", SCHEMA, "source")
        made.upsert([*BASE[1:], *VERSIONS])
        made.finish()
        engine.publish(made)
        yield engine


@pytest.fixture
def index(kept):
    return kept.open("papers")


@by_http_too
@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_the_best_version_is_shown_and_tells_of_the_others(index, mode):
    apart = search(index, replace(REQUEST, mode=mode, collapse=""), ENCODER)
    page = search(index, replace(REQUEST, mode=mode), ENCODER)
    order = [hit.id for hit in apart]
    joined = [id_ for id_ in order if id_ in ("v1", "v2", "v3")]
    assert len(joined) >= 2
    assert [hit.id for hit in page] == [id_ for id_ in order if id_ not in joined[1:]]
    assert page.candidates == apart.candidates - len(joined[1:])
    shown = {hit.id: hit for hit in page}
    papers = {one.paper.id: one.paper for one in VERSIONS}
    assert [vars_of(version) for version in shown[joined[0]].versions] == [told(papers[id_]) for id_ in joined[1:]]
    assert shown[joined[0]].collapsed == len(joined) - 1
    assert all(hit.versions == () and hit.collapsed == 0 for hit in page if hit.id != joined[0])
    assert all(hit.versions == () for hit in apart)
    if "v4" in order:  # the notice is no version
        assert "v4" in shown


def vars_of(version):
    return (version.id, version.title, version.year, version.venue, version.retracted)


def told(paper):
    return (paper.id, paper.title, paper.year, paper.venue, paper.retracted)


@by_http_too
def test_pages_facets_and_order_are_as_without(index):
    at_once = search(index, REQUEST, ENCODER)
    pages = [search(index, replace(REQUEST, size=10, offset=offset), ENCODER) for offset in range(0, 80, 10)]
    assert [hit for page in pages for hit in page] == list(at_once)
    assert {page.candidates for page in pages} == {at_once.candidates}
    counted = replace(REQUEST, facets=("year", "retracted"))
    assert search(index, counted, ENCODER).facets == search(index, replace(counted, collapse=""), ENCODER).facets
    assert make_request("virus", collapse="none") == make_request("virus")


def test_the_same_paper_is_shown_where_results_are_sorted_or_joined_by_the_engine(index):
    request = make_request("virus transmission", collapse="work", sort="-year", window=100, size=100)
    page = search(index, request, ENCODER)
    years = [hit.paper.year for hit in page if hit.paper.year]
    assert years == sorted(years, reverse=True)
    assert [hit.id for hit in page if hit.versions] == [
        hit.id for hit in search(index, REQUEST, ENCODER) if hit.versions
    ]
    assert any(hit.versions for hit in similar(index, BASE[1].paper.id, replace(REQUEST, mode="vector", exact=True)))
    if index.schema and hasattr(index, "cluster"):
        joined = search(index, replace(REQUEST, join="engine", fusion="rrf"), ENCODER)
        assert sum(len(hit.versions) for hit in joined) == 2


def test_all_results_hold_each_work_once(index):
    request = replace(REQUEST, size=7)
    hits = [hit for page in whole(index, request) for hit in page]
    assert hits == list(search(index, REQUEST, ENCODER))
    assert reading.of_all({"collapse": "work"})["collapse"] == "work"
    few = replace(request, mode="lexical", window=5, size=5)
    assert len([hit for page in whole(index, few) for hit in page]) <= 5  # what comes after a ranking is not compared


@by_http_too
def test_a_listing_shows_every_paper(index):
    page = search(index, SearchRequest("", collapse="work", size=100), ENCODER)
    assert len(page) == page.candidates == len(BASE[1:]) + len(VERSIONS)
    assert not any(hit.versions for hit in page)
