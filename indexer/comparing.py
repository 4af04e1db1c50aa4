"""Whether a model made the vectors that an index of others holds: a sample of documents is encoded and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from corpora.errors import require
from corpora.lazy import np
from encoders.models.formats import Format
from indexer.job import ComparedVectors
from search_plugin.engines.cluster.attached.index import AttachedIndex

if TYPE_CHECKING:
    from corpora.paper import Paper
    from encoders.models.card import ModelCard
    from encoders.text_encoder import TextEncoder
    from search_plugin.contract.schema import ForeignField
    from search_plugin.engines.cluster.attached.attachment import Attachment
    from search_plugin.engines.cluster.attached.engine import AttachingEngine

SAMPLE = 20
"""Documents that are encoded."""

LEAST = 0.7
"""The least median cosine. Vectors of the same model and of another text of a document are mostly nearer than that;
those of another model have a cosine near 0."""

_TEXTS: Mapping[str, Callable[[ModelCard, Paper], str]] = {
    "title and abstract, as the model separates them": lambda card, paper: card.text(paper.title, paper.abstract),
    "title and abstract": lambda _, paper: f"{paper.title} {paper.abstract}".strip(),
    "title, a full stop and abstract": lambda _, paper: f"{paper.title}. {paper.abstract}".strip(),
    "abstract": lambda _, paper: paper.abstract,
    "title": lambda _, paper: paper.title,
}
"""The texts of a document that its owner may have encoded."""


def compare(
    engine: AttachingEngine,
    found: Attachment,
    loaders: Mapping[str, Callable[[], TextEncoder]],
    *,
    unchecked: bool = False,
) -> tuple[ComparedVectors, ...]:
    """Compare the vectors of an index of others with those of the models that a user names for them.

    `loaders` load the models, by field. Returns the median cosine for each field, by the text that gives the highest
    one. Raises `InputError` if a model gives other vectors, unless they are accepted unchecked.
    """
    index = AttachedIndex(engine.cluster, engine.dialect, found, None)
    compared = tuple(_compared(index, field, loaders[field.format]) for field in found.foreign)
    for one, field in zip(compared, found.foreign, strict=True):
        require(
            unchecked or one.documents or field.unit == "passage",
            f"No document of {found.target} with a title has a vector in {one.field}, so it can't be compared with "
            f"{one.model}",
            "name another field, or give <unchecked>",
        )
        require(
            unchecked or one.cosine is None or one.cosine >= LEAST,
            f"The vectors {one.field} of {found.target} are not of {one.model}: for {one.documents} documents, their "
            f"median cosine to the vectors of that model is {one.cosine or 0:.2f}, and has to be at least {LEAST}",
            "name the model that made them, or give <unchecked> if they are of another text of the documents",
        )
    return compared


def _compared(index: AttachedIndex, field: ForeignField, load: Callable[[], TextEncoder]) -> ComparedVectors:
    none = ComparedVectors(field.format, field.model, 0, "", None)
    if field.unit == "passage":  # which part of a document each one is of, only its owner knows
        return none
    held = index.documents(index.having_vector(field.format, SAMPLE), [field.format]).values()
    sample = [document for document in held if field.format in document.vectors]
    if not sample:
        return none
    encoder, vectors = load(), [document.vectors[field.format] for document in sample]
    medians: dict[str, float] = {}
    for name, text_of in _TEXTS.items():
        texts = [text_of(encoder.card, document.paper) for document in sample]
        medians[name] = _median_cosine(vectors, encoder.encode(texts, Format.PRX))
    best = max(medians, key=medians.__getitem__)
    return ComparedVectors(field.format, field.model, len(sample), best, round(medians[best], 4))


def _median_cosine(held: list[np.ndarray], made: np.ndarray) -> float:
    rows = np.asarray(held, np.float64)
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(made, axis=1)
    return float(np.median(np.sum(rows * made, axis=1) / np.maximum(norms, 1e-12)))
