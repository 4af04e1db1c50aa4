"""Reading an index block by block: papers, vectors and values, for what learns from them; nothing is encoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from corpora.custom import FieldValue
from corpora.lazy import np
from corpora.paper import Paper
from search_plugin.contract.engine import Document, Index

_Item = TypeVar("_Item")

BLOCK = 1_000
"""Papers read or written together."""


def in_blocks(items: Iterable[_Item], size: int = BLOCK) -> Iterator[list[_Item]]:
    """Yield items in lists of a size; the last may be shorter."""
    rest = iter(items)
    while block := list(islice(rest, size)):
        yield block


def read_documents(index: Index, ids: Iterable[str], formats: Sequence[str]) -> Iterator[list[Document]]:
    """Yield papers with their vectors of some formats, in blocks, in the order of their ids.

    Ids that the index does not hold are left out. A paper is yielded as often as its id is given.
    """
    for block in in_blocks(ids):
        held = index.documents(list(dict.fromkeys(block)), formats)
        yield [held[id_] for id_ in block if id_ in held]


def read_vectors(index: Index, ids: Iterable[str], format: str) -> Iterator[tuple[list[str], np.ndarray]]:  # noqa: A002
    """Yield the ids that have a vector of a format, in blocks, in their order, with float32 (papers, dimension)."""
    for block in in_blocks(ids):
        held = index.vectors(block, format)
        if found := [id_ for id_ in block if id_ in held]:
            yield found, np.stack([held[id_] for id_ in found])


def read_values(index: Index, fields: Sequence[str]) -> Iterator[tuple[str, Mapping[str, FieldValue]]]:
    """Yield the values of some fields of all papers, by id."""
    for block in in_blocks(index.ids()):
        yield from index.values(block, fields).items()


@dataclass(frozen=True, slots=True, eq=False)
class IndexedPapers:
    """Some papers of an index, and their vectors, float32 (dimension,) by id; a paper may lack one."""

    papers: tuple[Paper, ...]
    vectors: Mapping[str, np.ndarray]


def read_papers(index: Index, ids: Iterable[str]) -> IndexedPapers:
    """Read papers and their vectors; ids that the index does not hold are left out."""
    leg = index.schema.legs[0]
    blocks = read_documents(index, dict.fromkeys(ids), [leg])
    documents = [document for block in blocks for document in block]
    vectors = {one.paper.id: one.vectors[leg] for one in documents if leg in one.vectors}
    return IndexedPapers(tuple(one.paper for one in documents), vectors)
