"""Tasks run on vectors whose results are known by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from eval.scirepeval.average import task_table
from eval.scirepeval.protocols import TaskResult, run_task, run_tasks
from tests.eval.scirepeval.worlds import a_task, embedder, write_jsonl, write_labels, write_papers

SIMPLE = {"meta": {"name": "x/a", "config": "one"}, "simple_format": True}


def judge(folder, judged, name="test_qrel.jsonl"):
    rows = ({"query_id": q, "cand_id": c, "score": s} for q, c, s in judged)
    write_jsonl(folder / "one" / name, rows)


def told(outcome):
    return {name: count for name, count in outcome.counts.items() if count}


@pytest.fixture
def clear_classes(tmp_path):
    """80 papers on a line: those below 0 are of class 0, the others of class 1; p79 has no vector, ghost no paper."""
    places = {f"p{i}": [(-1) ** i * (1 + i / 100), 1.0] for i in range(79)}
    write_papers(tmp_path / "one", [*places, "p79"])
    labels = [(name, int(vector[0] < 0)) for name, vector in places.items()]
    write_labels(tmp_path / "one", labels[:60], [*labels[60:], ("p79", 1), ("ghost", 1)])
    return tmp_path, embedder({Format.CLF: places})


def test_classes_far_apart_are_told_apart(clear_classes):
    folder, embed = clear_classes
    few = [{"sample_size": 20, "iterations": 50}, {"sample_size": 15, "iterations": 2}]
    result = run_task(a_task(folder, metrics=["f1", "accuracy"], few_shot=few), folder, embed)
    assert {name: cell.mean for name, cell in result.outcome.cells.items()} == {
        "f1": 1.0,
        "accuracy": 1.0,
        "f1 20-shot": 1.0,
        "accuracy 20-shot": 1.0,
        "f1 15-shot": 1.0,
        "accuracy 15-shot": 1.0,
    }
    assert list(result.outcome.per_unit["f1 20-shot"]) == ["1", "2", "3"]  # as many as there are folds
    assert told(result.outcome) == {
        "train": 60,
        "test": 19,
        "test_papers_missing": 2,
        "papers_unknown": 1,
        "20_shot_runs": 3,
        "15_shot_runs": 2,
    }
    assert "LinearSVC(squared_hinge) of scikit-learn" in result.solver
    note = "interval over 3 values without a known scale: if they are skewed, it contains the mean too rarely"
    assert result.outcome.notes["f1 20-shot"].startswith(note)
    assert "f1" not in result.outcome.notes
    shown = task_table([result]).table().notes
    assert sum(note in line for line in shown) == 2


def test_few_shot_probes_are_scikit_learns_without_a_search(tmp_path):
    from sklearn.metrics import f1_score
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import LinearSVC

    draw = np.random.default_rng(5)
    x, y = draw.standard_normal((90, 4)).astype(np.float32), np.arange(90) % 3
    x[:, 0] += y
    ids = [f"p{i}" for i in range(90)]
    write_papers(tmp_path / "one", ids)
    write_labels(tmp_path / "one", list(zip(ids[:60], y[:60], strict=True)), list(zip(ids[60:], y[60:], strict=True)))
    task = a_task(tmp_path, metrics=["f1_macro"], few_shot=[{"sample_size": 12, "iterations": 4}])
    result = run_task(task, tmp_path, embedder({Format.CLF: dict(zip(ids, x, strict=True))}))
    wanted = []
    for _, rows in list(StratifiedKFold(5).split(x[:60], y[:60]))[:4]:
        probe = LinearSVC(loss="squared_hinge", random_state=42).fit(x[:60][rows].astype(float), y[:60][rows])
        wanted.append(f1_score(y[60:], probe.predict(x[60:].astype(float)), average="macro"))
    assert list(result.outcome.per_unit["f1_macro 12-shot"].values()) == pytest.approx(wanted)
    assert result.outcome.cells["f1_macro 12-shot"].mean == pytest.approx(np.mean(wanted))


@pytest.mark.slow
def test_several_labels_and_their_few_shots(tmp_path):
    places = {f"p{i}": [(1 if i % 2 else -1), (1 if i % 3 else -1)] for i in range(90)}
    write_papers(tmp_path / "one", places)
    labels = [(name, str([int(x > 0), int(y > 0)])) for name, (x, y) in places.items()]
    write_labels(tmp_path / "one", labels[:60], labels[60:])
    few = [{"sample_size": 8, "iterations": 2}]
    task = a_task(tmp_path, metrics=["f1_macro"], multi_label=True, few_shot=few)
    result = run_task(task, tmp_path, embedder({Format.CLF: places}))
    assert {name: cell.mean for name, cell in result.outcome.cells.items()} == {"f1_macro": 1.0, "f1_macro 8-shot": 1.0}
    assert result.solver.startswith("one-vs-rest LinearSVC(hinge)")


def test_samples_of_one_class_are_left_out_and_counted(clear_classes):
    folder, embed = clear_classes
    write_labels(folder / "one", [(f"p{i}", int(i == 3)) for i in range(40)], [("p3", 1), ("p4", 0)])
    task = a_task(folder, few_shot=[{"sample_size": 10, "iterations": 9}], metrics=["accuracy"])
    result = run_task(task, folder, embed)
    assert told(result.outcome)["10_shot_runs_of_one_class"] == 3
    assert told(result.outcome)["10_shot_runs"] == 1


@pytest.mark.slow
def test_numbers_on_a_line_are_ranked_right(tmp_path):
    from scipy.stats import kendalltau

    draw = np.random.default_rng(0)
    places = {f"p{i}": [float(v), 1.0] for i, v in enumerate(draw.standard_normal(120))}
    write_papers(tmp_path / "one", places)
    labels = [(name, 3 * v + 0.3 * draw.standard_normal()) for name, (v, _) in places.items()]
    write_labels(tmp_path / "one", labels[:80], labels[80:])
    task = a_task(tmp_path, "regression", ["kendalltau", "mse"])
    result = run_task(task, tmp_path, embedder({Format.RGN: places}))
    by_hand = kendalltau([label for _, label in labels[80:]], [v for v, _ in list(places.values())[80:]])[0]
    assert result.outcome.cells["kendalltau"].mean == pytest.approx(by_hand)
    assert result.outcome.cells["mse"].mean < 0.3


def test_judged_candidates_are_ranked_by_distance(tmp_path):
    places = {"q": [0, 0], "near": [1, 0], "far": [-5, 0], "mid": [0, 3], "closest": [0.5, 0], "r": [9, 9], "s": [8, 9]}
    write_papers(tmp_path / "one", [*places, "lost", "q2"])
    judged = [("q", "near", 0), ("q", "mid", 1), ("q", "far", 2), ("q", "lost", 1)]  # closest isn't judged
    judge(tmp_path, [*judged, ("r", "s", 1), ("q2", "near", 1), ("s", "lost", 1)])
    task = a_task(tmp_path, "proximity", ["map", "ndcg", "P_5"], data=SIMPLE)
    outcome = run_task(task, tmp_path, embedder({Format.PRX: places})).outcome
    best = 2 + 1 / math.log2(3) + 1 / math.log2(4)
    assert outcome.per_unit["map"] == {"q": pytest.approx((1 / 2 + 2 / 3) / 3), "r": 1.0}
    assert outcome.per_unit["ndcg"]["q"] == pytest.approx((1 / math.log2(3) + 2 / math.log2(4)) / best)
    assert outcome.per_unit["P_5"] == {"q": pytest.approx(2 / 5), "r": pytest.approx(1 / 5)}
    assert outcome.cells["map"].mean == pytest.approx((7 / 18 + 1) / 2)
    # q2 has no vector and s no candidate that has one: neither is part of the mean.
    assert told(outcome) == {
        "queries": 2,
        "queries_missing": 1,
        "queries_without_candidates": 1,
        "candidates_missing": 2,
    }


def test_search_takes_queries_and_papers_in_formats_of_their_own(tmp_path):
    rows = [
        {"doc_id": "q", "query": "words", "candidates": [{"doc_id": n, "title": n} for n in ("a", "b", "other")]},
        {"doc_id": "other", "query": "more words", "candidates": [{"doc_id": "a", "title": "a"}]},
    ]
    write_jsonl(tmp_path / "one" / "metadata.jsonl", rows)
    judge(tmp_path, [("q", "a", 0), ("q", "b", 0), ("q", "other", 1)])
    papers = {"a": [2, 0], "b": [3, 0], "q": [99, 99], "other": [0, 0]}
    for place, value in (([0.5, 0], 1.0), ([9, 9], 1 / 3)):
        # The paper `other` is embedded as the query of its id, and nowhere else.
        embed = embedder({Format.QRY: {"q": [0, 0], "other": place}, Format.PRX: papers})
        outcome = run_task(a_task(tmp_path, "adhoc_search", ["map"]), tmp_path, embed).outcome
        assert outcome.cells["map"].mean == pytest.approx(value)
        assert told(outcome) == {"queries": 1, "candidates_embedded_as_queries": 1}
    embed = embedder({Format.QRY: {"q": [0, 0, 0]}, Format.PRX: papers})
    with pytest.raises(InputError, match="queries have 3 values and those of papers 2"):
        run_task(a_task(tmp_path, "adhoc_search", ["map"]), tmp_path, embed)


def test_reviewers_are_matched_by_their_papers(tmp_path):
    write_papers(tmp_path / "one", ["sub", "x1", "x2", "y1"])
    reviewers = [{"r_id": "X", "papers": ["x1", "x2"]}, {"r_id": "Y", "papers": ["y1"]}]
    write_jsonl(tmp_path / "one" / "reviewer_metadata.jsonl", reviewers)
    judge(tmp_path, [("sub", "X", 0), ("sub", "Y", 1)], "test_hard_qrel.jsonl")
    judge(tmp_path, [("sub", "X", 1), ("sub", "Y", 1)], "test_soft_qrel.jsonl")
    table = {"name": "x/a", "config": "one"}
    task = a_task(tmp_path, "proximity", ["P_5", "P_10"], data={"meta": table, "reviewers": table})
    places = {"sub": [1, 0], "x1": [1, 1], "x2": [0, 1], "y1": [1, 0.1]}
    outcome = run_task(task, tmp_path, embedder({Format.PRX: places})).outcome
    means = {name: cell.mean for name, cell in outcome.cells.items()}
    assert means == pytest.approx({"hard P@5": 0.2, "hard P@10": 0.1, "soft P@5": 0.4, "soft P@10": 0.2})


def test_a_task_without_data_keeps_no_other_from_running(clear_classes):
    folder, embed = clear_classes
    tasks = [a_task(folder, data={"meta": {"name": "x/a", "config": config}}) for config in ("gone", "one")]
    (_, error), (_, result) = run_tasks(tasks, folder, embed)
    assert isinstance(error, InputError)
    assert "There is no train table" in str(error)
    assert isinstance(result, TaskResult)


def test_vectors_of_other_papers_are_told(clear_classes):
    folder, _ = clear_classes
    with pytest.raises(InputError, match="No labelled paper of the task One has a vector"):
        run_task(a_task(folder), folder, embedder({Format.CLF: {"else": [1, 2]}}))
    judge(folder, [("p1", "p2", 1)])
    with pytest.raises(InputError, match="No query of the task One has a vector"):
        run_task(a_task(folder, "proximity", ["map"], data=SIMPLE), folder, embedder({Format.PRX: {"else": [1, 2]}}))
