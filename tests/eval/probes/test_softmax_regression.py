"""Adam's steps by hand, and where they lead against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from eval.probes.softmax_regression import train_epochs


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
