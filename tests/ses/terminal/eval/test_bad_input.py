"""`ses eval` given what it can't use: one plain sentence, before hours of work."""

from __future__ import annotations

import pytest

from corpora.paper import Paper
from tests.beir_folders import write_beir
from tests.commands import fails, ses
from tests.tiny import make_model


@pytest.fixture
def blank(tmp_path):
    """A BEIR folder whose papers' ids hold blanks, those that are judged or the others."""
    make_model(tmp_path / "model")

    def write(judged, other):
        found = [Paper(name, "virus", "lung") for name in (judged, other)]
        write_beir(tmp_path / "beir", found, {"q": "virus"}, test={"q": {judged: 1}})
        options = ["--data", tmp_path / "beir", "--model", tmp_path / "model", "--mode", "exact"]
        return ses(tmp_path, "eval", "retrieval", *options, "--run", tmp_path / "runs")

    return write


def test_ids_that_a_run_file_cannot_hold_are_told_at_once_or_take_no_results_away(blank):
    fails(blank("d \u00e9", "d2"), 2, "holds a blank")
    done = blank("d1", "d \u00e9")
    assert done.returncode == 2
    assert "exact: 1 query" in done.stdout
    assert "holds a blank" in done.stderr


def test_score_names_the_run_that_does_not_belong(tmp_path):
    (tmp_path / "qrels").write_text("q 0 d 1\n")
    for name, query in (("good", "q"), ("other", "r")):
        (tmp_path / name).write_text(f"{query} Q0 d 1 1 t\n")
    runs = [tmp_path / "good", tmp_path / "other"]
    fails(ses(tmp_path, "eval", "score", *runs, "--qrels", tmp_path / "qrels"), 2, "Error: other: No query of the run")


def test_a_format_that_is_none_is_told_with_those_there_are(tmp_path):
    (tmp_path / "p.jsonl").write_text("".join(f'{{"id": {n}, "title": "x", "label": "a"}}\n' for n in range(8)))
    done = ses(tmp_path, "eval", "miread", "--data", tmp_path / "p.jsonl", "--embeddings", "CLF=v.jsonl")
    fails(done, 2, "no format 'CLF'", "clf=FILE")


def test_tune_tells_before_indexing_that_queries_are_too_few(blank, tmp_path):
    blank("d1", "d2")
    options = ["--data", tmp_path / "beir", "--model", tmp_path / "model", "--output", tmp_path / "t.json"]
    done = ses(tmp_path, "eval", "tune", *options)
    fails(done, 2, "not 1; give more judgments")
    assert "reading" not in done.stderr
