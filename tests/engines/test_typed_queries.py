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


@pytest.mark.slow
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


MEDICAL = (
    Paper("a", "Cancer therapy in mice", "A tumor was treated; vaccination helped.", year=2021),
    Paper("b", "Heart failure and mortality", "Deaths from heart failure, immunity and color.", year=2019),
    Paper("c", "Photodynamic therapy of breast cancer", "Immunotherapies and vaccines.", year=2021),
    Paper("d", "Photodynamic diagnosis", "The behaviour of women; anaemia was treated by the photodynamic therapist."),
    Paper("e", "Randomized trials", "Cancer of men, women and mice, after whose therapy we randomised hospitals."),
    Paper("f", "Therapy of the mind", "Hospitalized patients with arthritis; therapy, not once against any cancer."),
)
PASTED = {
    "cancer[tiab] OR tumor[tiab]": "acef",
    '"heart failure"[tiab] AND (mortality[tiab] OR death*[tiab])': "b",
    "vaccin* AND immun*": "c",
    "colo?r AND heart": "b",
    "ti:cancer AND therapy": "ac",
    "TI=(cancer) AND PY=2021": "ac",
    '"photodynamic therap*"': "cd",
    'title:"photodynamic therap*"': "c",
    'mice OR "photodynamic dia*"': "ade",
    'therapy -"photodynamic therap*"': "abef",
    "title:therap*": "acf",
    "(exp neoplasms/ or cancer$.ti,ab.) AND therapy.mp.": "acef",
    'TITLE-ABS-KEY("breast cancer" AND vaccines)': "c",
    "cancer NEAR/0 therapy": "a",
    "cancer NEAR/2 therapy": "ac",
    "cancer NEAR/4 therapy": "acf",
    "therapy NEAR/7 cancer": "acef",
    "(mice or women) adj2 (men or therapy)": "ae",
    '"heart failure" NEAR/1 mortality': "b",
    "TI=(cancer NEAR/1 therapy)": "a",
    "randomi?ed.tw.": "e",
    "wom?n.tw.": "de",
    "*itis AND patient*": "f",
    "hospitali*.tw.": "f",
    "hospital*.tw.": "ef",
    '"hospitali* patients"': "f",
    "NOT hospitali*": "abcde",
    "therapy AND NOT (hospitali* OR randomiz*)": "ac",
    "can*l AND NOT hospitali*": "",
    "mortal* AND NOT mortali*": "",
    "ra*omized OR va*ne OR im*ies": "ce",
    "an?emi*.tw. and behavio$r.tw.": "d",
    "masks AND zebra*": "",
    "NOT can*er[tiab]": "bd",
}


@pytest.fixture(scope="module")
def medical(engine):
    return filled(engine, "medical", MEDICAL)


@pytest.mark.parametrize("typed", PASTED)
def test_a_pasted_search_finds_the_same_papers_on_every_engine(medical, typed):
    asked = make_request(typed).filter
    assert "".join(sorted(medical.ids(resolve(asked, medical).filter))) == PASTED[typed]
    assert "".join(paper.id for paper in MEDICAL if matches(asked, paper)) == PASTED[typed]
    for mode in ("lexical", "hybrid"):
        page = search(medical, make_request(typed, mode=mode), Encoder())
        assert {hit.paper.id for hit in page.hits} <= set(PASTED[typed])


def test_patterns_rank_by_the_words_that_papers_say(medical):
    page = search(medical, make_request("vaccin* OR deaths", mode="lexical"))
    assert {hit.paper.id for hit in page.hits} == set("abc")
    assert search(medical, make_request("cancer AND zebra*", mode="lexical")).notes == (
        "No paper says a word like zebra*.",
    )
    none = search(medical, make_request('"cancer zebra*"', mode="lexical"))
    assert 'No paper says a phrase like "cancer zebra*".' in none.notes


def test_a_phrase_with_a_pattern_is_looked_up_up_to_a_limit(medical, monkeypatch):
    from search_plugin.filters import patterns

    monkeypatch.setattr(patterns, "MOST_READ", 1)
    monkeypatch.setattr(patterns, "_BLOCK", 1)
    page = search(medical, make_request('"photodynamic the*"', mode="lexical"))
    assert any(
        "stands for more phrases than are looked up: 1 were found in the first 1 papers" in one for one in page.notes
    )


def test_words_with_patterns_are_compared_as_written_up_to_a_limit(engine, monkeypatch):
    from search_plugin.filters import patterns

    papers = [Paper(f"p{at}", f"The {'hospital' if at % 2 else 'hospitalized'} {at}", "") for at in range(8)]
    index = filled(engine, "limited", papers)
    request = make_request("hospitaliz*", mode="lexical")
    assert "".join(sorted(index.ids(resolve(request.filter, index).filter))) == "p0p2p4p6"
    monkeypatch.setattr(patterns, "MOST_READ", 4)
    monkeypatch.setattr(patterns, "_BLOCK", 2)
    resolved = resolve(request.filter, index)
    assert "".join(sorted(index.ids(resolved.filter))) == "p0p2p4p5p6p7"
    (note,) = resolved.notes
    assert note.startswith("Wildcards were compared with the words of the first 4 papers")
    assert note in search(index, request).notes
