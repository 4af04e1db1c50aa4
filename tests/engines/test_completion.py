"""Suggestions while typing, and values of a field that contain a text, on every engine."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import Field, IndexSchema, paper_vector
from search_plugin.filters import containing
from search_plugin.understanding.completion import complete
from ses.indexes.open_index import OpenIndex
from tests.engines.conftest import NEWEST, emptied

WIDTH = 4
SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", WIDTH, "cosine"),)).with_fields([Field("score", "number")])
PAPERS = [
    Paper("1", "Viruses of bats", "", ("T\u00f3th, Erik", "Li, Ming"), 2001, "J Virol", fields=("Virology",)),
    Paper("2", "The spread of a virus", "A lung.", ("Toth, Anna",), 2020, "J Virol", fields=("Virology", "Lung")),
    Paper("3", "Virtual reality", "", ("T\u00f3th, Erik",), 2022, "Nature", fields=("Computing",)),
    Paper("4", "Effectiveness of masks", "", ("O'Brien, Ana",), 2019, "\u00c6sthetik [Virt]"),
    Paper("5", "Studies of a lung", "", ("\u674e\u660e",), 2018, "J Virol", fields=("Lung",)),
    Paper("6", "\u75c5\u6bd2\u611f\u67d3", "", ("\u674e\u660e",), 2017),
    Paper("7", "Studies of a lung", "", (), 2016),
    Paper("8", "The lung", "", (), 2015),
]


@pytest.fixture(scope="module", params=NEWEST)
def index(request, tmp_path_factory):
    for engine in emptied(request.param, tmp_path_factory.mktemp("completion")):
        built = engine.build("papers", SCHEMA, "source")
        vector = np.ones(WIDTH, np.float32) / 2
        assert not built.upsert([Document(paper, paper.content_hash(), {"prx": vector}) for paper in PAPERS])
        built.finish()
        built.update({"1": {"score": 1}, "2": {"score": 12}})
        built.finish()
        engine.publish(built)
        yield engine.open("papers")


@pytest.fixture
def opened(index):
    return OpenIndex(lambda: index, None, None, None)


def _texts(found):
    return [one.text for one in found]


def test_values_are_suggested_the_most_frequent_first(opened):
    found = opened.complete("vir")
    assert [(one.text, one.count) for one in found.venues] == [("J Virol", 3), ("\u00c6sthetik [Virt]", 1)]
    assert [(one.text, one.count) for one in found.subjects] == [("Virology", 2)]
    assert _texts(opened.complete("l", size=1).subjects) == ["Lung"]
    assert found.authors == ()


@pytest.mark.parametrize(
    ("typed", "authors"),
    [
        ("toth", ["T\u00f3th, Erik", "Toth, Anna"]),
        ("T\u00d3T", ["T\u00f3th, Erik", "Toth, Anna"]),
        ("erik to", ["T\u00f3th, Erik"]),
        ("a", ["O'Brien, Ana", "Toth, Anna"]),
        ("o'b", ["O'Brien, Ana"]),
        ("\u660e", ["\u674e\u660e"]),
        ("rik", []),
    ],
)
def test_every_word_begins_a_word_without_case_and_accents(opened, typed, authors):
    assert _texts(opened.complete(typed).authors) == authors


@pytest.mark.parametrize(
    ("typed", "titles"),
    [
        ("vir", ["Virtual reality", "Viruses of bats", "The spread of a virus"]),
        ("virus", ["Viruses of bats", "The spread of a virus"]),
        ("viruse", ["Viruses of bats"]),
        ("spread of a vir", ["The spread of a virus"]),
        ("spread of a", ["The spread of a virus"]),
        ("effectiven", ["Effectiveness of masks"]),
        ("stud", ["Studies of a lung"]),
        ("studies of the lu", []),
        ("the lung", ["The lung"]),
        ("virus bats", ["Viruses of bats"]),
        ("\u75c5\u6bd2", ["\u75c5\u6bd2\u611f\u67d3"]),
        ("v", []),
        ("bats zzz", []),
        ("vir* OR [", []),
        ("spread?* [vir", ["The spread of a virus"]),
    ],
)
def test_titles_hold_words_that_begin_like_all_that_was_typed(opened, typed, titles):
    assert _texts(opened.complete(typed).titles) == titles


@pytest.mark.parametrize("typed", ["", " ", "?!", "x" * 201])
def test_nothing_is_suggested_for_nothing(opened, typed):
    assert set(map(len, opened.complete(typed).to_dict().values())) == {0}


def test_what_is_suggested_as_plain_values(opened):
    assert opened.complete("virtual").to_dict() == {
        "titles": [{"text": "Virtual reality", "id": "3"}],
        "authors": [],
        "subjects": [],
        "venues": [],
    }


@pytest.mark.parametrize("size", [0, 101])
def test_a_size_out_of_bounds_is_refused(opened, size):
    with pytest.raises(InputError, match=f"size can't be {size}; give a whole number from 1 to 100"):
        opened.complete("vir", size=size)


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        ({"field": "authors", "value": "toth"}, [("T\u00f3th, Erik", 2), ("Toth, Anna", 1)]),
        ({"field": "author", "value": "toth", "size": 1}, [("T\u00f3th, Erik", 2)]),
        ({"field": "authors", "value": "toth", "filter": "year<2010"}, [("T\u00f3th, Erik", 1)]),
        ({"field": "venue", "query": "virus", "mode": "lexical", "value": "vir"}, [("J Virol", 2)]),
        ({"field": "venue", "query": "virus", "mode": "lexical"}, [("J Virol", 2)]),
        ({"field": "venue", "value": "zzz"}, []),
        ({"field": "year", "value": "201", "size": 2}, [(2015, 1), (2016, 1)]),
        ({"field": "score", "value": "1"}, [(1, 1), (12, 1)]),
        ({"field": "fields", "value": "?"}, [("Lung", 2), ("Virology", 2), ("Computing", 1)]),
    ],
)
def test_values_of_a_facet_that_contain_a_text(opened, asked, counts):
    facets = opened.facet(**asked)
    assert list(facets.counts[asked["field"]]) == counts
    if not asked.get("query") and not asked.get("filter"):
        assert facets.matches == len(PAPERS)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"field": "zzz"}, "There is no field 'zzz'"),
        ({"field": "title"}, "There is no field 'title'"),
        ({"field": "url"}, "can't be counted"),
        ({"field": "venue", "size": 0}, "size can't be 0; give a whole number from 1 to 1,000"),
        ({"field": "venue", "size": 1001}, "can't be 1,001; give"),
    ],
)
def test_a_facet_that_cannot_be_counted_is_refused(opened, asked, said):
    with pytest.raises(InputError, match=said):
        opened.facet(**asked)


def test_the_most_frequent_values_of_a_large_index_are_suggested(index, monkeypatch):
    monkeypatch.setattr(containing, "MOST_PAPERS", 5)
    monkeypatch.setattr(index, "cached", lambda _, find: find())
    assert _texts(complete(index, "vir", 5).venues) == ["J Virol", "\u00c6sthetik [Virt]"]
    opened = OpenIndex(lambda: index, None, None, None)
    assert list(opened.facet("venue", value="vir", size=1).counts["venue"]) == [("J Virol", 3)]
    monkeypatch.setattr(containing, "MOST_FREQUENT", 1)
    assert _texts(complete(index, "vir", 5).venues) == ["J Virol"]


def test_a_facet_with_too_many_values_is_refused(index, monkeypatch):
    opened = OpenIndex(lambda: index, None, None, None)
    monkeypatch.setattr(containing, "_LEAST", 1)
    monkeypatch.setattr(containing, "MOST_FREQUENT", 1)
    with pytest.raises(InputError, match="give more of the one you mean"):
        opened.facet("year", value="19", size=1)
