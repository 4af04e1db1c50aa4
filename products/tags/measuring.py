"""Measures a tagger on labelled papers that it was not trained on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from corpora.errors import require
from products.tags.labels import LabelledPapers
from products.tags.measures import measured
from products.tags.tagger import Tagger

if TYPE_CHECKING:
    import numpy as np


def measure_tagger(tagger: Tagger, papers: LabelledPapers, vectors: np.ndarray, made_from: str) -> Tagger:
    """Return a tagger with its measures on labelled papers.

    Args:
        tagger: To measure.
        papers: With labels.
        vectors: float32 (papers, dimension), theirs.
        made_from: Where the labels came from, in words.

    Returns:
        The tagger; the numbers of papers that its labels were trained on stay.

    Raises:
        InputError: If it has none of the labels.
    """
    shared = [label for label in tagger.labels if label in papers.labels]
    require(shared, f"The tagger {tagger.name} has none of the labels from {made_from}.")
    own = [tagger.labels.index(label) for label in shared]
    probabilities = tagger.probabilities(vectors)
    before = {one.label: one.trained for one in tagger.measures.labels} if tagger.measures else {}
    found = measured(
        probabilities[:, own],
        tagger.given(probabilities)[:, own],
        papers.truth[:, [papers.labels.index(label) for label in shared]],
        shared,
        thresholds=tagger.thresholds[own],
        trained=[before.get(label, 0) for label in shared],
        how=f"{len(vectors):,} papers with labels from {made_from}",
    )
    return replace(tagger, measures=found)
