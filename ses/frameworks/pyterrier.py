"""A transformer of PyTerrier; no Java is needed for it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.installed import extra, needing
from ses.frameworks.source import PLAIN, SearchedIndex, scores_of
from ses.indexes.open_index import OpenIndex

with needing("The transformer of PyTerrier needs python-terrier, which is not installed", extra("pyterrier")):
    import pyterrier as pt

if TYPE_CHECKING:
    import pandas as pd

_FOUND = ["docno", "score", "rank"]


class PyTerrierRetriever(pt.Transformer):  # type: ignore[misc]
    """Searches an index for each row of queries: in `pt.Experiment`, and with `>>`, `%` and the other operators.

    Queries are taken as plain words. `{"literal": False, "verbatim": False}` reads them as `ses search` does.

    Args:
        index: An open index, or the name of one; if empty, the default index.
        engine: Where the named index is, as `ses.open` takes it.
        options: Options of every search (`search_plugin.request.PageOptions`); 100 hits of a query if no `size` is
            given.
    """

    def __init__(
        self, index: str | OpenIndex = "", engine: str | Path | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        self._source = SearchedIndex(index, engine, {**PLAIN, "size": 100, **(options or {})})

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Search each query.

        Args:
            inp: A row for each query, with the columns `qid` and `query`; other columns stay.

        Returns:
            A row for each hit: the columns of its query, `docno`, `score`, and `rank` from 0. A query without words has
            none.
        """
        import pandas as pd

        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        asked, without_words = inp.to_dict(orient="records"), 0
        rows: list[tuple[Any, ...]] = []
        for row in asked:
            if not str(row["query"]).strip():
                without_words += 1
                continue
            hits = self._source.search(str(row["query"])).hits
            found = zip((hit.id for hit in hits), scores_of(hits), range(len(hits)), strict=True)
            rows += [(*row.values(), *one) for one in found]
        if without_words:
            logging.getLogger("ses").warning("%d of %d queries have no words, and no hits.", without_words, len(asked))
        table = pd.DataFrame(rows, columns=[*inp.columns, *_FOUND])
        return table if rows else table.astype({"score": "float64", "rank": "int64"})

    def __repr__(self) -> str:
        return f"ses({self._source.name or 'the default index'})"
