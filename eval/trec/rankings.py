"""Rankings in trec_eval's order: of one query, and of a whole run file without an object for every line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from corpora.errors import InputError
from eval.files.text import require_id

ScoredIds = Sequence[tuple[str, float]]
"""Document ids with their scores."""


def trec_order(query: str, ranking: ScoredIds) -> ScoredIds:
    """Rank documents as trec_eval does: by single-precision score descending, ties by document id descending.

    Ids are compared as UTF-8 bytes, which orders them as Python orders strings: by code point. This is the reverse of
    `search_plugin.legs.ranked` on ties: the order that users see does not follow trec_eval's.

    Args:
        query: The query's id, to name it in an error.
        ranking: Documents and scores in any order.

    Returns:
        The same documents and double-precision scores, best first.

    Raises:
        InputError: If a document comes twice, an identifier is unusable, or a score isn't finite in single precision.
    """
    require_id(query)
    with np.errstate(over="ignore"):
        single = np.array([score for _, score in ranking], dtype=np.float64).astype(np.float32)
    keyed = []
    for (document, score), key in zip(ranking, single.tolist(), strict=True):
        if not document.isascii() or not document or "\0" in document:
            require_id(document)
        if not math.isfinite(key):
            raise InputError(f"Query {query}, document {document}: {score} is no finite single-precision score.")
        keyed.append((key, document, float(score)))
    if len({document for document, _ in ranking}) < len(ranking):
        raise InputError(f"Query {query} has a document twice in its ranking; keep the better of the two.")
    return tuple((document, score) for _, document, score in sorted(keyed, reverse=True))


class Rankings(Mapping[str, ScoredIds]):
    """The rankings of a run file, each made when it is asked for: until then a line takes 12 bytes, and no objects.

    Args:
        queries: Ids, by code.
        documents: Ids as an array of objects, by code.
        query_codes: Of each line.
        document_codes: Of each line.
        scores: Of each line, double precision.
    """

    __slots__ = ("_bounds", "_codes", "_documents", "_scores", "_slots")

    def __init__(
        self,
        queries: Sequence[str],
        documents: np.ndarray,
        query_codes: np.ndarray,
        document_codes: np.ndarray,
        scores: np.ndarray,
    ) -> None:
        if (np.diff(query_codes) < 0).any():
            order = np.argsort(query_codes, kind="stable")
            query_codes, document_codes, scores = query_codes[order], document_codes[order], scores[order]
        self._slots = {query: slot for slot, query in enumerate(queries)}
        self._bounds = np.searchsorted(query_codes, np.arange(len(queries) + 1)).tolist()
        self._documents, self._codes, self._scores = documents, document_codes, scores

    def scores(self, query: str) -> dict[str, float]:
        """Return a query's documents with their scores, in the order of the file."""
        slot = self._slots[query]
        lines = slice(self._bounds[slot], self._bounds[slot + 1])
        documents = self._documents[self._codes[lines]].tolist()
        return dict(zip(documents, self._scores[lines].tolist(), strict=True))

    def __getitem__(self, query: str) -> ScoredIds:
        scores = self.scores(query)
        keys = np.array(list(scores.values())).astype(np.float32).tolist()
        keyed = sorted(zip(keys, scores, scores.values(), strict=True), reverse=True)
        return tuple((document, score) for _, document, score in keyed)

    def __iter__(self) -> Iterator[str]:
        return iter(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, query: object) -> bool:
        return query in self._slots


def scores_of(rankings: Mapping[str, ScoredIds], query: str) -> dict[str, float]:
    """Return a query's documents with their scores, in any order; none where the query isn't in the run."""
    if isinstance(rankings, Rankings):
        return rankings.scores(query) if query in rankings else {}
    return dict(rankings.get(query, ()))
