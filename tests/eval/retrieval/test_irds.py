"""ir_datasets by a stand-in with its interface, since the library is optional and its data are downloads."""

from __future__ import annotations

import sys
from collections import namedtuple
from types import SimpleNamespace

import pytest

from corpora.errors import InputError, UnavailableError
from corpora.registry import get_corpus
from eval.retrieval.irds import irds_folder

Document = namedtuple("Document", "doc_id title text")
Judgment = namedtuple("Judgment", "query_id doc_id relevance iteration")


@pytest.fixture
def library(monkeypatch):
    loaded = []

    def load(name):
        loaded.append(name)
        if name != "beir/x/test":
            raise KeyError(name)
        query = SimpleNamespace(query_id="q1", default_text=lambda: "virus")
        return SimpleNamespace(
            has_docs=lambda: True,
            has_queries=lambda: True,
            has_qrels=lambda: True,
            docs_iter=lambda: iter([Document("d1", "Lung", "A lung."), Document("d2", "", "A cell. And more.")]),
            queries_iter=lambda: iter([query]),
            qrels_iter=lambda: iter([Judgment("q1", "d1", 2, "4.5")]),
        )

    monkeypatch.setitem(sys.modules, "ir_datasets", SimpleNamespace(load=load))
    return loaded


def test_a_data_set_becomes_a_beir_folder_once(library, tmp_path):
    for _ in range(2):
        folder = irds_folder("beir/x/test", tmp_path / "irds")
    assert library == ["beir/x/test"]
    judged = folder.judged("judged")
    assert (judged.texts, judged.qrels.gains) == ({"q1": "virus"}, {"q1": {"d1": 2}})
    assert judged.qrels.iterations == {"q1": {"d1": "4.5"}}
    assert [record.paper.title for record in get_corpus("beir").read(folder.path, {})] == ["Lung", "A cell."]


def test_what_is_missing_is_said(library, tmp_path, monkeypatch):
    for name in ("none/such", "../../etc", "", "A"):
        with pytest.raises(InputError, match="ir_datasets"):
            irds_folder(name, tmp_path)
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(UnavailableError, match="pip install ir_datasets"):
        irds_folder("beir/x/test", tmp_path)
    assert list(tmp_path.iterdir()) == []
