"""Taggers without labelled papers: labels and papers are compared by their vectors.

A label's name and definition are encoded as a query, and a paper is likely to have the label if it is near (SciMult,
Zhang et al. 2023, section 3.1). Some labels are near to every paper, so nearness is counted in standard deviations from
a label's own mean over the papers of the index.
"""

from __future__ import annotations

from corpora.errors import InputError
from corpora.lazy import np
from encoders.heads import Head
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from products.tags.hierarchy import Concept, Hierarchy
from products.tags.tagger import Tagger
from products.trained import TrainedVectors

NEAR = 2.0
"""Standard deviations above a label's mean from which a paper gets it."""

MOST = 3
"""Labels of a paper at most."""


def text_of_label(concept: Concept) -> str:
    """Return what is encoded of a label: its name, and its definition if there is one."""
    return f"{concept.label}. {concept.definition}" if concept.definition else concept.label


def tagger_of_names(
    name: str,
    source: TrainedVectors,
    hierarchy: Hierarchy,
    encoder: TextEncoder,
    vectors: np.ndarray,
    *,
    near: float = NEAR,
    most: int = MOST,
    made_from: str = "",
) -> Tagger:
    """Make a tagger from the names of labels, and their definitions where there are some.

    The encoder is the model of the vectors, float32 (papers, dimension), which are a sample of the papers to tag;
    `source` is what they are, and `made_from` says in words where the labels came from. A paper gets a label from
    `near` standard deviations above the label's mean, and `most` labels at most, beside the broader ones. Scores are no
    probabilities: a score of 0.5 is `near` standard deviations above the mean. Raises `InputError` if there are no
    labels, or too few papers to compare.
    """
    labels = tuple(sorted(hierarchy.concepts))
    if not labels or len(vectors) < 2:
        raise InputError(f"{len(labels)} labels can't be compared with {len(vectors)} papers; give some of both.")
    queries = encoder.encode([text_of_label(hierarchy.concepts[label]) for label in labels], Format.QRY)
    closeness = vectors @ queries.T
    mean, deviation = closeness.mean(axis=0), np.maximum(closeness.std(axis=0), 1e-6)
    weight = (queries / deviation[:, None]).astype(np.float32)
    head = Head(
        name, source.format, labels, several=True, weight=weight, bias=(-mean / deviation - near).astype(np.float32)
    )
    return Tagger(
        name,
        source,
        head,
        np.full(len(labels), 0.5),
        hierarchy=hierarchy,
        most=most,
        method="names",
        made_from=made_from,
    )
