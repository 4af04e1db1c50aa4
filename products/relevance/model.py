"""A linear model of relevance: the weighted sum of the scores of a support vector machine for each view of the papers.

Each machine has a squared hinge loss and weighs the classes so that all relevant papers together count more than the
others, with the constants of ASReview's default learner, ELAS u4 (asreview 3, `asreview/models/models.py`), which were
fitted on the reviews of SYNERGY. ELAS u4 itself has one view, the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from products.relevance.views import Views

C = 0.11
"""Inverse strength of the regularisation of each machine."""

RATIO = 9.8
"""How much the relevant papers of a training set weigh against the others, all together."""


def relevance(views: Views, rows: Sequence[int], relevant: Sequence[bool]) -> np.ndarray:
    """Learn from some papers, and score all.

    Args:
        views: Of all papers.
        rows: Of the papers to learn from.
        relevant: Whether each of them is relevant; at least one is, and one is not.

    Returns:
        float64 (papers,), higher for more relevant; the mean over papers is 0.

    Raises:
        InputError: If all of them are relevant, or none is.
    """
    import numpy as np

    labels = np.asarray(relevant, bool)
    if labels.all() or not labels.any():
        raise InputError("A model of relevance needs at least one paper that is relevant, and one that is not.")
    weights = np.where(labels, 1.0, labels.sum() / (RATIO * (~labels).sum()))
    weights *= labels.size / weights.sum()
    learned = [weight * _scores(matrix, list(rows), labels, weights) for matrix, weight in views.matrices]
    total: np.ndarray = np.sum(learned, axis=0) if learned else np.zeros(len(views.ids))
    return total


def _scores(matrix: Any, rows: list[int], labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the standard scores of one machine, so that no view outweighs the others by its scale."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    machine = LinearSVC(C=C, random_state=0)
    with warnings.catch_warnings():
        # A machine that is not quite at its minimum ranks nearly as well.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(matrix[rows], labels, sample_weight=weights)
    scores: np.ndarray = machine.decision_function(matrix)
    spread = scores.std()
    standard: np.ndarray = (scores - scores.mean()) / (spread or 1.0)
    return standard
