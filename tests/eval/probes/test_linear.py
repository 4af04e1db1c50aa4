"""Linear probes."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from eval.probes.linear import classify, classify_multi_label, regress, train_epochs


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


@pytest.mark.slow
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


def test_the_first_steps_by_hand():
    vectors, classes = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0, 1])
    first, second = train_epochs(vectors, classes, epochs=2, batch=2, rate=0.1)
    # From 0 both classes have 1/2, and Adam's first step is the rate times the gradient's sign; the constant's is 0.
    np.testing.assert_allclose(first.weights, [[0.1, -0.1], [-0.1, 0.1], [0, 0]], atol=1e-6)
    p = 1 / (1 + np.exp(-0.2))  # of the right class of the first row
    before, after = -0.25, (p - 1) / 2
    mean = (0.9 * 0.1 * before + 0.1 * after) / (1 - 0.9**2)
    square = (0.999 * 0.001 * before**2 + 0.001 * after**2) / (1 - 0.999**2)
    assert second.weights[0, 0] == pytest.approx(0.1 - 0.1 * mean / np.sqrt(square), abs=1e-6)


def test_it_leads_to_the_optimum():
    from sklearn import linear_model

    rng = np.random.default_rng(0)
    vectors, classes = rng.standard_normal((200, 3)), rng.integers(0, 3, 200)
    *_, model = train_epochs(vectors, classes, epochs=400, batch=200, rate=0.05)
    wanted = linear_model.LogisticRegression(C=1e6, tol=1e-8, max_iter=1000).fit(vectors, classes)
    odds = model.logits(vectors)
    share = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(share, wanted.predict_proba(vectors), atol=1e-3)
    assert model.predict(vectors).tolist() == odds.argmax(axis=1).tolist()


def test_seeds_order_the_rows():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((50, 3)), rng.integers(0, 2, 50)
    a, b, c = (next(train_epochs(*data, epochs=1, batch=7, rate=0.01, seed=seed)).weights for seed in (0, 0, 1))
    assert (a == b).all()
    assert (a != c).any()
