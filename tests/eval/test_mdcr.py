"""MDCR on drawn data in its published form, whose figures were computed once by its own `evaluate.py`."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corpora.errors import InputError
from eval.mdcr import measure_mdcr, rank_mdcr, read_mdcr
from tests.commands import ses
from tests.eval.vectors_by_hand import embedder, write_lines, write_vectors

FIELDS = ("Art", "Computer Science", "Sociology")
WAYS = ("bm25", "graph", "most_cited", "random", "scincl", "specter")
# `evaluate.py` of zoranmedic/mdcr, with these fields, and the scores that the command writes; rounded there.
ORIGINAL = {
    "Art": (0.285394, 0.548485, 0.138889),
    "Computer Science": (0.249539, 0.527215, 0.180556),
    "Sociology": (0.285025, 0.560159, 0.166667),
    "average": (0.273319, 0.545286, 0.162037),
}


def draw(folder):
    """Write a split whose candidates overlap, and return the vectors, some of which are equal."""
    folder.mkdir()
    rng = np.random.default_rng(8)
    names = [f"{number}" for number in range(100, 220)]
    benchmark = {}
    for field in FIELDS:
        queries = rng.choice(names, 12, replace=False).tolist()
        some = {way: lambda: rng.choice(names, 5, replace=False).tolist() for way in WAYS}
        benchmark[field] = {
            query: {**{way: take() for way, take in some.items()}, "true": rng.choice(names, 6, replace=False).tolist()}
            for query in queries
        }
    (folder / "mdcr_test.json").write_text(json.dumps(benchmark))
    papers = [{"paper_id": name, "title": f"title {name}", "abstract": "text"} for name in names]
    write_lines(folder / "mdcr_test_data.jsonl", papers)
    return {name: rng.integers(-2, 3, 3).astype(float) for name in names}


def test_figures_are_those_of_the_program(tmp_path):
    vectors = draw(tmp_path / "data")
    data = read_mdcr(tmp_path / "data")
    outcomes = measure_mdcr(data, rank_mdcr(data, embedder(vectors)))
    found = {field: [getattr(c, "mean", c) for c in one.cells.values()] for field, one in outcomes.items()}
    assert found == {field: pytest.approx(figures, abs=1.5e-6) for field, figures in ORIGINAL.items()}


def test_the_command_writes_the_file_of_the_program(tmp_path):
    vectors = draw(tmp_path / "data")
    write_vectors(tmp_path / "v.jsonl", vectors)
    given = ["--data", tmp_path / "data", "--embeddings", tmp_path / "v.jsonl", "--scores", tmp_path / "s.json"]
    rows = {row["field"]: row for row in json.loads(ses(tmp_path, "eval", "mdcr", *given, "--json").stdout)["rows"]}
    assert list(rows) == [*FIELDS, "average"]
    scores = json.loads((tmp_path / "s.json").read_text())
    benchmark = json.loads((tmp_path / "data" / "mdcr_test.json").read_text())
    pairs = {
        (query, name)
        for queries in benchmark.values()
        for query, ways in queries.items()
        for names in ways.values()
        for name in names
    }
    wanted = {f"{query}_{name}": -np.linalg.norm(vectors[query] - vectors[name]) for query, name in pairs}
    assert scores == pytest.approx(wanted)


def test_papers_without_vectors_are_counted(tmp_path):
    vectors = draw(tmp_path / "data")
    data = read_mdcr(tmp_path / "data")
    query, gains = next(iter(data.fields["Art"].gains.items()))
    candidate = next(name for name in gains if name != query)
    whole = measure_mdcr(data, rank_mdcr(data, embedder(vectors)))["Art"]
    few = {name: vector for name, vector in vectors.items() if name not in {query, candidate}}
    part = measure_mdcr(data, rank_mdcr(data, embedder(few)))["Art"]
    assert whole.counts["queries_missing"] == whole.counts["candidates_missing"] == 0
    assert part.counts["queries_missing"] >= 1
    assert part.counts["candidates_missing"] >= 1
    assert part.per_unit["MAP"][query] == 0


@pytest.mark.parametrize(
    "content", ["[", "[]", '{"Art": 3}', '{"Art": {"q": {"bm25": ["a"]}}}', '{"Art": {"q": {"true": "a"}}}']
)
def test_files_of_another_form(tmp_path, content):
    (tmp_path / "mdcr_test.json").write_text(content)
    with pytest.raises(
        InputError, match=r"mdcr_test\.json can't be read as MDCR's file, which holds fields of queries"
    ):
        read_mdcr(tmp_path)


def test_mistakes(tmp_path):
    with pytest.raises(InputError, match=r"MDCR has no split 'train'; choose one of: val, test"):
        read_mdcr(tmp_path, "train")
    with pytest.raises(InputError, match=r"There is no mdcr_val\.json in .*: give the folder that holds MDCR's files"):
        read_mdcr(tmp_path, "val")
    (tmp_path / "mdcr_test.json").write_text('{"Art": {}}')
    with pytest.raises(InputError, match="holds no queries: fetch it again"):
        read_mdcr(tmp_path)
    (tmp_path / "mdcr_test.json").write_text('{"Art": {"q": {"true": ["a"]}}}')
    write_lines(tmp_path / "mdcr_test_data.jsonl", [{"title": "T"}])
    with pytest.raises(InputError, match='line 1: a paper has a "paper_id"'):
        read_mdcr(tmp_path)
    write_lines(tmp_path / "mdcr_test_data.jsonl", [{"paper_id": "other", "title": "T"}])
    with pytest.raises(InputError, match="No paper of MDCR has a vector"):
        rank_mdcr(read_mdcr(tmp_path), embedder({"z": [1.0]}))
