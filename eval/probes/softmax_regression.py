"""Multinomial logistic regression trained by Adam an epoch at a time, for probes that prescribe just that.

Not scikit-learn's: its logistic regression goes on to convergence, and its networks start from random weights, which so
few steps at so small a rate would not outgrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

DECAY, SQUARED_DECAY, EPSILON = 0.9, 0.999, 1e-8
"""Adam's own constants (Kingma & Ba 2015, algorithm 1)."""


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxRegression:
    """Weights (dimension + 1, classes); the last row belongs to a constant."""

    weights: np.ndarray

    def logits(self, vectors: np.ndarray) -> np.ndarray:
        """Return the log-odds of each class up to a constant, (rows, classes)."""
        return np.asarray(vectors @ self.weights[:-1] + self.weights[-1])

    def predict(self, vectors: np.ndarray) -> np.ndarray:
        """Return the likeliest class of each row, int64 (rows,), of vectors (rows, dimension)."""
        return np.asarray(self.logits(vectors).argmax(axis=1))


def train_epochs(
    vectors: np.ndarray,
    classes: np.ndarray,
    *,
    epochs: int,
    batch: int,
    rate: float,
    seed: int = 0,
) -> Iterator[SoftmaxRegression]:
    """Train from weights of 0, without a penalty, and yield the model as it is after each epoch.

    The vectors are (rows, dimension), the classes whole numbers from 0, (rows,). Each epoch takes the rows in an order
    of its own, `batch` of them a step; `rate` is Adam's learning rate.
    """
    rows = np.column_stack([vectors, np.ones(len(vectors))])
    weights = np.zeros((rows.shape[1], int(classes.max()) + 1))
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    generator, step = np.random.default_rng(seed), 0
    for _ in range(epochs):
        order = generator.permutation(len(rows))
        for start in range(0, len(rows), batch):
            chosen, step = order[start : start + batch], step + 1
            gradient = _gradient(rows[chosen], classes[chosen], weights)
            mean = DECAY * mean + (1 - DECAY) * gradient
            square = SQUARED_DECAY * square + (1 - SQUARED_DECAY) * gradient**2
            scale = np.sqrt(square / (1 - SQUARED_DECAY**step)) + EPSILON
            weights = weights - rate * mean / (1 - DECAY**step) / scale
        yield SoftmaxRegression(weights)


def _gradient(rows: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the gradient of the mean cross-entropy."""
    odds = rows @ weights
    share = np.exp(odds - odds.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    share[np.arange(len(rows)), classes] -= 1
    return np.asarray(rows.T @ share / len(rows))
