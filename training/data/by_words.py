"""Predicts a paper's number from its words alone, by a model that did not see this paper.

The text of a paper says little about numbers such as its citations; the rest looks like chance. Learned from thousands
of papers at once, a ridge regression on words gives the part that the text can explain. A small network learns that
part from fewer papers than it needs to learn the numbers themselves (distillation, Hinton et al. 2015,
arXiv:1503.02531).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from corpora.installed import needing
from training.data.chance import drawn

if TYPE_CHECKING:
    import numpy as np

_FOLDS = 5
_WORDS, _FEWEST, _PENALTY = 30_000, 5, 2.0


def expected_by_words(ids: Sequence[str], texts: Sequence[str], values: np.ndarray, seed: int) -> np.ndarray:
    """Return each paper's number as its words predict it.

    Args:
        ids: Of the papers; with the seed they decide the folds.
        texts: Of the papers.
        values: Their numbers, float64 (papers,).
        seed: Of the folds.

    Returns:
        float64 (papers,): the prediction of a ridge regression on TF-IDF of the words, learned from the papers of the
        other four folds.

    Raises:
        UnavailableError: If scikit-learn is not installed.
    """
    import numpy as np

    with needing("The option words needs scikit-learn", "'ses[eval]'"):
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import Ridge
    fewest = min(_FEWEST, 1 + len(ids) // 100)
    words = TfidfVectorizer(max_features=_WORDS, min_df=fewest, stop_words="english", sublinear_tf=True)
    rows = words.fit_transform(texts)
    folds = np.array([int(_FOLDS * drawn(f"{seed} folds", one)) for one in ids])
    expected = np.full(len(ids), values.mean())
    for fold in set(folds.tolist()):
        learned, told = folds != fold, folds == fold
        if learned.any():
            expected[told] = (
                Ridge(alpha=_PENALTY, solver="sparse_cg").fit(rows[learned], values[learned]).predict(rows[told])
            )
    return expected
