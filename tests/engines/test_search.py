"""One search over every engine: what the request asks for holds wherever the papers are."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from corpora.errors import InputError
from search_plugin.contract.tree import And
from search_plugin.filters.matching import matches
from search_plugin.filters.parse import parse_filter
from search_plugin.request import SearchRequest
from search_plugin.search import search, similar
from tests.engines.conftest import CLUSTERS, DIMENSION, ENGINES, SCHEMA, by_http_too, documents, kept_on, opened

WRITTEN = documents(200)
PAPERS = {given.paper.id: given.paper for given in WRITTEN}
MATRIX = np.stack([given.vectors["prx"] for given in WRITTEN])
QUERY = np.random.default_rng(2).standard_normal(DIMENSION).astype(np.float32)
CARD = SimpleNamespace(name=SCHEMA.model, fingerprint=SCHEMA.fingerprint, papers_by="")
ENCODER = SimpleNamespace(card=CARD, encode=lambda texts, task_format: np.stack([QUERY] * len(texts)))


kept = kept_on(ENGINES)
filled = opened


def nearest(query=QUERY, keep=lambda paper: True):
    order = np.argsort(-(MATRIX @ query))
    return [WRITTEN[row].paper.id for row in order if keep(WRITTEN[row].paper)]


def ids(page):
    return [hit.paper.id for hit in page.hits]


@by_http_too
@pytest.mark.parametrize("exact", [False, True])
def test_vector_searches_give_the_nearest_page_by_page(filled, exact):
    pages = [
        search(filled, SearchRequest("virus", mode="vector", exact=exact, size=15, offset=offset, window=60), ENCODER)
        for offset in (0, 15, 45)
    ]
    assert [ids(page) for page in pages] == [nearest()[:15], nearest()[15:30], nearest()[45:60]]
    assert {(page.candidates, page.window, page.joined_by) for page in pages} == {(60, 60, "ses")}
    assert pages[1].hits[0].paper == PAPERS[nearest()[15]]
    cosine = float(MATRIX[int(nearest()[0][1:])] @ QUERY / np.linalg.norm(QUERY))
    assert pages[0].hits[0].legs["prx"].raw == pytest.approx(cosine, abs=1e-5)


@by_http_too
def test_of_papers_that_share_a_venue_the_best_is_shown(filled):
    request = SearchRequest("virus", mode="vector", exact=True, size=60, window=60, collapse="journal")
    page = search(filled, request, ENCODER)
    shown, hidden = [], {}
    for id_ in nearest()[:60]:
        venue = PAPERS[id_].venue
        best = next((other for other in shown if venue and PAPERS[other].venue == venue), None)
        if best is None:
            shown.append(id_)
        else:
            hidden[best] = hidden.get(best, 0) + 1
    assert ids(page) == shown
    assert {hit.paper.id: hit.collapsed for hit in page.hits if hit.collapsed} == hidden
    assert hidden
    assert page.candidates == len(shown) < 60


@by_http_too
def test_facets_count_what_is_not_on_the_page(filled):
    page = search(filled, SearchRequest("virus", mode="vector", exact=True, size=3, window=60, facets=("id",)), ENCODER)
    assert page.facets.matches == 60
    assert len(page.hits) == 3


@by_http_too
def test_filters_and_facets_hold_in_a_hybrid_search(filled):
    conditions = ["year>=1992", "year<=2022", "not journal=Nature", "author exists", "field in (Medicine, Biology)"]
    where = And(tuple(map(parse_filter, conditions)))
    request = SearchRequest("virus lung", filter=where, facets=("journal", "year", "author"), size=100, window=100)
    page = search(filled, request, ENCODER)
    passing = {id_ for id_, paper in PAPERS.items() if matches(where, paper)}
    assert 5 < len(passing) < 100
    assert set(ids(page)) == passing
    assert page.facets.matches == len(passing)
    venues = [PAPERS[id_].venue for id_ in passing if PAPERS[id_].venue]
    counts = {venue: venues.count(venue) for venue in venues}
    assert page.facets.counts["journal"] == tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
    for hit in page.hits:
        assert hit.score == pytest.approx(sum(part.value for part in hit.legs.values()))
    having = {id_ for id_ in passing if {"virus", "lung"} & set(f"{PAPERS[id_].title} {PAPERS[id_].abstract}".split())}
    assert {hit.paper.id for hit in page.hits if "lexical" in hit.legs} == having != set()
    assert all(hit.snippets for hit in page.hits if "lexical" in hit.legs)
    assert page.found == {"lexical": len(having), "prx": len(passing)}


@by_http_too
def test_similar_papers_are_the_nearest_others(filled):
    vector = MATRIX[7]
    page = similar(filled, "p00007", SearchRequest("-", mode="vector", exact=True))
    assert ids(page) == [id_ for id_ in nearest(vector) if id_ != "p00007"][:10]
    with pytest.raises(InputError, match="holds no paper 'none'"):
        similar(filled, "none")


@by_http_too
def test_another_model_and_no_hits_behave(filled):
    other = SimpleNamespace(card=SimpleNamespace(name="other", fingerprint="f", papers_by=""), encode=None)
    with pytest.raises(InputError, match=r"was made by the model tiny .* not by other"):
        search(filled, SearchRequest("virus"), other)
    other.card.name = "tiny"
    with pytest.raises(InputError, match=r"by another tiny \(0123456789abcdef\) than the one here \(f\); restore that"):
        search(filled, SearchRequest("virus"), other)
    nothing = search(filled, SearchRequest("the of xyzzy", mode="lexical", facets=("year",), collapse="year"))
    assert (nothing.hits, nothing.facets.matches, nothing.found) == ((), 0, {"lexical": 0})
    none_pass = search(filled, SearchRequest("virus", filter=parse_filter("year>3000"), facets=("year",)), ENCODER)
    assert (none_pass.hits, none_pass.facets.matches) == ((), 0)


@pytest.mark.parametrize("kept", CLUSTERS, indirect=True)
def test_a_page_takes_three_requests_once_its_words_are_known(filled):
    counts, legs = "_msearch for papers with each word", "_msearch for the legs lexical, prx"
    # More papers match than the window holds: which of those near in meaning hold a word?
    near, shown = "_msearch for the legs lexical", "_msearch for papers and facets"

    def asked(typed, neighbours=0.0):
        page = search(filled, SearchRequest(typed, facets=("journal",), neighbours=neighbours), ENCODER)
        return [line.rpartition("/")[2] for lines in page.requests.values() for line in lines]

    # Three words may be a title, so the first papers are read before.
    # An index that was just opened counts its papers, to know which words are rare.
    assert asked("virus protein lung") == [counts, "_count", legs, "_msearch for papers", near, "_msearch for facets"]
    assert asked("lung virus") == [legs, near, shown]
    assert asked("lung virus", 0.3) == [legs, "_search for vectors of papers", near, shown]
    assert asked("virus gene") == [counts, legs, near, shown]
    # A word that no paper holds may be held by a new one.
    assert asked("lung xyzzy").count(counts) == asked("lung xyzzy").count(counts) > 0
