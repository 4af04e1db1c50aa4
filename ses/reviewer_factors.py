"""The factors by which reviewers are compared with submissions, from what a library can encode and an index holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from corpora.paper import Paper
    from corpora.progress import Progress
    from products.reviewers.factors import FactorBuilder
    from products.reviewers.venue import Venue
    from search_plugin.contract.engine import Document
    from ses.indexing import Indexing

FACTORS = ("semantic", "topic", "words", "citation")
"""By PRX vectors, by CLF vectors, by words, and by references or an instruction for citations."""

_FORMATS = {"semantic": "prx", "topic": "clf"}
_BLOCK = 512


def factor_builders(
    library: Indexing, venue: Venue, factors: Sequence[str], progress: Progress
) -> Callable[[Path], Mapping[str, FactorBuilder]]:
    """Return what builds each factor: submissions are encoded now, the reviewers' papers are read later.

    Args:
        library: Loads models.
        venue: The submissions and reviewers.
        factors: Some of `FACTORS`.
        progress: Receives progress reports.

    Returns:
        A function that makes a builder for each factor, given a folder for files.

    Raises:
        InputError: If a factor is unknown, or can't be computed for this index.
    """
    from products.reviewers.factors import ReferencesBuilder, WordsBuilder

    chosen = tuple(dict.fromkeys(factors))
    if not chosen or set(chosen) - set(FACTORS):
        raise InputError(f"Give one or more of the factors {', '.join(FACTORS)}, not {', '.join(chosen) or 'none'}.")
    makers: dict[str, Callable[[Path], FactorBuilder]] = {}
    for name in chosen:
        if name == "words":
            makers[name] = lambda _: WordsBuilder(venue.submissions)
        elif name == "citation" and any(paper.references for paper in venue.submissions):
            makers[name] = lambda _: ReferencesBuilder(venue.submissions)
        elif name == "citation":
            makers[name] = _by_instruction(library, venue, name, progress)
        else:
            makers[name] = _by_format(library, venue, _FORMATS[name], progress)
    return lambda folder: {name: make(folder) for name, make in makers.items()}


def _by_format(
    library: Indexing, venue: Venue, task_format: str, progress: Progress
) -> Callable[[Path], FactorBuilder]:
    from encoders.models.formats import Format
    from products.reviewers.factors import VectorsBuilder, stored

    venue.index.schema.vector(task_format)
    encoder = library._load(venue.index)
    own = _encoded(encoder, Format(task_format), venue.submissions, progress)
    return lambda folder: VectorsBuilder(own, stored(task_format), folder / f"{task_format}.vectors")


def _by_instruction(
    library: Indexing, venue: Venue, factor: str, progress: Progress
) -> Callable[[Path], FactorBuilder]:
    """Encode submissions and reviewers' papers by the model's instruction for a factor, which no index holds."""
    from encoders.layouts.unipr import factor_models, instructions_for
    from encoders.models.formats import Format
    from encoders.registry import find_model
    from products.reviewers.factors import VectorsBuilder

    instructed = factor_models(find_model(venue.index.schema.model), instructions_for(""))
    if factor not in instructed:
        raise InputError(
            f"The submissions have no references, and the model of the index has no instruction for {factor}",
            "give submissions with references, or leave the factor citation out",
        )
    encode = partial(_encoded, library._encoder(instructed[factor]), Format.PRX)
    own = encode(venue.submissions, progress)
    return lambda folder: VectorsBuilder(own, partial(_read_again, encode), folder / f"{factor}.vectors")


def _encoded(encoder: Any, task_format: Any, papers: Sequence[Paper], progress: Progress | None = None) -> np.ndarray:
    import numpy as np

    if progress:
        progress.stage("encoding", len(papers))
    texts = [encoder.card.text(paper.title, paper.abstract) for paper in papers]
    parts = []
    for start in range(0, len(texts), _BLOCK):
        parts.append(encoder.encode(texts[start : start + _BLOCK], task_format))
        if progress:
            progress.advance(len(parts[-1]))
    return np.concatenate(parts)


def _read_again(encode: Callable[[Sequence[Paper]], np.ndarray], documents: Sequence[Document]) -> np.ndarray:
    return encode([document.paper for document in documents])
