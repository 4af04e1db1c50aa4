"""Probes that choose their settings by nested cross-validation, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from corpora.errors import InputError
from eval.probes.nested import (
    PENALTIES,
    class_targets,
    folds,
    label_targets,
    learn,
    macro_f1_of,
    number_targets,
    ridge,
    support_vectors,
)


def blobs(rows=150, classes=3, size=6, spread=1.0, seed=0):
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, classes, rows)
    return 2 * np.eye(classes, size)[truth] + spread * draw.standard_normal((rows, size)), truth


@pytest.mark.parametrize("rows", [40, 12])
def test_ridge_is_scikit_learns(rows):
    draw = np.random.default_rng(1)
    matrix, others, targets = draw.standard_normal((rows, 20)), draw.standard_normal((7, 20)), draw.random((rows, 2))
    unit = np.square(matrix - matrix.mean(axis=0)).sum() / 20
    scores, stopped = ridge(matrix, targets, others, [1.0, 0.01])
    for penalty, found in zip((1.0, 0.01), scores, strict=True):
        assert found == pytest.approx(Ridge(alpha=penalty * unit).fit(matrix, targets).predict(others), abs=1e-8)
    assert stopped == 0


def test_support_vectors_are_scikit_learns_and_a_label_of_all_or_none_is_told():
    matrix, truth = blobs()
    targets = np.column_stack([truth == 0, np.ones(150), np.zeros(150)]).astype(float)
    scores, stopped = support_vectors(matrix, targets, matrix[:9], [0.1])
    unit = np.square(matrix - matrix.mean(axis=0)).mean()
    fitted = LinearSVC(C=0.1 / unit, max_iter=5_000, random_state=0).fit(matrix, truth == 0)
    assert scores[0, :, 0] == pytest.approx(fitted.decision_function(matrix[:9]))
    assert (scores[0, :, 1] > 0).all()
    assert (scores[0, :, 2] < 0).all()
    assert stopped == 0


@pytest.mark.slow
def test_models_that_stop_early_are_counted(monkeypatch):
    monkeypatch.setattr("eval.probes.nested.MOST_ITERATIONS", 1)
    matrix, truth = blobs()
    learnt = learn(matrix, class_targets([f"c{one}" for one in truth]), matrix, probe="svm")
    assert learnt.not_converged == 3


@pytest.mark.parametrize("probe", ["ridge", "svm"])
def test_classes_are_told(probe):
    matrix, truth = blobs(spread=0.3)
    targets = class_targets([f"c{one}" for one in truth])
    learnt = learn(matrix[:100], targets.of(np.arange(100)), matrix[100:], probe=probe)
    assert targets.names == ("c0", "c1", "c2")
    assert macro_f1_of(targets.values[100:], learnt.said) > 0.95
    assert (learnt.said.sum(axis=1) == 1).all()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_size_of_vectors_does_not_matter(scale):
    matrix, truth = blobs(spread=1.5)
    targets = class_targets([f"c{one}" for one in truth])
    whole = learn(matrix[:100], targets.of(np.arange(100)), matrix[100:])
    scaled = learn(scale * matrix[:100] + scale, targets.of(np.arange(100)), scale * matrix[100:] + scale)
    assert (scaled.said == whole.said).all()
    assert scaled.setting == whole.setting


def test_numbers_of_other_sizes_are_standardised_where_that_helps():
    draw = np.random.default_rng(3)
    matrix = draw.standard_normal((200, 40))
    numbers = matrix[:, 0] + 0.3 * draw.standard_normal(200)
    matrix[:, 0] *= 0.01
    matrix[:, 1] = 0  # a number that is the same in all vectors has no deviation
    learnt = learn(matrix[:150], number_targets(numbers[:150]), matrix[150:])
    assert learnt.setting.standardised
    assert np.corrcoef(learnt.said[:, 0], numbers[150:])[0, 1] > 0.8


def test_a_penalty_is_chosen_by_papers_held_out():
    draw = np.random.default_rng(4)
    learnt = learn(draw.standard_normal((60, 30)), number_targets(draw.standard_normal(60)), np.zeros((2, 30)))
    assert learnt.setting.strength == PENALTIES[0]
    assert learnt.at_end
    matrix = draw.standard_normal((300, 5))
    exact = learn(matrix, number_targets(matrix @ np.arange(5)), matrix)
    assert exact.setting.strength == PENALTIES[-1]
    assert exact.said[:, 0] == pytest.approx(matrix @ np.arange(5), abs=1e-2)


def test_rare_labels_have_thresholds_of_their_own():
    draw = np.random.default_rng(5)
    matrix = draw.standard_normal((400, 5))
    labels = [["rare"] * int(row[0] > 1.4) + ["other"] for row in matrix]
    targets = label_targets(labels, ["rare"])
    learnt = learn(matrix[:300], targets.of(np.arange(300)), matrix[300:])
    said = learnt.said[:, 0]
    assert f1_score(targets.values[300:, 0], said) > 0.75
    # Without a threshold of its own, a least-squares score reaches one half for fewer papers.
    assert said.sum() > (ridge(matrix[:300], targets.values[:300], matrix[300:], [1e-3])[0][0] > 0.5).sum()


def test_macro_f1_is_scikit_learns():
    draw = np.random.default_rng(6)
    truth, said = draw.integers(0, 2, (30, 4)).astype(float), draw.integers(0, 2, (30, 4)).astype(float)
    assert macro_f1_of(truth, said) == pytest.approx(f1_score(truth, said, average="macro"))
    truth[:, 1] = said[:, 1] = 0
    truth[0, 1] = 1  # a label of one paper, which is not found
    assert macro_f1_of(truth, said) == pytest.approx(f1_score(truth, said, average="macro", zero_division=0))
    truth[:, 0] = said[:, 0] = 0
    assert macro_f1_of(truth, said) == pytest.approx(f1_score(truth[:, 1:], said[:, 1:], average="macro"))
    assert macro_f1_of(np.zeros((3, 1)), np.zeros((3, 1))) == 0


def test_folds_hold_every_paper_once_and_equal_shares_of_classes():
    targets = class_targets(["a"] * 20 + ["b"] * 10)
    predicted = [predict for _, predict in folds(targets, 5, 0)]
    assert sorted(np.concatenate(predicted)) == list(range(30))
    assert all(targets.values[rows].sum(axis=0).tolist() == [4, 2] for rows in predicted)


def test_what_can_not_be_learnt_is_refused():
    with pytest.raises(InputError, match="fewer than two classes"):
        class_targets(["a", "a"])
    with pytest.raises(InputError, match="no label to predict"):
        label_targets([["a"]], [])
    with pytest.raises(InputError, match="2 papers can't be divided into 3 parts"):
        learn(np.eye(2), number_targets([1.0, 2.0]), np.eye(2))
