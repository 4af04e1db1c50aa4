"""Vectors of a protocol's papers and queries: from an encoder, or from embedding files made before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corpora.errors import InputError
from encoders.files.embeddings import Embeddings
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from search_plugin.contract.legs import unit_rows

BLOCK = 512
"""Texts encoded together. They are cut by position, so that a second run finds them in the embedding cache."""


@dataclass(frozen=True, slots=True)
class Text:
    """A paper with title and abstract, or a query: its title is the whole of it, and its abstract is None.

    The id is unique within a protocol's papers, or within its queries.
    """

    id: str
    title: str
    abstract: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors, float32 (texts that have one, dimension), and the row of each by id.

    Each protocol has its own rule for texts without a vector, and counts them.
    """

    rows: Mapping[str, int]
    matrix: np.ndarray

    def known(self, ids: Iterable[str]) -> list[str]:
        """Return the ids that have a vector, in their order."""
        return [name for name in ids if name in self.rows]

    def of(self, ids: Iterable[str]) -> np.ndarray:
        """Return the vectors of ids that have one, float32 (ids, dimension), in their order."""
        found: np.ndarray = self.matrix[[self.rows[name] for name in ids]]
        return found

    def directions(self, ids: Iterable[str]) -> np.ndarray:
        """Return the vectors of ids at length one, float64 (ids, dimension)."""
        return unit_rows(self.of(ids).astype(np.float64))


Embedder = Callable[[Sequence[Text], Format], Vectors]
"""A function from texts, and the format that their vectors are for, to vectors."""


def by_encoder(encoder: TextEncoder) -> Embedder:
    """Return an embedder that encodes; with an embedding cache, texts it has seen before are not encoded again."""

    def embed(texts: Sequence[Text], task_format: Format) -> Vectors:
        prompts = [encoder.card.text(text.title, text.abstract) for text in texts]
        blocks = [prompts[start : start + BLOCK] for start in range(0, len(prompts), BLOCK)]
        parts = [encoder.encode(block, task_format) for block in blocks]
        matrix = np.concatenate(parts) if parts else np.empty((0, encoder.card.dimension), np.float32)
        return Vectors({text.id: row for row, text in enumerate(texts)}, matrix)

    return embed


def by_file(embeddings: Embeddings) -> Embedder:
    """Return an embedder that looks vectors up by id in a file, whatever the format.

    Ids that the file lacks have no vector; a file that lacks all requested ids is an `InputError`.
    """
    rows = {name: row for row, name in enumerate(embeddings.ids)}

    def embed(texts: Sequence[Text], task_format: Format) -> Vectors:  # noqa: ARG001 - a file is of one format
        found = {text.id: rows[text.id] for text in texts if text.id in rows}
        if texts and not found:
            raise InputError(
                f"The embeddings belong to other papers: they have ids such as {embeddings.ids[0]!r}, and none of the "
                f"{len(texts):,} wanted, such as {texts[0].id!r}; name another file, or correct its ids."
            )
        return Vectors(found, embeddings.vectors)

    return embed


def by_format(embedders: Mapping[Format, Embedder], default: Embedder) -> Embedder:
    """Return an embedder that takes each format from another: a model, an adapter or a file of its own."""
    return lambda texts, task_format: embedders.get(task_format, default)(texts, task_format)
