"""What all adapters share; no other library is needed for it."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corpora.errors import InputError, NotFoundError, UnavailableError
from ses.frameworks.source import SearchedIndex, metadata_of, scores_of, text_of
from tests.ses.service.conftest import ODD


def test_a_named_index_is_opened_when_it_is_first_used(named):
    name, engine = named
    source = SearchedIndex(name, engine, {"mode": "lexical", "size": 3})
    assert "opened" not in vars(source)
    assert [hit.id for hit in source.search("masks", {"size": 1})] == ["<b>"]
    assert (
        source.name,
        source.opened.name,
        SearchedIndex("", engine).opened.name,
        SearchedIndex(source.opened).name,
    ) == (name,) * 4
    with pytest.raises(NotFoundError, match="no index 'other'"):
        SearchedIndex("other", engine).search("masks")


def test_options_of_a_search_come_before_those_of_the_source(index):
    source = SearchedIndex(index, options={"mode": "lexical", "size": 2, "filter": "year>=1990"})
    assert source.search("virus").mode == "lexical"
    assert len(source.search("virus")) == 2
    assert source.search("virus", {"mode": "vector", "size": 5}).mode == "vector"
    with pytest.raises(InputError, match="sise"):
        source.search("virus", {"sise": 3})


def test_the_window_grows_with_the_page_if_none_is_given(index):
    assert SearchedIndex(index).search("virus").window == 100
    assert SearchedIndex(index, options={"size": 150, "offset": 100}).search("virus").window == 250
    assert SearchedIndex(index, options={"size": 150}).search("virus", {"window": 400}).window == 400
    with pytest.raises(InputError, match="beyond the search window of 20"):
        SearchedIndex(index, options={"size": 30, "window": 20, "mode": "vector"}).search("virus")


def test_what_can_be_written_down(library):
    assert SearchedIndex("mine", Path("a"), {"size": 3}).to_dict() == {
        "index": "mine",
        "engine": "embedded:a",
        "options": {"size": 3},
    }
    assert SearchedIndex("mine", "http://127.0.0.1:1").to_dict()["engine"] == "http://127.0.0.1:1"
    with pytest.raises(InputError, match="open index can't be saved; make it with the name"):
        SearchedIndex(library["papers"]).to_dict()


def test_what_is_no_index_is_refused(library):
    with pytest.raises(InputError, match="type Library; give the name of an index, or an open one"):
        SearchedIndex(library)
    with pytest.raises(InputError, match="has its engine already; leave"):
        SearchedIndex(library["papers"], "http://127.0.0.1:1")


def test_text_and_metadata_of_a_hit(index):
    hit = index.search("masks virus")[0]
    assert text_of(hit.paper) == f"{ODD.title}\n\n{ODD.abstract}"
    assert text_of(replace(ODD, abstract="")) == ODD.title
    held = metadata_of(hit)
    assert held.pop("score") == hit.score
    assert held.pop("why").startswith("lexical 1, prx ")
    assert held == {
        "id": "<b>",
        "title": ODD.title,
        "authors": ["O'Brien, Ana", "李 明"],
        "year": 2021,
        "venue": "J. of <X>",
        "doi": "10.1000/1",
        "url": "https://doi.org/10.1000/1",
        "retracted": True,
        "rank": 1,
        "shelf": "<i>",
    }
    assert metadata_of(index.search("10.1000/1")[0])["why"] == "DOI 10.1000/1"
    plain = replace(hit, paper=replace(ODD, authors=(), year=None, retracted=False, extra={"id": "no", "a": (1, 2)}))
    assert metadata_of(plain).keys() == held.keys() - {"authors", "year", "retracted", "shelf"} | {"a", "score", "why"}
    assert metadata_of(plain)["id"] == "<b>"
    assert metadata_of(plain)["a"] == [1, 2]


def test_scores_restore_the_order_of_the_hits(index):
    hits = index.search("virus", size=5).hits
    assert scores_of(hits) == [hit.score for hit in hits]
    for others in ([hits[0], hits[0]], index.search("virus", size=5, sort="title").hits):
        scores = np.array(scores_of(others), np.float32)
        assert (np.diff(scores) < 0).all()
        assert scores.tolist() == pytest.approx([max(hit.score for hit in others[n:]) for n in range(len(others))])
    assert scores_of([]) == []


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [
        ("langchain", "langchain_core.documents", "langchain"),
        ("llama_index", "llama_index.core.retrievers", "llama-index"),
        ("haystack", "haystack", "haystack"),
        ("pyterrier", "pyterrier", "pyterrier"),
        ("ir_datasets", "ir_datasets", "ir-datasets"),
        ("beir", "beir.retrieval.search", "beir"),
    ],
)
def test_a_missing_library_is_said_in_one_sentence(module, missing, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, f"ses.frameworks.{module}", raising=False)
    with pytest.raises(UnavailableError, match=rf"which is not installed; run `pip install '.+\[{extra}\]'`"):
        importlib.import_module(f"ses.frameworks.{module}")
