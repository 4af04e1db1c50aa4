"""Data of tasks: every layout, and what is odd in them."""

from __future__ import annotations

import gzip
import json
import sys

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from eval.scirepeval.data import read_ranking, read_supervised, read_table
from eval.scirepeval.task_file import HubTable
from tests.eval.scirepeval.worlds import a_task, write_jsonl, write_labels, write_papers


def test_labels_of_papers_and_what_is_odd_in_them(tmp_path):
    papers = [
        {"doc_id": "a", "title": "A", "abstract": "text"},
        {"doc_id": 7, "title": "", "abstract": "only this"},
        {"doc_id": "a", "title": "again"},
        {"doc_id": "empty"},
        {"title": "of no id"},
        {"doc_id": "unlabelled", "title": "U"},
    ]
    write_jsonl(tmp_path / "one" / "metadata.jsonl", papers)
    write_labels(tmp_path / "one", [("a", 1), (7, 0), ("a", 1), ("nowhere", 0)], [("a", 1), ("empty", 0)])
    data = read_supervised(a_task(tmp_path), tmp_path, "[SEP]")
    assert [(text.id, text.title, text.abstract) for text in data.texts] == [
        ("a", "A", "text"),
        ("7", "only this", None),
        ("empty", "", None),
    ]
    assert data.train.ids == ("a", "7", "a", "nowhere")
    assert data.train.labels.tolist() == [1, 0, 1, 0]
    assert data.test.ids == ("a", "empty")
    assert data.counts == {
        "papers_repeated": 1,
        "papers_without_text": 1,
        "rows_without_id": 1,
        "papers_unknown": 1,
        "labels_repeated": 1,
        "test_papers_in_train": 1,
    }


def test_more_fields_are_joined_by_the_models_separator(tmp_path):
    row = {"doc_id": "a", "title": "T", "abstract": None, "venue": "V", "year": 2020}
    write_jsonl(tmp_path / "one" / "metadata.jsonl", [row])
    write_labels(tmp_path / "one", [("a", 1)], [("a", 1)])
    task = a_task(tmp_path, fields=["title", "abstract", "venue", "year"])
    (text,) = read_supervised(task, tmp_path, "</s>").texts
    assert (text.title, text.abstract) == ("T", "V </s> 2020")


@pytest.mark.parametrize(
    ("members", "labels", "message"),
    [
        ({}, [("a", "")], "lacks its paper_id or label"),
        ({}, [], "has no train labels"),
        ({"kind": "regression", "metrics": ["mse"]}, [("a", "much")], "is no number"),
        ({"kind": "regression", "metrics": ["mse"]}, [("a", "nan")], "is no number"),
        ({"multi_label": True, "metrics": ["f1_macro"]}, [("a", "2")], "must be lists of 0 and 1"),
        ({"multi_label": True, "metrics": ["f1_macro"]}, [("a", "[0,1]"), ("b", "[1]")], "must be lists of 0 and 1"),
    ],
)
def test_labels_that_cant_be_are_told(tmp_path, members, labels, message):
    write_papers(tmp_path / "one", "ab")
    write_labels(tmp_path / "one", labels, labels)
    with pytest.raises(InputError, match=message):
        read_supervised(a_task(tmp_path, **members), tmp_path, "[SEP]")


def test_labels_are_classes_numbers_or_lists(tmp_path):
    write_papers(tmp_path / "one", "ab")
    for members, cells, kind in (
        ({}, ("x", "1"), "U"),
        ({}, ("-1", "10"), "i"),
        ({"kind": "regression", "metrics": ["mse"]}, ("1e3", "-2"), "f"),
        ({"multi_label": True, "metrics": ["f1_macro"]}, ("[1, 0]", "[0,0]"), "i"),
    ):
        write_labels(tmp_path / "one", [("a", cells[0])], [("b", cells[1])])
        data = read_supervised(a_task(tmp_path, **members), tmp_path, "[SEP]")
        assert data.train.labels.dtype.kind == data.test.labels.dtype.kind == kind
        assert str(data.test.labels.tolist()[0]).replace(" ", "") in (cells[1], f"{cells[1]}.0")


def test_queries_with_their_candidates(tmp_path):
    rows = [
        {
            "doc_id": "q1",
            "query": "words",
            "candidates": [{"doc_id": "a", "title": "A"}, {"doc_id": "b", "title": "B"}],
        },
        {
            "doc_id": "q2",
            "query": "more",
            "candidates": [{"doc_id": "a", "title": "A"}, {"doc_id": "q1", "title": "Q"}],
        },
    ]
    write_jsonl(tmp_path / "one" / "metadata.jsonl", rows)
    judged = [("q1", "a", 2), ("q1", "b", 0.0), ("q1", "a", 0), ("q2", "q1", 1), ("q2", "gone", 1), ("q3", "a", 1)]
    names = ("query_id", "cand_id", "score")
    write_jsonl(tmp_path / "one" / "test_qrel.jsonl", (dict(zip(names, row, strict=True)) for row in judged))
    data = read_ranking(a_task(tmp_path, "adhoc_search", ["ndcg"]), tmp_path, "[SEP]")
    assert [(text.id, text.title) for text in data.queries] == [("q1", "words"), ("q2", "more")]
    assert [text.id for text in data.candidates] == ["a", "b"]
    assert data.judged.gains == {"q1": {"a": 2, "b": 0}, "q2": {"q1": 1, "gone": 1}, "q3": {"a": 1}}
    counted = {name: count for name, count in data.counts.items() if count}
    assert counted == {
        "judgments_repeated": 1,
        "candidates_embedded_as_queries": 1,
        "queries_unknown": 1,
        "candidates_unknown": 1,
    }


