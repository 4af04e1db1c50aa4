"""Linear probes, against scikit-learn called independently."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from eval.probes.linear import classify, classify_multi_label, regress


@pytest.fixture(scope="module")
def data():
    draw = np.random.default_rng(3)
    train, test = draw.standard_normal((150, 12)).astype(np.float32), draw.standard_normal((60, 12)).astype(np.float32)
    weights = draw.standard_normal((12, 3))
    noise = 2 * draw.standard_normal((150, 3))
    return train, test, train @ weights + noise


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_class_a_row_is_scikit_learns_own_search(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    train, test, scores = data
    labels = scores.argmax(axis=1)
    oracle = GridSearchCV(LinearSVC(loss="squared_hinge", random_state=42), {"C": np.logspace(-2, 2, 5)}, cv=3)
    oracle.fit(train, labels)
    ours = classify(train, labels, test)
    assert ours.labels.tolist() == oracle.predict(test).tolist()
    assert ours.chosen == (pytest.approx(oracle.best_params_["C"]),)
    assert ours.solver.startswith("LinearSVC(squared_hinge) of scikit-learn ")
    assert classify(train, labels, test, jobs=2).labels.tolist() == ours.labels.tolist()

    plain = LinearSVC(random_state=42).fit(train[:20], labels[:20]).predict(test)
    assert classify(train[:20], labels[:20], test, grid=(1.0,)).labels.tolist() == plain.tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_numbers_are_scikit_learns_own_search(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVR

    train, test, scores = data
    oracle = GridSearchCV(LinearSVR(random_state=42), {"C": np.logspace(-4, 2, 7)}, cv=3).fit(train, scores[:, 0])
    ours = regress(train, scores[:, 0], test)
    assert ours.labels == pytest.approx(oracle.predict(test), abs=1e-6)
    assert ours.chosen == (pytest.approx(oracle.best_params_["C"]),)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_each_label_has_a_search_of_its_own(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    train, test, scores = data
    labels = (scores > 0).astype(int)
    labels[:, 2] = 1  # true of every training row, so of every test row
    ours = classify_multi_label(train, labels, test)
    assert ours.labels[:, 2].tolist() == [1] * 60
    assert len(ours.chosen) == 2
    for column in (0, 1):
        single = LinearSVC(max_iter=10_000, loss="hinge", random_state=42)
        oracle = GridSearchCV(single, {"C": np.logspace(-2, 2, 5)}, cv=3).fit(train, labels[:, column])
        assert ours.labels[:, column].tolist() == oracle.predict(test).tolist()


def test_probes_that_stop_early_are_counted(data):
    train, test, _ = data
    noise = np.random.default_rng(0).integers(2, size=len(train))
    assert classify(train * 1000, noise, test * 1000).not_converged in (0, 1)
    assert regress(train * 1000, noise * 1000.0, test, grid=(100.0,)).not_converged == 1


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_what_cant_be_learnt_is_said(data, rows):
    train, test, _ = data
    with pytest.raises(InputError, match=r"no labelled paper|can't be trained on these"):
        classify(train[:rows], np.zeros(rows, int), test)
