"""Numbers as words predict them: a ridge regression on TF-IDF, learned from the other folds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from training.data.by_words import expected_by_words
from training.data.chance import drawn


@pytest.mark.parametrize("count", [40, 250, 650])
def test_each_fold_is_predicted_by_the_ridge_regression_on_the_others(count):
    draw = np.random.default_rng(1)
    words = [f"word{number}" for number in range(30)]
    texts = [" ".join(draw.choice(words, 8)) + " the" for _ in range(count)]
    texts[:5] = [f"{text} {'rare ' * (number + 1)}" for number, text in enumerate(texts[:5])]
    values, ids = draw.normal(3, 1, count), [f"p{n}" for n in range(count)]
    # A word that few papers have tells nothing: of n papers, 1 + n / 100, and never more than 5.
    rows = TfidfVectorizer(min_df=min(5, 1 + count // 100), sublinear_tf=True, stop_words="english").fit_transform(
        texts
    )
    rows, wanted = rows.toarray(), np.empty(count)
    folds = np.array([int(5 * drawn("7 folds", one)) for one in ids])
    for fold in range(5):
        known, asked = rows[folds != fold], rows[folds == fold]
        centred, mean = known - known.mean(axis=0), values[folds != fold].mean()
        weights = np.linalg.solve(
            centred.T @ centred + 2 * np.eye(rows.shape[1]), centred.T @ (values[folds != fold] - mean)
        )
        wanted[folds == fold] = (asked - known.mean(axis=0)) @ weights + mean
    np.testing.assert_allclose(expected_by_words(ids, texts, values, 7), wanted, atol=2e-3)


def test_papers_of_one_fold_get_the_mean():
    found = expected_by_words(["a", "a"], ["lung cell", "star light"], np.array([1.0, 3.0]), 1)
    assert found.tolist() == [2, 2]
