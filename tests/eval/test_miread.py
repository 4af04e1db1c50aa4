"""MIReAD's probe, clusters and pairs, and the reader of labelled papers."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from itertools import combinations
from random import Random

import numpy as np
import pytest
from sklearn.metrics import f1_score

from corpora.errors import InputError
from encoders.models.formats import Format
from eval.files.labelled import read_labelled
from eval.measures.classes import purity
from eval.miread import cluster, evaluate_miread, pair, probe
from eval.probes.linear import SoftmaxRegression, train_epochs
from tests.commands import fails, ses
from tests.eval.vectors_by_hand import embedder, write_lines
from tests.tiny import WORDS, make_model


def blobs(classes=3, each=40, spread=0.3, size=8):
    rng = np.random.default_rng(0)
    centres = 8 * rng.standard_normal((classes, size))
    names = [f"c{i % classes}" for i in range(classes * each)]
    matrix = np.array([centres[int(name[1])] + spread * rng.standard_normal(size) for name in names], np.float32)
    return matrix, names


@pytest.mark.slow
def test_the_probe_tells_what_can_be_told_and_no_more():
    matrix, classes = blobs(each=400)
    test = [i % 4 == 0 for i in range(len(classes))]
    told = probe(matrix, classes, test)
    assert told.cells["accuracy"].mean > 0.95
    assert told.cells["F1 macro"].mean > 0.95
    assert told.counts == {"papers": 1200, "papers_tested": 300, "classes": 3}
    assert probe(matrix, classes, test) == told
    shuffled = list(np.random.default_rng(0).permutation(classes))
    assert abs(probe(matrix, shuffled, test).cells["accuracy"].mean - 1 / 3) < 0.12


def test_the_probe_is_averaged_over_runs_and_folds_and_tested_on_test_papers_only(monkeypatch):
    said = iter(np.array([[0, 0, 1, 1], [0, 1, 1, 1]] * 3))
    monkeypatch.setattr("eval.miread._fold_predictions", lambda *_: [next(said) for _ in range(2)])
    classes = ["a"] * 8 + ["b"] * 8 + ["a", "a", "b", "b"]
    told = probe(np.zeros((20, 2), np.float32), classes, [False] * 16 + [True] * 4, seeds=3)
    assert told.cells["accuracy"].mean == pytest.approx((1 + 0.75) / 2)
    assert told.cells["F1 macro"].mean == pytest.approx((1 + (2 / 3 + 4 / 5) / 2) / 2)
    assert told.cells["accuracy, deviation of runs"] == 0


def test_the_deviation_is_that_of_the_runs_means(monkeypatch):
    truth, rng = np.arange(40) % 3, np.random.default_rng(2)
    drawn = [rng.integers(0, 3, (2, 40)) for _ in range(3)]
    said = iter(drawn)
    monkeypatch.setattr("eval.miread._fold_predictions", lambda *_: list(next(said)))
    classes = [*"abc"] * 4 + ["abc"[one] for one in truth]
    told = probe(np.zeros((52, 2), np.float32), classes, [False] * 12 + [True] * 40)
    runs = [[f1_score(truth, fold, average="macro") for fold in run] for run in drawn]
    assert told.cells["F1 macro, deviation of runs"] == pytest.approx(np.std(np.mean(runs, axis=1), ddof=1))
    right = [np.mean(run == truth) for run in drawn]
    assert told.cells["accuracy, deviation of runs"] == pytest.approx(np.std(right, ddof=1))
    said = iter(drawn)
    one = probe(np.zeros((52, 2), np.float32), classes, [False] * 12 + [True] * 40, seeds=1)
    assert list(one.cells) == ["accuracy", "F1 macro"]


def test_the_epoch_that_is_best_on_the_validating_quarter_is_tested(monkeypatch):
    right, wrong = (SoftmaxRegression(np.array([[-sign, sign], [0, 0]])) for sign in (1, -1))
    monkeypatch.setattr("eval.miread.train_epochs", lambda *_, **__: iter([wrong, right, wrong]))
    classes, test = ["a", "b"] * 20, [row >= 32 for row in range(40)]
    assert probe(np.array([[-1.0], [1.0]] * 20), classes, test, seeds=1).cells["accuracy"].mean == 1


def test_the_probe_has_four_folds_and_five_epochs_of_batches_of_100():
    from sklearn.model_selection import StratifiedKFold

    rng = np.random.default_rng(4)
    # Classes that overlap, and so large numbers that five epochs learn something.
    truth = rng.integers(0, 3, 700)
    matrix = 40 * rng.standard_normal((700, 6)) + 60 * np.eye(3, 6)[truth]
    test = np.arange(700) >= 600
    shares = []
    for seed in range(3):
        for fit, validate in StratifiedKFold(4, shuffle=True, random_state=seed).split(matrix[:600], truth[:600]):
            models = list(train_epochs(matrix[fit], truth[fit], epochs=5, batch=100, rate=0.0005, seed=seed))
            assert len(models) == 5
            right = [(model.predict(matrix[validate]) == truth[validate]).sum() for model in models]
            shares.append((models[int(np.argmax(right))].predict(matrix[test]) == truth[test]).mean())
    told = probe(matrix, [f"c{one}" for one in truth], test.tolist())
    assert told.cells["accuracy"].mean == pytest.approx(np.mean(shares))
    assert 0.4 < np.mean(shares) < 0.95


def test_a_probe_needs_four_papers_of_one_class_and_one_of_another_to_learn_from():
    matrix = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 2)
    told = probe(matrix, ["a"] * 4 + ["b"] * 2, [False] * 5 + [True])
    assert told.counts == {"papers": 6, "papers_tested": 1, "classes": 2}
    with pytest.raises(InputError, match="two classes to learn from"):
        probe(matrix, ["a"] * 4 + ["b"] * 2, [False] * 4 + [True] * 2)


@pytest.mark.parametrize("test", [[True] * 8, [False] * 8, [False, False, *[True] * 6]])
def test_a_probe_needs_papers_on_both_sides(test):
    with pytest.raises(InputError, match="give more"):
        probe(np.zeros((8, 2), np.float32), ["a", "b"] * 4, test)


def test_clusters_of_clear_and_of_mixed_classes():
    from sklearn.cluster import KMeans
    from sklearn.metrics import normalized_mutual_info_score

    matrix, classes = blobs()
    told = cluster(matrix, classes, [3, 1])
    assert told.cells == pytest.approx({"purity k=3": 1, "NMI k=3": 1, "purity k=1": 1 / 3, "NMI k=1": 0}, abs=1e-9)
    matrix, classes = blobs(spread=20.0)
    told = cluster(matrix, classes, [3], seeds=2)
    runs = [KMeans(3, n_init=1, random_state=seed).fit_predict(matrix) for seed in range(2)]
    assert told.cells["purity k=3"] == pytest.approx(np.mean([purity(classes, list(run)) for run in runs]))
    assert told.cells["NMI k=3"] == pytest.approx(np.mean([normalized_mutual_info_score(classes, x) for x in runs]))
    with pytest.raises(InputError, match="into 121 clusters"):
        cluster(matrix, classes, [121])


def test_pairs_are_ranked_by_correlation():
    from sklearn.metrics import average_precision_score, roc_auc_score

    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((30, 5)).astype(np.float32)
    labels = [tuple(rng.choice(list("abcdef"), 2, replace=False)) for _ in range(30)]
    pairs = [(i, j) for i in range(30) for j in range(i + 1, 30)]
    alike = [bool(set(labels[i]) & set(labels[j])) for i, j in pairs]
    correlations = np.corrcoef(matrix)
    scores = [correlations[i, j] for i, j in pairs]
    told = pair(matrix, labels)
    assert told.cells["AP"] == pytest.approx(average_precision_score(alike, scores), abs=1e-6)
    assert told.cells["AUC"] == pytest.approx(roc_auc_score(alike, scores), abs=1e-6)
    # Of vectors that lie close together the last digits tell.
    close = (matrix[:1] + 1e-3 * matrix + 32).astype(np.float32)
    correlations = np.corrcoef(close.astype(float))
    wanted = average_precision_score(alike, [correlations[i, j] for i, j in pairs])
    assert pair(close, labels).cells["AP"] == pytest.approx(wanted, abs=1e-6)
    # Three papers by hand: the pair that shares a label is second of three, so AP is 1/2 and AUC too.
    by_hand = np.array([[1, 0, 0], [0.9, 0.1, 0], [0.5, 0.4, 0]], np.float32)
    told = pair(by_hand, [("x",), ("y",), ("z", "x")][::-1][:3])
    assert told.counts["pairs_alike"] == 1
    assert pair(matrix, labels, most=10).counts["papers_not_paired"] == 20
    assert pair(matrix[:2], [("a",), ("a",)]).cells == {}


def test_pairs_within_fields_of_arxiv_are_as_the_original_program_measures_them(tmp_path):
    rng = np.random.default_rng(12)
    names = [f"{field}.{part}" for field in ("cs", "math", "stat") for part in "ABCD"]
    labels = [rng.choice(names, int(rng.integers(1, 3)), replace=False).tolist() for _ in range(90)]
    matrix = rng.standard_normal((90, 6)).round(2)
    data = read_labelled(write_papers(tmp_path / "x.jsonl", [{"cat": own} for own in labels]), label="cat", fewest=1)
    vectors = {f"p{i}": row for i, row in enumerate(matrix)}
    outcomes = evaluate_miread(data, embedder(vectors), by_field=True, clusters=[2], seeds=1)
    # What `do_info_retrieval.py` of arazd/miread makes of these papers.
    wanted = {"cs": (0.36074639, 0.5231846), "math": (0.69352721, 0.56149733), "stat": (0.35232034, 0.47058824)}
    for field, figures in wanted.items():
        assert list(outcomes[f"pairs {field}"].cells.values()) == pytest.approx(figures, abs=1e-6)


def test_of_too_many_papers_the_same_are_paired_and_the_rest_counted():
    matrix, classes = blobs(each=10, spread=8.0)
    labels = [(name,) for name in classes]
    told = pair(matrix, labels, most=12)
    drawn = sorted(Random(0).sample(range(30), 12))
    assert told.cells == pair(matrix[drawn], [labels[row] for row in drawn]).cells
    alike = sum(labels[one] == labels[other] for one, other in combinations(drawn, 2))
    assert told.counts == {"papers": 30, "papers_not_paired": 18, "pairs_alike": alike}
    assert pair(matrix, labels).counts == {"papers": 30, "papers_not_paired": 0, "pairs_alike": 3 * 45}
    for alike, of in ((0, [("a",), ("b",), ("c",)]), (3, [("a",)] * 3)):
        nothing = pair(matrix[:3], of)
        assert (nothing.cells, nothing.counts["pairs_alike"]) == ({}, alike)


def test_clusters_are_means_over_runs_that_are_told_by_seed():
    matrix, classes = blobs(each=10, spread=20.0)
    told = cluster(matrix, classes, [2, 30])
    assert list(told.per_unit) == ["purity k=2", "NMI k=2", "purity k=30", "NMI k=30"]
    assert told.per_unit["purity k=30"] == {"seed 0": 1, "seed 1": 1, "seed 2": 1}, "as many clusters as papers"
    assert told.cells == {name: pytest.approx(np.mean(list(of.values()))) for name, of in told.per_unit.items()}
    with pytest.raises(InputError, match="30 papers can't be divided into 0 clusters"):
        cluster(matrix, classes, [0])


def test_the_three_parts_are_those_of_their_functions_with_the_given_seeds(tmp_path):
    matrix, classes = blobs(each=10, spread=20.0)
    path = write_papers(tmp_path / "x.jsonl", [{"label": name} for name in classes])
    data = read_labelled(path)
    told = evaluate_miread(data, embedder({f"p{i}": row for i, row in enumerate(matrix)}), clusters=[30], seeds=2)
    assert list(told) == ["probe", "clusters", "pairs"]
    counts = {"papers": 30, "papers_tested": sum(data.test), "classes": 3, "papers_missing": 0, **data.counts}
    assert told["probe"].counts == counts
    assert told["probe"].cells == probe(matrix, classes, data.test, seeds=2).cells
    assert list(told["clusters"].per_unit["NMI k=30"]) == ["seed 0", "seed 1"]
    assert told["pairs"] == pair(matrix, data.labels)


def write_papers(path, rows):
    return write_lines(
        path, [{"id": f"p{i}", "title": WORDS[i % 30], "abstract": "", **row} for i, row in enumerate(rows)]
    )


@pytest.mark.slow
def test_fields_of_arxiv_are_told_apart_and_paired_within(tmp_path):
    rows = [{"cat": ["cs.LG", "cs.AI"]}, {"cat": ["cs.AI"]}, {"cat": ["cs.CL"]}, {"cat": ["math.AG"]}] * 10
    rows += [{"cat": ["cs.LG", "math.ST"]}] * 3
    data = read_labelled(write_papers(tmp_path / "x.jsonl", rows), label="cat", fewest=1)
    matrix = np.random.default_rng(0).standard_normal((43, 6))
    vectors = {f"p{i}": matrix[i] for i in range(43)}
    asked = set()

    def embed(texts, task_format):
        asked.add(task_format)
        return embedder(vectors)(texts, task_format)

    told = evaluate_miread(data, embed, by_field=True)
    assert asked == {Format.CLF, Format.PRX}
    assert list(told) == ["probe", "clusters", "pairs cs", "pairs math"]
    assert told["probe"].counts["papers_of_several_fields"] == 3
    assert told["probe"].counts["classes"] == 2
    assert list(told["clusters"].cells) == ["purity k=2", "NMI k=2"]
    cs = [i for i in range(40) if i % 4 < 3]
    wanted = pair(matrix[cs].astype(np.float32), [rows[i]["cat"] for i in cs])
    assert told["pairs cs"].cells == pytest.approx(wanted.cells)
    assert told["pairs math"].cells == {}  # all of them share a label
    del vectors["p0"]
    assert evaluate_miread(data, embed, by_field=True)["probe"].counts["papers_missing"] == 1
    with pytest.raises(InputError, match="fewer than two classes"):
        evaluate_miread(data, embedder({"p3": (1.0, 2.0)}))


def test_reading_leaves_out_and_counts(tmp_path):
    rows = [{"label": "a", "split": "train"}] * 10 + [{"label": ["b", "c"], "split": "test"}] * 9
    rows += [{"label": "rare", "split": "train"}, {"label": None}, {"label": "a", "title": " "}, {"id": "p0"}]
    rows += [{"label": "a", "split": "dev"}]
    path = write_papers(tmp_path / "x.jsonl", rows)
    data = read_labelled(path)
    assert Counter(data.labels) == {("a",): 10, ("b", "c"): 9}
    assert data.test == (False,) * 10 + (True,) * 9
    assert data.counts == {
        "papers_without_label": 1,
        "papers_without_title": 1,
        "papers_twice": 1,
        "papers_of_no_split": 1,
        "papers_of_rare_classes": 1,
    }
    packed = tmp_path / "x.jsonl.xz"
    packed.write_bytes(lzma.compress(path.read_bytes()))
    assert read_labelled(packed) == data
    with pytest.raises(InputError, match="under 'venue'; name another label"):
        read_labelled(path, label="venue")
    write_lines(tmp_path / "y.jsonl", [{"title": "x", "label": "a"}])
    with pytest.raises(InputError, match="line 1: there is no id"):
        read_labelled(tmp_path / "y.jsonl")


def test_papers_to_learn_from_and_to_test_on_are_told_by_the_names_of_splits(tmp_path):
    names = ["train", "training", "test"]
    path = write_papers(tmp_path / "x.jsonl", [{"label": "a", "split": name} for name in names])
    assert read_labelled(path, fewest=1).test == (False, False, True)


def test_a_fifth_of_each_class_is_drawn_where_nothing_divides_them(tmp_path):
    path = write_papers(tmp_path / "x.jsonl", [{"label": name} for name in "a" * 10 + "b" * 24])
    data = read_labelled(path)
    assert Counter(zip(data.classes, data.test, strict=True)) == {
        ("a", True): 2,
        ("a", False): 8,
        ("b", True): 4,
        ("b", False): 20,
    }
    assert read_labelled(path) == data


def test_the_command(tmp_path):
    make_model(tmp_path / "model")
    words = {"bio": WORDS[:12], "sky": WORDS[-6:]}
    rows = [{"label": name, "title": " ".join(np.roll(words[name], i)[:4])} for i in range(40) for name in words]
    path = write_papers(tmp_path / "x.jsonl", rows)
    given = ("eval", "miread", "--data", path, "--model", tmp_path / "model")
    done = ses(tmp_path, *given, "--clusters", "2", "--clusters", "10", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["data"], facts["label"]) == (str(path), "label")
    told = {row["part"]: row for row in facts["rows"]}
    assert list(told) == ["probe", "clusters", "pairs"]
    assert list(told["clusters"]["measures"]) == ["purity k=2", "NMI k=2", "purity k=10", "NMI k=10"]
    assert told["probe"]["counts"]["papers_tested"] == 16
    assert told["pairs"]["measures"]["AP"]["mean"] > 0.6
    assert told["clusters"]["measures"]["purity k=10"]["mean"] > 0.8
    fails(ses(tmp_path, *given, "--label", "venue"), 2, "name another --label")


def test_ohsumed_is_learnt(data_dir):
    data = read_labelled(data_dir / "train" / "ohsumed.jsonl.xz")
    assert Counter(data.test) == {True: 4043, False: 3357}
    assert len(set(data.classes)) == 23


def test_what_cannot_be_measured_is_told_before_anything_is_embedded(tmp_path):
    lines = [{"id": f"{n}", "title": "x", "label": "ab"[n % 2]} for n in range(20)]
    write_lines(tmp_path / "p.jsonl", lines)
    data = read_labelled(tmp_path / "p.jsonl")
    with pytest.raises(InputError, match="20 papers can't be divided into 50 clusters"):
        evaluate_miread(data, lambda *_: pytest.fail("embedded"), clusters=(10, 50))
    with pytest.raises(InputError, match="fewer than two classes"):
        evaluate_miread(data.only(range(0, 20, 2), "x"), lambda *_: pytest.fail("embedded"))
