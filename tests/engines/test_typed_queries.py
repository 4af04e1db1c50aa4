"""Typed queries on every engine: what a query demands holds in both legs, and means the same everywhere."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.filters.matching import matches
from search_plugin.filters.parse import parse_filter
from search_plugin.filters.resolve import resolve
from search_plugin.request import make_request
from search_plugin.search import search
from tests.engines.conftest import NEWEST, by_http_too, emptied
from tests.search_plugin.filters.filtered import SPEAKING, expected
from tests.search_plugin.filters.test_filters import FIELDS, saying

SCHEMA = IndexSchema("tiny", "0123", (paper_vector("prx", 2, "cosine"),)).with_fields(
    field for field in FIELDS if field.origin != "paper"
)
CARD = SimpleNamespace(name=SCHEMA.model, fingerprint=SCHEMA.fingerprint, papers_by="")
NORTH = np.array([0, 1], np.float32)

PAPERS = (
    Paper("mouse", "A tumor in mice", "Seen in stem cells.", authors=("Kim Mi-Na",), year=2019),
    Paper(
        "rat",
        "The tumour of a rat",
        "A tumor in rats, and embryonic stem cells.",
        authors=("Toth, Eric A.",),
        year=2020,
    ),
    Paper("fish", "Embryonic cells", "A stem of a fish cell; no embryonic stem.", year=2021, venue="Nature"),
    Paper("plant", "Stem rot", "In non-smokers: TNF-alpha.", year=2021, venue="Science"),
    Paper("star", "Stem cells in the stars", "", authors=("Kim Mi-Na", "Toth, Eric A.")),
)
IDS = {paper.id for paper in PAPERS}


class Encoder:
    """Notes what it is asked for, and puts every query in the same place."""

    card = CARD

    def __init__(self):
        self.asked = []

    def encode(self, texts, task_format):
        self.asked += texts
        return np.stack([NORTH] * len(texts))


@pytest.fixture(scope="module", params=NEWEST)
def engine(request, tmp_path_factory):
    yield from emptied(request.param, tmp_path_factory.mktemp("typed"))


def filled(engine, name, papers):
    index = engine.build(name, SCHEMA, "source")
    turns = np.linspace(0, 1, len(papers))
    vectors = np.stack([np.sin(turns), np.cos(turns)], axis=1).astype(np.float32)
    assert index.upsert([Document(p, "h", {"prx": v}) for p, v in zip(papers, vectors, strict=True)]) == []
    index.finish()
    engine.publish(index)
    return engine.open(name)


@pytest.fixture(scope="module")
def index(engine):
    return filled(engine, "typed", PAPERS)


@pytest.fixture(scope="module")
def speaking(engine):
    return filled(engine, "speaking", SPEAKING)


@by_http_too
@pytest.mark.parametrize(
    ("text", "passing"),
    [
        ("stem cells -embryonic", {"mouse", "plant", "star"}),
        ("stem cells NOT embryonic", {"mouse", "plant", "star"}),
        ('"embryonic stem cells"', {"rat"}),
        ('"stem cell" \u201cin the stars\u201d', {"star"}),
        ('stem -"stem cells"', {"fish", "plant"}),
        ("tumor AND (mice OR rats)", {"mouse", "rat"}),
        ("tumor AND NOT (mice OR rats)", set()),
        ("mice OR fish", {"mouse", "fish"}),
        ("title:tumor", {"mouse"}),
        ('title:"stem cells"', {"star"}),
        ("-title:stem cells", {"mouse", "rat", "fish"}),
        ('cells author:"Kim Mi-Na"', {"mouse", "star"}),
        ("cells year:2020..2021", {"rat", "fish", "plant"}),
        ("cells year:2021.. -venue:Science", {"fish"}),
        ('"TNF alpha" cells', {"plant"}),
        ("cells -TNF-alpha", IDS - {"plant"}),
        ("cells -non-smokers", IDS - {"plant"}),
    ],
)
@pytest.mark.parametrize("exact", [False, True])
def test_no_leg_shows_what_the_query_rules_out(index, text, passing, exact):
    request = make_request(text, fields=SCHEMA.fields, exact=exact, facets=("id",), size=50, window=50)
    encoder = Encoder()
    page = search(index, request, encoder)
    assert encoder.asked == [request.searched]
    assert {hit.id for hit in page} == passing
    assert page.found["prx"] == len(passing)
    assert page.query == text
    assert page.facets.matches == len(passing)
    assert all(matches(request.filter, hit.paper, SCHEMA.fields) for hit in page)
    assert set(index.ids(resolve(request.filter, index).filter)) == passing
    lexical = search(index, make_request(text, fields=SCHEMA.fields, mode="lexical", size=50, window=50))
    assert {hit.id for hit in lexical} <= passing


@by_http_too
def test_words_of_phrases_are_marked_and_those_left_out_are_not(index):
    page = search(index, make_request('"stem cells" stars -title:embryonic'), Encoder())
    (star,) = (hit for hit in page if hit.id == "star")
    assert [star.title[start:end] for start, end in star.snippets[0].spans] == ["Stem", "cells", "stars"]
    marked = {snippet.text[start:end] for hit in page for snippet in hit.snippets for start, end in snippet.spans}
    assert marked == {"Stem", "stem", "cells", "stars"}


@by_http_too
def test_a_filter_of_the_user_holds_too_and_notes_reach_the_page(index):
    page = search(index, make_request("cells -embryonic OR", filter="year=2019"), Encoder())
    assert [hit.id for hit in page] == ["mouse"]
    assert page.notes == ("OR lacks words that it applies to, so it was taken as a word.",)


@by_http_too
def test_a_literal_query_demands_nothing(index):
    page = search(index, make_request("stem cells -embryonic", literal=True), Encoder())
    assert {hit.id for hit in page} == IDS
    assert page.notes == ()


@by_http_too
def test_queries_without_signs_search_as_before(index):
    plain, typed = (make_request("stem cells of embryonic mice", literal=literal) for literal in (True, False))
    assert plain == typed
    assert search(index, typed, Encoder()).hits == search(index, plain, Encoder()).hits


def test_filters_of_words_mean_the_same_in_every_leg(speaking):
    vector = VectorClause("prx", NORTH)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(where=saying)
    def finds(where):
        passing = expected(where, SPEAKING)
        legs = speaking.search(Plan("virus", (vector,), where, len(SPEAKING), exact=True))
        assert {leg: {hit.id for hit in hits} for leg, hits in legs.items()} == {"lexical": passing, "prx": passing}

    finds()


def test_words_of_no_term_are_said_by_no_paper(index):
    for text in ("text says the", "title says '!'"):
        assert list(index.ids(parse_filter(text))) == []
        assert set(index.ids(parse_filter(f"not {text}"))) == IDS
