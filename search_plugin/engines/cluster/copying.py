"""Copies an index within a cluster, page by page: `_reindex` loses vectors that a server keeps out of `_source`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from search_plugin.engines.cluster.errors import ClusterError

if TYPE_CHECKING:
    from search_plugin.engines.cluster.index import ClusterIndex

_PAGE = 500


def copy_documents(source: ClusterIndex, target: ClusterIndex, done: Callable[[int], None]) -> None:
    """Write all papers of an index, with their vectors, values and content hashes, into an empty one.

    Args:
        source: Where they are.
        target: Where they are written; ready for searching afterwards.
        done: Receives how many more papers were written.

    Raises:
        ClusterError: If the cluster refuses a paper, or the copy holds another number of papers.
    """
    formats = [field.format for field in source.schema.vectors]
    written = 0
    ids = list(source.ids())
    for start in range(0, len(ids), _PAGE):
        documents = list(source.documents(ids[start : start + _PAGE], formats).values())
        if refused := target.upsert(documents):
            raise ClusterError(f"The paper {refused[0].id} can't be copied: {refused[0].reason}.")
        written += len(documents)
        done(len(documents))
    target.finish()
    if not target.count() == written == source.count():
        raise ClusterError(f"The index {source.name} changed while it was copied; copy it again.")
