"""Formats against the base: measures, paired intervals, and what may not win."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import f1_score
from sklearn.neighbors import NearestCentroid

from corpora.errors import InputError
from encoders.files.embeddings import Embeddings
from encoders.models.formats import Format
from eval.embedder import Text, by_file, by_format
from eval.files.labelled import Labelled
from eval.formats import _Said, _weighted_f1, compare_formats, evaluate_formats
from eval.probes.nested import class_targets, folds, label_targets, learn, number_targets
from tests.commands import fails, ses
from tests.eval.vectors_by_hand import write_lines, write_vectors
from tests.tiny import WORDS, make_model


def papers(rows=200, classes=4, size=8, spread=1.0, seed=0):
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, classes, rows)
    return 1.5 * np.eye(classes, size)[truth] + spread * draw.standard_normal((rows, size)), [
        f"c{one}" for one in truth
    ]


def test_better_vectors_gain_beyond_doubt_and_spread_alone_gains_nothing():
    matrix, classes = papers()
    draw = np.random.default_rng(1)
    turned = np.linalg.qr(draw.standard_normal((8, 8)))[0]
    others = {"better": matrix + 0.7 * papers(spread=0.0)[0], "spread": 100 * matrix @ turned + 5}
    found = compare_formats({"base": matrix, **others}, class_targets(classes), draws=2)
    assert list(found.outcomes["base"].cells) == ["F1", "F1, nearest centroid", "F1, 4 a label", "F1, 16 a label"]
    assert list(found.gains) == ["better", "spread"]
    assert all(gain.low > 0 for gain in found.gains["better"].values())
    assert found.gains["spread"]["F1"].low <= 0 <= found.gains["spread"]["F1"].high
    for name in others:
        for measure, gain in found.gains[name].items():
            means = [found.outcomes[one].cells[measure].mean for one in (name, "base")]
            assert gain.mean == pytest.approx(means[0] - means[1], abs=1e-6)
    assert found.outcomes["base"].counts == {"papers": 200, "labels": 4, "not_converged": 0, "settings_at_an_end": 0}
    assert list(found.rows()) == ["base", "better", "spread", "better less base", "spread less base"]
    assert found.rows()["spread less base"].cells == found.gains["spread"]


def test_a_paired_interval_of_the_same_vectors_has_no_width():
    matrix, classes = papers(rows=120)
    found = compare_formats({"base": matrix, "same": matrix.copy()}, class_targets(classes), shots=())
    assert {(gain.low, gain.mean, gain.high) for gain in found.gains["same"].values()} == {(0.0, 0.0, 0.0)}


def test_each_fold_is_predicted_by_the_others():
    matrix, classes = papers(rows=120)
    targets, said, near = class_targets(classes), np.empty((120, 4)), np.empty(120, object)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    for fit, predict in folds(targets, 5, 3):
        said[predict] = learn(matrix[fit], targets.of(fit), matrix[predict], seed=3).said
        centroids = NearestCentroid().fit(unit[fit], np.array(classes)[fit])
        middle = centroids.centroids_ / np.linalg.norm(centroids.centroids_, axis=1, keepdims=True)
        near[predict] = centroids.classes_[(unit[predict] @ middle.T).argmax(axis=1)]
    cells = compare_formats({"base": matrix}, targets, shots=(), seed=3).outcomes["base"].cells
    assert cells["F1"].mean == pytest.approx(f1_score(targets.values, said, average="macro"), abs=1e-6)
    assert cells["F1, nearest centroid"].mean == pytest.approx(f1_score(classes, near, average="macro"), abs=1e-6)


def test_a_few_papers_of_each_label_are_learnt_and_all_others_predicted(monkeypatch):
    matrix, classes = papers(rows=100)
    learnt, drawn = [], set()
    rarest = min(map(classes.count, set(classes)))

    def spy(train, targets, test, **options):
        learnt.append((len(train), len(test), targets.values.sum(axis=0).tolist()))
        drawn.add(float(train.sum()))
        return learn(train, targets, test, **options)

    monkeypatch.setattr("eval.formats.learn", spy)
    cells = compare_formats({"base": matrix}, class_targets(classes), shots=(2, 3, 40), draws=4).outcomes["base"].cells
    assert learnt[5:] == [(8, 92, [2.0] * 4)] * 4 + [(12, 88, [3.0] * 4)] * 4
    assert "F1, 40 a label" not in cells  # too few papers have each label
    assert len(drawn) == 13  # five folds, and other papers each time
    assert cells["F1, 3 a label"].mean < cells["F1"].mean
    shots = (rarest // 2, rarest // 2 + 1)  # of the second there would be too few to test on
    cells = compare_formats({"base": matrix}, class_targets(classes), shots=shots, draws=1).outcomes["base"].cells
    assert list(cells)[2:] == [f"F1, {shots[0]} a label"]


def test_the_interval_is_of_papers():
    matrix, classes = papers(rows=300, spread=2.0)
    narrow = compare_formats({"base": matrix}, class_targets(classes), shots=()).outcomes["base"].cells["F1"]
    wide = compare_formats({"base": matrix[:60]}, class_targets(classes[:60]), shots=()).outcomes["base"].cells["F1"]
    assert narrow.low < narrow.mean < narrow.high
    assert 1.4 < (wide.high - wide.low) / (narrow.high - narrow.low) < 4


def test_labels_that_no_drawn_paper_has_are_left_out_of_the_mean():
    draw = np.random.default_rng(7)
    truth, said = draw.integers(0, 2, (2, 40, 3)).astype(float)
    weights = draw.integers(0, 3, (2, 40)).astype(np.float32)
    weights[1, (truth[:, 0] + said[:, 0]) > 0] = 0
    tested = np.ones((40, 1), bool)
    wanted = [f1_score(truth, said, average="macro", sample_weight=weights[0])]
    wanted.append(f1_score(truth[:, 1:], said[:, 1:], average="macro", sample_weight=weights[1]))
    assert _weighted_f1(weights, truth, _Said(said[:, :, None], tested)) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.slow
def test_labels_and_numbers():
    draw = np.random.default_rng(2)
    matrix = draw.standard_normal((200, 6))
    labels = [["a"] * int(row[0] > 0.5) + ["b"] * int(row[1] > 1) for row in matrix]
    found = compare_formats({"base": matrix[:, 2:], "whole": matrix}, label_targets(labels, ["a", "b"]))
    assert list(found.gains["whole"]) == ["F1"]
    assert found.gains["whole"]["F1"].low > 0
    numbers = matrix[:, 0] + 0.5 * draw.standard_normal(200)
    found = compare_formats({"base": matrix[:, 1:], "whole": matrix}, number_targets(numbers))
    gain = found.gains["whole"]["kendalltau"]
    assert gain.low > 0.3
    said = np.empty(200)
    for fit, predict in folds(number_targets(numbers), 5, 0):
        said[predict] = learn(matrix[fit], number_targets(numbers[fit]), matrix[predict]).said[:, 0]
    cells = [found.outcomes[name].cells["kendalltau"].mean for name in ("base", "whole")]
    assert cells[1] == pytest.approx(kendalltau(numbers, said).statistic)
    assert gain.mean == pytest.approx(cells[1] - cells[0])


def test_vectors_of_other_papers_are_refused():
    with pytest.raises(InputError, match="new has vectors of 3 papers, and 4 papers have a label"):
        compare_formats({"base": np.eye(4), "new": np.eye(3, 4)}, class_targets(["a", "b", "a", "b"]))
    with pytest.raises(InputError, match="no vectors to compare"):
        compare_formats({}, class_targets(["a", "b"]))


def labelled(classes):
    texts = tuple(Text(f"p{row}", "a title", "") for row in range(len(classes)))
    return Labelled(texts, tuple((one, "all") for one in classes), (False,) * len(classes), {"papers_twice": 2})


def test_formats_are_measured_on_the_papers_that_all_have_vectors_of():
    matrix, classes = papers(rows=120)
    ids = [f"p{row}" for row in range(120)]
    base = by_file(Embeddings(ids, matrix.astype(np.float32)))
    other = by_file(Embeddings(ids[:100], matrix[:100].astype(np.float32)))
    embed, formats = by_format({Format.CLF: other}, base), (Format.PRX, Format.CLF)
    found = evaluate_formats(labelled(classes), embed, formats)
    own = {"papers": 100, "labels": 4, "papers_missing": 20, "papers_twice": 2}
    assert {name: found.outcomes["clf"].counts[name] for name in own} == own
    wanted = compare_formats({"prx": matrix[:100].astype(np.float32)}, class_targets(classes[:100]))
    assert found.outcomes["prx"].cells == wanted.outcomes["prx"].cells
    several = evaluate_formats(labelled(classes), embed, formats, several=True, fewest=1)
    assert several.outcomes["prx"].counts["labels"] == 5
    assert (
        evaluate_formats(labelled(classes), embed, formats, several=True, fewest=60).outcomes["prx"].counts["labels"]
        == 1
    )


def test_verdicts_say_what_is_beyond_doubt():
    matrix, classes = papers()
    better = matrix + papers(spread=0.0)[0]
    for vectors, said in (
        ({"prx": matrix, "clf": better}, "clf is better than prx beyond doubt: F1 +0."),
        ({"prx": better, "clf": matrix}, "clf is worse than prx beyond doubt: F1 -0."),
        ({"prx": matrix, "clf": matrix}, "clf is not shown to differ from prx: F1 +0.000 [+0.000, +0.000]."),
    ):
        (sentence,) = compare_formats(vectors, class_targets(classes), shots=()).verdicts()
        assert sentence.startswith(said)


@pytest.mark.slow
def test_the_command(tmp_path):
    make_model(tmp_path / "model")
    words = {"bio": WORDS[:12], "sky": WORDS[-6:]}
    rows = [
        {"id": f"{name}{i}", "label": name, "title": " ".join(np.roll(words[name], i)[:4])}
        for i in range(30)
        for name in words
    ]
    path = write_lines(tmp_path / "x.jsonl", rows)
    draw = np.random.default_rng(0)
    vectors = write_vectors(tmp_path / "v.jsonl", {row["id"]: draw.standard_normal(4) for row in rows})
    given = ("eval", "formats", "--data", path, "--model", tmp_path / "model")
    done = ses(tmp_path, *given, "--embeddings", f"clf={vectors}", "--most", "50", "--json")
    assert done.returncode == 0, done.stderr
    told = {row["vectors"]: row for row in json.loads(done.stdout)["rows"]}
    assert list(told) == ["prx", "clf", "clf less prx"]
    assert told["prx"]["measures"]["F1"]["mean"] > 0.9
    assert told["clf less prx"]["measures"]["F1"]["high"] < 0
    assert told["clf"]["counts"]["papers_not_drawn"] == 10
    done = ses(tmp_path, *given, "--embeddings", f"clf={vectors}")
    assert done.stdout.splitlines()[-1].startswith("clf is worse than prx beyond doubt: F1 -")
    fails(ses(tmp_path, *given), 2, "the same vectors for all formats", "--embeddings FORMAT=FILE")
    (tmp_path / "model" / "ses_card.json").write_text('{"prompts": {"clf": "brain: "}}')
    told = json.loads(ses(tmp_path, *given, "--json").stdout)
    assert [row["vectors"] for row in told["rows"]] == ["prx", "clf", "clf less prx"]
    assert (told["data"], told["label"]) == (str(path), "label")
