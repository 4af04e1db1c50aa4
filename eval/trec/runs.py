"""Runs: the results of a system for each query, in trec_eval's order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpora.errors import InputError, require
from eval.files.text import require_column, require_id, write_lines
from eval.trec.run_file import RunColumns, read_columns

ScoredIds = Sequence[tuple[str, float]]
"""Document ids with their scores."""


def trec_order(query: str, ranking: ScoredIds) -> ScoredIds:
    """Rank a query's documents as trec_eval does: by single-precision score descending, ties by document id descending.

    Ids are compared as UTF-8 bytes, which orders them as Python orders strings: by code point. This is the reverse of
    `search_plugin.contract.legs.ranked` on ties: the order that users see does not follow trec_eval's. The scores
    returned are in double precision. Raises `InputError`, which names the query, if a document comes twice, an
    identifier is unusable, or a score isn't finite in single precision.
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
    require(
        len({document for document, _ in ranking}) == len(ranking),
        f"Query {query} has a document twice in its ranking; keep the better of the two.",
    )
    return tuple((document, score) for _, document, score in sorted(keyed, reverse=True))


def in_order(ranking: ScoredIds) -> ScoredIds:
    """Return a ranking with scores that fall in single precision, so that trec_eval keeps its order.

    A score that is not above the next one becomes the next larger number. So ties stay in their order, and so does a
    paper that a search puts before others for more than its score. The scores must be finite in single precision.
    """
    single = np.array([score for _, score in ranking], dtype=np.float64).astype(np.float32)
    if (single[:-1] > single[1:]).all():
        return ranking
    kept = list(ranking)
    for place in range(len(kept) - 2, -1, -1):
        if single[place] <= single[place + 1]:
            single[place] = np.nextafter(single[place + 1], np.float32(np.inf))
            kept[place] = kept[place][0], float(single[place])
    return kept


class Rankings(Mapping[str, ScoredIds]):
    """The rankings of a run file, each made when it is asked for: until then a line takes 12 bytes, and no objects.

    Args:
        columns: Columns of the file.
    """

    __slots__ = ("_bounds", "_codes", "_documents", "_scores", "_slots")

    def __init__(self, columns: RunColumns) -> None:
        # The lines of a query need not stand together; a stable sort keeps their order.
        order = np.argsort(columns.query_codes, kind="stable")
        self._slots = {query: slot for slot, query in enumerate(columns.queries)}
        self._bounds = np.searchsorted(columns.query_codes, np.arange(len(columns.queries) + 1), sorter=order).tolist()
        self._documents = columns.documents
        self._codes, self._scores = columns.document_codes[order], columns.scores[order]

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


@dataclass(frozen=True, slots=True)
class Run:
    """The ranked documents of each query.

    Rankings are kept in trec_eval's order (`trec_order`), whatever order they are given in, so that a cut at rank k
    means the same here, in a file and in a measure.

    Attributes:
        tag: Name of the run, such as `hybrid`.
        rankings: For each query id, document ids with their scores, best first; empty where nothing was found.
    """

    tag: str
    rankings: Mapping[str, ScoredIds]

    def __post_init__(self) -> None:
        if isinstance(self.rankings, Rankings):
            return
        ordered = {query: trec_order(query, ranking) for query, ranking in self.rankings.items()}
        object.__setattr__(self, "rankings", ordered)

    def scores(self, query: str) -> dict[str, float]:
        """Return a query's documents with their scores, in any order; none where the run lacks the query."""
        if isinstance(self.rankings, Rankings):
            return self.rankings.scores(query) if query in self.rankings else {}
        return dict(self.rankings.get(query, ()))


def read_run(path: Path) -> Run:
    """Read a TREC run file, `qid Q0 docid rank score tag`; ranks come from the scores, as in trec_eval.

    Errors as of `eval.trec.run_file.read_columns`.
    """
    columns = read_columns(path)
    return Run(columns.tag, Rankings(columns))


def write_run(run: Run, path: Path) -> None:
    """Write a TREC run file whose scores read back exactly; a query without results has no line there.

    Raises `InputError` if the tag or an identifier holds a blank. An older file is replaced in one step.
    """
    tag = require_column(run.tag)
    write_lines(
        path,
        (
            f"{require_column(query)} Q0 {require_column(document)} {rank} {score!r} {tag}"
            for query, ranking in run.rankings.items()
            for rank, (document, score) in enumerate(ranking, start=1)
        ),
    )