def test_a_candidate_is_embedded_as_a_query_where_its_text_differs(tmp_path):
    texts = {"q": "Q", "a": "A", "b": "B"}
    rows = [
        {"doc_id": name, "query": {"doc_id": name, "title": text}, "candidates": [{"doc_id": "a", "title": other}]}
        for name, text, other in (("q", "Q", "A"), ("a", "A", "A"), ("b", "B", "A"))
    ]
    rows[0]["candidates"].append({"doc_id": "b", "title": "another text"})
    write_jsonl(tmp_path / "one" / "metadata.jsonl", rows)
    judged = [{"query_id": "q", "cand_id": name, "score": 1} for name in ("a", "b")]
    write_jsonl(tmp_path / "one" / "test_qrel.jsonl", judged)
    data = read_ranking(a_task(tmp_path, "proximity", ["ndcg"]), tmp_path, "[SEP]")
    # a and b are ranked, so their texts as queries are embedded; no other candidate is left.
    assert {text.id: text.title for text in data.queries} == texts
    assert data.candidates == ()
    assert {name: count for name, count in data.counts.items() if count} == {"candidates_embedded_as_queries": 1}
    for wrong in ("a", [1], None):
        write_jsonl(tmp_path / "one" / "metadata.jsonl", [{"doc_id": "q", "query": "x", "candidates": wrong}])
        with pytest.raises(InputError, match='no list of papers under "candidates"'):
            read_ranking(a_task(tmp_path, "proximity", ["ndcg"]), tmp_path, "[SEP]")


@pytest.mark.parametrize(
    "row",
    [
        {"query_id": "a", "cand_id": "b", "score": 0.5},
        {"query_id": "a", "cand_id": "b", "score": "high"},
        {"query_id": "a", "cand_id": "b", "score": float("nan")},
        {"query_id": "a", "cand_id": "", "score": 1},
        {"query_id": "a", "score": 1},
    ],
)
def test_judgments_that_cant_be_are_told(tmp_path, row):
    write_papers(tmp_path / "one", "ab")
    write_jsonl(tmp_path / "one" / "test_qrel.jsonl", [{"query_id": "a", "cand_id": "b", "score": "1"}, row])
    task = a_task(tmp_path, "proximity", ["ndcg"])
    with pytest.raises(InputError, match="Judgment 2 needs query_id, cand_id and a score that is a whole number"):
        read_ranking(task, tmp_path, "[SEP]")


def test_a_task_whose_rows_are_papers_says_simple_format(tmp_path):
    write_papers(tmp_path / "one", "ab")
    write_jsonl(tmp_path / "one" / "test.jsonl", [{"query_id": "a", "cand_id": "b", "score": 1}])
    with pytest.raises(InputError, match='"simple_format": true'):
        read_ranking(a_task(tmp_path, "proximity", ["map"]), tmp_path, "[SEP]")
    simple = {"meta": {"name": "x/a", "config": "one"}, "simple_format": True}
    data = read_ranking(a_task(tmp_path, "proximity", ["map"], data=simple), tmp_path, "[SEP]")
    assert [[text.id for text in texts] for texts in (data.queries, data.candidates)] == [["a"], ["b"]]


def test_tables_are_found_in_every_layout(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    rows = [{"paper_id": "a", "label": [1, 0]}, {"paper_id": "b", "label": [0, 1]}]
    table = HubTable("allenai/scirepeval_test", "fos")
    places = {
        "jsonl": tmp_path / "1" / "fos" / "test.jsonl.gz",
        "shards": tmp_path / "2" / "scirepeval_test" / "fos" / "test-00000-of-00002.parquet",
    }
    for path in places.values():
        path.parent.mkdir(parents=True)
    places["jsonl"].write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    for number, row in enumerate(rows):
        shard = places["shards"].with_name(f"test-0000{number}-of-00002.parquet")
        parquet.write_table(pa.Table.from_pylist([row]), shard)
    for folder in ("1", "2"):
        assert list(read_table(table, "test", (), tmp_path / folder)) == rows
    relative = read_table("1/fos/test.jsonl.gz", "test", (), tmp_path)
    assert [row["paper_id"] for row in relative] == ["a", "b"]
    with pytest.raises(InputError, match=r"no train table .* in .*scirepeval_test/fos or .*1/fos: put it there"):
        read_table(table, "train", (), tmp_path / "1")
    damaged = tmp_path / "1" / "fos" / "train.parquet"
    damaged.write_bytes(np.arange(9).tobytes())
    with pytest.raises(InputError, match="not a sound Parquet file"):
        list(read_table(table, "train", (), tmp_path / "1"))


def test_the_hub_needs_datasets(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UnavailableError, match=r"install datasets .* or give a folder with data"):
        read_table(HubTable("allenai/scirepeval", "fos"), "evaluation", (), None)
