"""Data sets in BEIR's form, and those of ir_datasets."""

from __future__ import annotations

import gzip
import json
import sys
from collections import namedtuple
from types import SimpleNamespace

import pytest

from corpora.errors import InputError, UnavailableError
from corpora.registry import get_corpus
from eval.retrieval.beir import BeirFolder, irds_folder, read_query
from eval.trec.judgments import Qrels


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "corpus.jsonl").touch()
    queries = [{"_id": "q1", "text": "one", "metadata": {}}, {"_id": "q2", "text": " "}, {"_id": "q9", "text": "nine"}]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td1\t1\nq3\td1\t2\n")
    (tmp_path / "qrels/dev.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td1\t1\n")
    return tmp_path


def test_queries_of_a_split(folder):
    data = BeirFolder(folder)
    assert data.queries() == {"q1": "one", "q2": " ", "q9": "nine"}
    assert data.splits == ("dev", "test")
    assert data.corpus == folder / "corpus.jsonl"
    judged = data.judged()
    assert judged.texts == {"q1": "one"}
    assert judged.qrels == data.qrels("test") == Qrels({"q1": {"d1": 1}, "q2": {"d1": 1}, "q3": {"d1": 2}})
    assert judged.without_text == ("q2", "q3")
    with pytest.raises(InputError, match="No query has both a text and judgments"):
        data.judged("dev")


@pytest.mark.parametrize("split", ["train", "../qrels/test", "*", ""])
def test_missing_split_names_those_there_are(folder, split):
    with pytest.raises(InputError, match=r"has no split .*; it has: dev, test"):
        BeirFolder(folder).qrels(split)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/*.tsv"])
def test_missing_parts_are_named(folder, name):
    for file in folder.glob(name):
        file.unlink()
    with pytest.raises(InputError) as caught:
        BeirFolder(folder)
    assert str(caught.value) == f"{folder} is not a BEIR folder: it lacks {name}."


def test_not_a_folder(tmp_path):
    with pytest.raises(InputError, match="not a folder"):
        BeirFolder(tmp_path / "absent")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"_id": "q1", "text": "again"}', "came before"),
        ('{"_id": "q"', "not JSON"),
        ('{"_id": true, "text": "x"}', 'an "_id" and a string "text"'),
        ('{"_id": "", "text": "x"}', 'an "_id" and a string "text"'),
        ('{"_id": "q"}', 'an "_id" and a string "text"'),
        ("[" * 5000, "not JSON"),
    ],
)
def test_bad_query(folder, line, reason):
    with (folder / "queries.jsonl").open("a") as file:
        file.write(f"\n\n{line}\n")
    with pytest.raises(InputError, match=rf"queries\.jsonl, line 5: .*{reason}"):
        BeirFolder(folder).queries()


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "split", "count"), [("scifact", "test", 300), ("scifact", "train", 809)])
def test_real_folder(data_dir, name, split, count):
    judged = BeirFolder(data_dir / "eval" / name).judged(split)
    assert (len(judged.texts), len(judged.qrels.gains), judged.without_text) == (count, count, ())


def test_every_part_may_be_compressed(folder):
    judged = BeirFolder(folder).judged()
    for file in (folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels/test.tsv"):
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    data = BeirFolder(folder)
    assert (data.splits, data.judged()) == (("dev", "test"), judged)
    assert [file.name for file in data.files("test")] == ["corpus.jsonl.gz", "queries.jsonl.gz", "test.tsv.gz"]


def test_ids_of_queries_may_be_numbers(tmp_path):
    assert read_query(b'{"_id": 7, "text": "x"}', tmp_path, 1, "query") == ("7", "x")


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
