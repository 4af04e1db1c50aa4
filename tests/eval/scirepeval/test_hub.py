"""The original's task file over the hub's data sets: what is asked for by which name, from the hub or a copy of it."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from corpora.errors import UnavailableError
from eval.scirepeval.data import read_matching, read_ranking, read_supervised, read_table
from eval.scirepeval.task_file import HubTable, read_tasks
from tests.eval.scirepeval.worlds import write_jsonl

PAPERS, LABELS = "allenai/scirepeval", "allenai/scirepeval_test"

TASKS = """
classification: biomimicry drsm scidocs_mag_mesh>scidocs_mag scidocs_mag_mesh>scidocs_mesh mesh_descriptors
several: fos
regression: peer_review_score_hIndex>peer_review_score peer_review_score_hIndex>hIndex
regression: tweet_mentions cite_count pub_year
proximity: relish same_author high_influence_cite
simple: scidocs_view_cite_read>scidocs_cite scidocs_view_cite_read>scidocs_view scidocs_view_cite_read>scidocs_cocite
simple: scidocs_view_cite_read>scidocs_read
adhoc_search: nfcorpus trec_covid search
reviewers: paper_reviewer_matching
"""
"""Configurations of papers, and of labels where they differ, of the 22 tasks of scirepeval_tasks.jsonl."""

CASES = [
    (kind, *config.partition(">")[::2])
    for kind, _, configs in (line.partition(": ") for line in TASKS.split("\n") if line)
    for config in configs.split()
]
METRICS = {"classification": "f1_macro", "several": "f1_macro", "regression": "kendalltau"}
LABEL = {"classification": "x", "several": [1, 0], "regression": 0.5}


def the_task(tmp_path, kind, config, labels):
    data = {"meta": {"name": PAPERS, "config": config}, "test": {"name": LABELS, "config": labels or config}}
    line = {"name": "One", "type": kind, "data": data, "metrics": [METRICS.get(kind, "ndcg")]}
    if kind == "several":
        line |= {"type": "classification", "multi_label": True}
    if kind in ("simple", "reviewers"):
        line["type"] = "proximity"
    if kind == "simple":
        data["simple_format"] = True
    if kind == "reviewers":
        data["reviewers"] = {"name": LABELS, "config": "reviewers"}
    return read_tasks(write_jsonl(tmp_path / "tasks.jsonl", [line]))[0]


def the_tables(kind, config, labels):
    """What the hub has of a task, by data set, configuration and split."""
    papers = [{"doc_id": name, "title": f"T{name}", "abstract": None, "corpus_id": 7} for name in ("p", "q")]
    meta, judged = (PAPERS, config), (LABELS, labels or config)
    if kind in LABEL:
        rows = [{"paper_id": name, "label": LABEL[kind]} for name in ("p", "q")]
        return {(*meta, "evaluation"): papers, (*judged, "train"): rows[:1], (*judged, "test"): rows[1:]}
    rows = [{"query_id": "q", "cand_id": "r" if kind == "reviewers" else "p", "score": 1}]
    if kind == "reviewers":
        reviewers = {(LABELS, "reviewers", "metadata"): [{"r_id": "r", "papers": ["p"]}]}
        return {(*meta, "evaluation"): papers, (*judged, "test_hard"): rows, (*judged, "test_soft"): rows, **reviewers}
    if kind != "simple":
        query = {"doc_id": "q", "query": "words"} if kind == "adhoc_search" else {"dataset": "d", "query": papers[1]}
        papers = [{**query, "candidates": [{**papers[0], "score": 1}]}]
    return {(*meta, "evaluation"): papers, (*judged, "test"): rows}


def read(task, folder):
    """The ids that a task's tables give it."""
    if task.data.reviewers:
        found = read_matching(task, folder, "[SEP]")
        assert found.hard.gains == found.soft.gains == {"q": {"r": 1}}
        return sorted(text.id for text in found.texts())
    if task.is_ranking:
        data = read_ranking(task, folder, "[SEP]")
        assert data.judged.gains == {"q": {"p": 1}}
        return [text.id for text in (*data.candidates, *data.queries)]
    data = read_supervised(task, folder, "[SEP]")
    assert (data.train.ids, data.test.ids) == (("p",), ("q",))
    return [text.id for text in data.texts]


class HubError(Exception):
    """Stands for the library's own errors, which are of no built-in kind."""


@pytest.fixture
def hub(monkeypatch):
    """A stand-in for the library datasets that has some tables, and lists what it was asked for."""
    tables, asked = {}, []

    def load_dataset(name, config, *, split):
        asked.append((name, config, split))
        if (name, config, split) not in tables:
            raise HubError("no\nsuch table")
        return tables[name, config, split]

    errors = SimpleNamespace(DatasetsError=HubError)
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset, exceptions=errors))
    return SimpleNamespace(tables=tables, asked=asked)


def test_there_are_22_tasks():
    assert len(CASES) == 22


@pytest.mark.parametrize(("kind", "config", "labels"), CASES)
def test_each_task_reads_its_tables_from_the_hub(tmp_path, hub, kind, config, labels):
    hub.tables.update(the_tables(kind, config, labels))
    assert read(the_task(tmp_path, kind, config, labels), None) == ["p", "q"]
    assert sorted(hub.asked) == sorted(hub.tables)


@pytest.mark.parametrize("shard", ["{}-00000-of-00001.parquet", "{}/0000.parquet"], ids=["main", "converted"])
@pytest.mark.parametrize(("kind", "config", "labels"), CASES)
def test_each_task_reads_its_tables_from_a_copy_of_the_hubs_files(tmp_path, shard, kind, config, labels):
    import pyarrow as pa
    from pyarrow import parquet

    for (name, folder, split), rows in the_tables(kind, config, labels).items():
        path = tmp_path / name.rpartition("/")[2] / folder / shard.format(split)
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(rows), path)
    assert read(the_task(tmp_path, kind, config, labels), tmp_path) == ["p", "q"]


def test_a_hub_that_cant_be_had_says_what_to_do(hub):
    with pytest.raises(UnavailableError, match=r"\(no such table\); try again online, or .* holds scirepeval/fos\.$"):
        read_table(HubTable(PAPERS, "fos"), "evaluation", (), None)
    assert hub.asked == [(PAPERS, "fos", "evaluation")]
