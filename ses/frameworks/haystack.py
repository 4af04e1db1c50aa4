"""A retriever of Haystack, which pipelines can be saved with."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.installed import extra, needing
from ses.frameworks.source import SearchedIndex, metadata_of, text_of
from ses.indexes.open_index import OpenIndex

with needing("The retriever of Haystack needs haystack-ai, which is not installed", extra("haystack")):
    from haystack import Document, component, default_to_dict


@component
class HaystackRetriever:
    """Searches an index in a pipeline, where it is called or awaited.

    Args:
        index: An open index, or the name of one; if empty, the default index. Only a pipeline with a named index can be
            saved.
        engine: Where the named index is, as `ses.open` takes it.
        options: Options of every search (`search_plugin.request.PageOptions`).
    """

    def __init__(
        self, index: str | OpenIndex = "", engine: str | Path | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        self._source = SearchedIndex(index, engine, options or {})

    def warm_up(self) -> None:
        """Open the index, as Haystack asks before a pipeline runs; errors as of `ses.open`."""
        _ = self._source.opened

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, query: str, options: dict[str, Any] | None = None) -> dict[str, list[Document]]:
        """Return the hits of a query, as `OpenIndex.search` takes it, as `documents`, the best first.

        The options of this search override those of the retriever.
        """
        hits = self._source.search(query, options)
        found = [
            Document(id=hit.id, content=text_of(hit.paper), meta=metadata_of(hit), score=hit.score) for hit in hits
        ]
        return {"documents": found}

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    async def run_async(self, query: str, options: dict[str, Any] | None = None) -> dict[str, list[Document]]:
        """Search the index in a thread; arguments and return value as of `run`."""
        return await asyncio.to_thread(self.run, query, options)

    def to_dict(self) -> dict[str, Any]:
        """Return what the pipeline's file says of it; `InputError` if it searches an open index."""
        written: dict[str, Any] = default_to_dict(self, **self._source.to_dict())
        return written
