"""A retriever of LlamaIndex."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.installed import extra, needing
from ses.frameworks.source import SearchedIndex, metadata_of, text_of
from ses.indexes.open_index import OpenIndex

with needing("The retriever of LlamaIndex needs llama-index-core, which is not installed", extra("llama-index")):
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

_NOT_FOR_MODELS = ["title", "rank", "score", "why", "weak"]
"""Metadata that a language model is not shown: the title stands in the text, and the rest is about the search."""


class LlamaIndexRetriever(BaseRetriever):  # type: ignore[misc]
    """Searches an index for a query engine or an agent: `retrieve` and `aretrieve`.

    Args:
        index: An open index, or the name of one; if empty, the default index.
        engine: Where the named index is, as `ses.open` takes it.
        options: Options of every search (`search_plugin.request.PageOptions`).
        **given: What LlamaIndex's `BaseRetriever` takes, such as `callback_manager`.
    """

    def __init__(
        self,
        index: str | OpenIndex = "",
        engine: str | Path | None = None,
        options: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> None:
        self._source = SearchedIndex(index, engine, options or {})
        super().__init__(**given)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = []
        for hit in self._source.search(query_bundle.query_str):
            metadata = metadata_of(hit)
            node = TextNode(
                id_=hit.id,
                text=text_of(hit.paper),
                metadata=metadata,
                excluded_embed_metadata_keys=list(metadata),
                excluded_llm_metadata_keys=_NOT_FOR_MODELS,
            )
            found.append(NodeWithScore(node=node, score=hit.score))
        return found

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
