"""Papers of an index with their vectors, for products that learn from them; nothing is encoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from search_plugin.planning import SEARCHED

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from corpora.paper import Paper
    from search_plugin.engines.base import Document, Index

_BLOCK = 500  # papers read at once


@dataclass(frozen=True, slots=True, eq=False)
class IndexedPapers:
    """Some papers of an index.

    Attributes:
        papers: In the order of their ids as given.
        vectors: float32 (dimension,) by id; papers without a vector are left out.
    """

    papers: tuple[Paper, ...]
    vectors: Mapping[str, np.ndarray]


def read_papers(index: Index, ids: Iterable[str]) -> IndexedPapers:
    """Read papers and their vectors; ids that the index does not hold are left out."""
    documents = list(_documents(index, list(dict.fromkeys(ids))))
    vectors = {one.paper.id: one.vectors[SEARCHED] for one in documents if SEARCHED in one.vectors}
    return IndexedPapers(tuple(one.paper for one in documents), vectors)


def _documents(index: Index, ids: Sequence[str]) -> Iterator[Document]:
    rest = iter(ids)
    while block := list(islice(rest, _BLOCK)):
        found = index.documents(block, [SEARCHED])
        yield from (found[id_] for id_ in block if id_ in found)
