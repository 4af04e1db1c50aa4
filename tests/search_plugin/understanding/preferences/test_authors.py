"""Queries that name an author."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.registry import connect
from search_plugin.request import make_request
from search_plugin.search import search
from search_plugin.understanding.preferences.authors import FEW, readings
from tests.search_plugin.understanding.test_meaning import Encoder, Refusing
from tests.tiny import papers

SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", 8, "cosine"),))
AUTHORS = ["Eric A Toth", "Toth, E.", "Bela Toth", "Kim, Mi-Na", "Thomas R Fuerst", "Jane Heart", "Young, M. S."]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    draw = np.random.default_rng(1)
    opened = connect(f"embedded:{tmp_path_factory.mktemp('indexes')}").build("papers", SCHEMA, "s")
    given = [replace(paper, authors=(AUTHORS[n],)) if n < len(AUTHORS) else paper for n, paper in enumerate(papers(60))]
    title = "young heart patient"
    common = [replace(paper, id=f"y{n}", title=title, authors=()) for n, paper in enumerate(papers(40))]
    opened.upsert([Document(p, "h", {"prx": draw.standard_normal(8).astype(np.float32)}) for p in [*given, *common]])
    opened.finish()
    return opened


def asked(index, query, encoder=Encoder, **options):
    return search(index, make_request(query, fields=SCHEMA.fields, **options), encoder)


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("Toth EA", {"p00000", "p00001"}),
        ("Toth, Eric A.", {"p00000", "p00001"}),
        ("Eric Toth", {"p00000", "p00001"}),
        ("papers by Toth", {"p00000", "p00001", "p00002"}),
        ("papers by Kim, Mi-Na", {"p00003"}),
        ("Fuerst T", {"p00004"}),
        ("Fürst, Thomas", {"p00004"}),
    ],
)
def test_a_name_alone_finds_the_authors_papers(index, query, ids):
    page = asked(index, query, Refusing)
    assert {hit.id for hit in page} == ids
    years = [hit.paper.year or 0 for hit in page]
    assert years == sorted(years, reverse=True)
    assert page.notes[0].startswith("Papers by ")
    assert page.notes[0].endswith(", the latest first.")
    assert {hit.known_by for hit in page} == {"author"}


def test_the_note_tells_the_forms_of_the_name(index):
    assert asked(index, "Toth EA", Refusing).notes == ("Papers by Eric A Toth, Toth, E., the latest first.",)


@pytest.mark.parametrize(
    ("query", "first", "topic"),
    [
        ("Fuerst brain infection", ["p00004"], "brain infection"),
        ("Kim Mi-Na brain infection", ["p00003"], "brain infection"),
        ("brain infection by Kim, Mi-Na", ["p00003"], "brain infection"),
        ("brain infection Toth EA", ["p00000", "p00001"], "brain infection"),
        ("papers by Kim, Mi-Na about brain infection", ["p00003"], "brain infection"),
    ],
)
def test_with_a_topic_the_authors_papers_come_first(index, query, first, topic):
    page, plain = asked(index, query, size=30), asked(index, topic, size=30)
    assert {hit.id for hit in page.hits[: len(first)]} == set(first)
    rest = [hit.id for hit in plain if hit.id not in first]
    assert [hit.id for hit in page.hits[len(first) :]] == rest[: 30 - len(first)]
    assert page.notes[0].startswith("Papers by ")
    assert page.notes[0].endswith(" come first.")


@pytest.mark.parametrize(
    "query",
    [
        "heart patient",
        "Heart patient",
        "Young MS patient",
        "vitamin D",
        "Breast Cancer",
        "cancer, breast",
        "infection caused by virus",
        "Virus infection of the brain and the heart of adult patients",
        "Heart J",
    ],
)
def test_ordinary_queries_are_left_alone(index, query):
    page = asked(index, query)
    assert page.notes == () or query == "Heart J"
    assert all(hit.known_by != "author" for hit in page) or query == "Heart J"


def test_a_word_of_few_papers_can_be_part_of_a_name_and_one_of_more_is_not(tmp_path):
    few, more = ["anna few"] * FEW, ["bella more"] * (FEW + 1)
    made = [Paper(f"{number}", word) for number, word in enumerate([*few, *more])]
    made += [Paper("f", "x", authors=("Anna Few",)), Paper("m", "x", authors=("Bella More",))]
    index = connect(f"embedded:{tmp_path}").build("papers", SCHEMA, "s")
    index.upsert([Document(paper, "h", {"prx": np.ones(8, np.float32)}) for paper in made])
    index.finish()
    assert [hit.id for hit in asked(index, "Anna Few", Refusing)] == ["f"]
    assert {hit.known_by for hit in asked(index, "Bella More")} != {"author"}


def test_a_single_word_is_searched_and_the_author_is_mentioned(index):
    page = asked(index, "toth")
    assert page.notes == ('No paper says toth, but authors have this name; "by toth" finds their papers.',)
    assert page.found["prx"] > 10
    assert {hit.id for hit in asked(index, "by toth", Refusing)} == {"p00000", "p00001", "p00002"}
    assert asked(index, "heart").notes == asked(index, "zzzzzz").notes == ()


def test_a_name_like_too_many_others_is_searched_as_words(index, monkeypatch):
    monkeypatch.setattr("search_plugin.engines.embedded.legs.MOST_VALUES", 1)
    assert asked(index, "Toth EA").notes == ()


def test_the_last_word_before_et_al_is_the_name(index):
    for query in ("brain infection Toth et al.", "Toth et al brain infection", "Toth, et al. brain infection"):
        page = asked(index, query)
        assert {hit.id for hit in page.hits[:3]} == {"p00000", "p00001", "p00002"}, query
    assert asked(index, "Toth et al").notes[0].startswith("Papers by Bela Toth, ")


def test_the_topic_after_an_unknown_author_is_searched(index):
    page = asked(index, "papers by Zimmer about brain infection", size=30)
    assert page.notes[0].startswith("No paper of the index papers has authors = Zimmer")
    assert [hit.id for hit in page] == [hit.id for hit in asked(index, "brain infection", size=30)]


def test_a_filter_holds_for_an_authors_papers(index):
    year = next(iter(asked(index, "Kim, Mi-Na", Refusing))).paper.year
    assert not asked(index, "Kim, Mi-Na", Refusing, filter=f"not year={year}").hits
    assert len(asked(index, "Kim Mi-Na brain", filter=f"not year={year}").hits) == 10
    assert "p00003" not in {hit.id for hit in asked(index, "Kim Mi-Na brain", filter=f"not year={year}", size=90)}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Toth EA", [("Toth EA", "", "initials")]),
        ("E.A. Toth", [("E.A. Toth", "", "initials")]),
        ("masks by Kim, Mi-Na", [("Kim, Mi-Na", "masks", "none")]),
        ("diseases caused by coronavirus", []),
        ("vasodilation mediated by NO", []),
        ("smith j 2019 diabetes", [("smith j", "2019 diabetes", "none")]),
        ("smith j diabetes", []),
        ("papers by Kim", [("Kim", "", "none")]),
        ("masks Toth EA et al 2020", [("Toth EA", "masks 2020", "none")]),
        ("toth et al.", [("toth", "", "none")]),
        ("et al", [("", "", "none")]),
        ("IL-6", []),
        ("long covid", []),
        ("TNF alpha", []),
        ("hepatitis Fuerst TR", [("Fuerst TR", "hepatitis", "initials")]),
        ("brain infection of patients Toth EA", [("Toth EA", "brain infection of patients", "initials")]),
        ("brain infection of old patients Toth EA", []),
        ("van der Berg J masks", [("van der Berg J", "masks", "initials"), ("van der Berg", "J masks", "words")]),
    ],
)
def test_shapes(query, expected):
    assert [(one.name, one.topic, one.doubt) for one in readings(query)] == expected


def test_a_sorted_page_does_not_say_that_some_papers_come_first(index):
    page = asked(index, "Kim Mi-Na brain infection", sort="-year")
    assert page.notes[0] == "Papers by Kim, Mi-Na do not come first, since the page is sorted."
    years = [hit.paper.year or 0 for hit in page]
    assert years == sorted(years, reverse=True)


@pytest.mark.parametrize(
    ("query", "explicit"),
    [
        ("papers by Kim", True),
        ("PAPERS BY Kim", True),
        ("work written by Kim", True),
        ("by Kim", False),
        ("masks by Kim", False),
        ("papers on masks by Kim", False),
        ("Kim et al", True),
    ],
)
def test_a_query_may_say_that_it_names_an_author(query, explicit):
    assert [one.explicit for one in readings(query)] == [explicit]


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (4, "Lee, A., Lee, B., Lee, C., Lee, D."),
        (5, "Lee, A., Lee, B., Lee, C., Lee, D. and 1 other form of the name"),
        (6, "Lee, A., Lee, B., Lee, C., Lee, D. and 2 other forms of the name"),
    ],
)
def test_four_forms_of_a_name_are_named(tmp_path, count, told):
    index = connect(f"embedded:{tmp_path}").build("papers", SCHEMA, "s")
    made = [Paper(letter, "x", authors=(f"Lee, {letter}.",)) for letter in "ABCDEF"[:count]]
    index.upsert([Document(paper, "h", {"prx": np.ones(8, np.float32)}) for paper in made])
    assert asked(index, "papers by Lee", Refusing).notes == (f"Papers by {told}, the latest first.",)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a" * 40, [("a" * 40, "", "word")]),
        ("a" * 41, []),
        ("abc", [("abc", "", "word")]),
        ("ab", []),
        ("Toth E. A.", [("Toth E. A.", "", "initials"), ("Toth E.", "A.", "initials")]),
        ("Toth MD of masks", [("Toth MD", "of masks", "initials")]),
        ("work by kim min jung ho", [("kim min jung ho", "", "none")]),
        ("work by kim min jung ho lee", []),
        ("Masks BY Kim, Mi-Na", [("Kim, Mi-Na", "Masks", "none")]),
        ("Toth ET AL. masks", [("Toth", "masks", "none")]),
        ("masks of Anna Maria Bella Toth et al", [("Toth", "masks of Anna Maria Bella", "none")]),
        ("masks of Anna Maria Toth et al", [("Anna Maria Toth", "masks of", "none")]),
    ],
)
def test_lengths_of_names(query, expected):
    assert [(one.name, one.topic, one.doubt) for one in readings(query)] == expected
