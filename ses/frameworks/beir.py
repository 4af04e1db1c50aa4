"""BEIR's interface of a search."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from corpora.errors import InputError
from corpora.installed import extra, needing
from ses.frameworks.source import PLAIN, SearchedIndex, scores_of
from ses.indexes.open_index import OpenIndex

with needing("The search of BEIR needs beir, which is not installed", extra("beir")):
    from beir.retrieval.search import BaseSearch


class BeirSearch(BaseSearch):  # type: ignore[misc]
    """Searches an index that holds a data set's papers, for `beir.retrieval.evaluation.EvaluateRetrieval`.

    The index is made by `library.index(NAME, FOLDER, corpus="beir")` from the data set's folder. Queries are taken as
    plain words.

    Args:
        index: An open index, or the name of one; if empty, the default index.
        engine: Where the named index is, as `ses.open` takes it.
        options: Options of every search (`search_plugin.request.PageOptions`).
    """

    def __init__(
        self, index: str | OpenIndex = "", engine: str | Path | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        self._source = SearchedIndex(index, engine, {**PLAIN, **(options or {})})

    def search(
        self,
        corpus: Mapping[str, Mapping[str, str]],
        queries: Mapping[str, str],
        top_k: int,
        score_function: str | None = None,  # noqa: ARG002 - the signature is BEIR's
        **options: Any,
    ) -> dict[str, dict[str, float]]:
        """Search each query, with texts by id; return scores by query and document.

        The documents of the corpus are not indexed again: a warning says if the index holds another number. `top_k` are
        the hits of each query. The score function is not heeded, since the index has its own similarity. The options
        are those of these searches.
        """
        held = len(self._source.opened)
        if held != len(corpus):
            logging.getLogger("ses").warning(
                "The index %s holds %d papers, and the corpus has %d.", self._source.opened.name, held, len(corpus)
            )
        found: dict[str, dict[str, float]] = {}
        for query, text in queries.items():
            hits = self._source.search(text, {"size": top_k, **options}).hits if text.strip() else ()
            found[query] = dict(zip((hit.id for hit in hits), scores_of(hits), strict=True))
        return found

    def encode(self, *_: Any, **__: Any) -> NoReturn:
        """Raise `InputError`: the vectors are in the index."""
        raise InputError("The vectors of an index are made when it is indexed", "call retrieve instead")

    def search_from_files(self, *_: Any, **__: Any) -> NoReturn:
        """Raise `InputError` as `encode` does."""
        self.encode()
