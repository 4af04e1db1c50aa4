"""A retriever of LangChain."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, PrivateAttr

from corpora.installed import extra, needing
from ses.frameworks.source import SearchedIndex, metadata_of, text_of

with needing("The retriever of LangChain needs langchain-core, which is not installed", extra("langchain")):
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun


class LangChainRetriever(BaseRetriever):  # type: ignore[misc]
    """Searches an index for a chain or an agent: `invoke`, `ainvoke`, `batch`, and `|` with what comes next.

    Arguments of `invoke` beside the query are options of that search: `invoke("masks", size=3)`.

    Attributes:
        index: An open index, or the name of one; if empty, the default index.
        engine: Where the named index is, as `ses.open` takes it.
        options: Options of every search (`search_plugin.request.PageOptions`).
    """

    index: Any = ""
    engine: str | Path | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    _source: SearchedIndex = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Check what the retriever searches; the index is opened when it is first used."""
        super().model_post_init(context)
        self._source = SearchedIndex(self.index, self.engine, self.options)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - the signature is LangChain's
        **options: Any,
    ) -> list[Document]:
        hits = self._source.search(query, options)
        return [Document(id=hit.id, page_content=text_of(hit.paper), metadata=metadata_of(hit)) for hit in hits]

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any, **options: Any) -> list[Document]:
        from langchain_core.runnables.config import run_in_executor

        manager = run_manager.get_sync()
        search = functools.partial(self._get_relevant_documents, query, run_manager=manager, **options)
        found: list[Document] = await run_in_executor(None, search)
        return found
