"""What `python -m benchmarks.million_clusters` compares a cluster with, and how it prints its figures."""

import numpy as np
import pytest

from benchmarks import million_clusters
from corpora.paper import Paper
from search_plugin.contract.engine import Document


def test_the_nearest_are_those_of_all_batches(monkeypatch):
    monkeypatch.setattr(million_clusters, "BATCH", 100)
    draw = np.random.default_rng(0)
    rows = draw.standard_normal((730, 8)).astype(np.float32)
    draws = draw.random(730)
    asked = draw.standard_normal((5, 8)).astype(np.float32)
    source = (Document(Paper(str(i), "", extra={"draw": draws[i]}), "h", {"prx": rows[i]}) for i in range(730))
    found = million_clusters.nearest(source, asked)
    assert found.shape == (5, 5, 10)
    for share, numbers in zip(million_clusters.SHARES, found, strict=True):
        passing = np.flatnonzero(draws < share)
        for query, row in zip(asked, numbers, strict=True):
            expected = passing[np.argsort(-(rows[passing] @ query))][:10]
            assert sorted(row[row >= 0]) == sorted(expected)
            assert len(row) == 10


def test_recall_counts_the_papers_that_exist():
    right = np.array([[3, 1, 2], [7, -1, -1]])
    assert million_clusters.recall(right, [[1, 2, 9], [7]]) == pytest.approx(3 / 4)
    assert million_clusters.recall(np.full((2, 3), -1), [[], []]) == 0


def test_the_table_has_a_column_for_each_cluster():
    figures = {
        "papers": 5000,
        "timed": 4000,
        "writing": 1.6,
        "merging": 3.0,
        "files": {"segments": 1, "whole_vectors": 5 << 20, "graphs": 3 << 20},
        "disk": 20 << 20,
        "heap": 100 << 20,
        "outside": {"faiss": 0},
        "recalls": {"100 % of the papers": 0.98765},
        "pages": {"page": [10.1, 20.2]},
        "updated": 1234.5,
        "meanwhile": [11.1, 33.3],
        "swapped": {"pages": 70, "errors": 0, "wrong": 1},
    }
    outside = {"total_size_bytes": 3 << 20, "total_veq_size_bytes": 1 << 20, "total_vex_size_bytes": 0}
    other = {**figures, "outside": outside, "pages": {"vector leg": [1.0, 2.0]}}
    lines = million_clusters.table([{"cluster": "A, int8", **figures}, {"cluster": "B, 1bit", **other}]).splitlines()
    assert lines[:4] == [
        "| | A, int8 | B, 1bit |",
        "| --- | --- | --- |",
        "| papers written in a second | 2,500 | 2,500 |",
        "| papers a second, until they are merged | 1,000 | 1,000 |",
    ]
    assert "| recall@10 of 100 % of the papers | 0.988 | 0.988 |" in lines
    assert "| outside the heap as reported, MiB | 0 | total 3, veq 1 |" in lines
    assert "| page: p50, p99, ms | 10.1, 20.2 | |" in lines
    assert "| pages during 6 swaps: all, errors, wrong | 70, 0, 1 | 70, 0, 1 |" in lines
    assert "| vector leg: p50, p99, ms | | 1.0, 2.0 |" in lines
