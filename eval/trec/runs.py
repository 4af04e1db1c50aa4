"""Runs: the results of a system for each query, in trec_eval's order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eval.files.text import require_column, write_lines
from eval.trec.rankings import Rankings, ScoredIds, trec_order
from eval.trec.run_file import read_columns

__all__ = ["Run", "ScoredIds", "read_run", "write_run"]


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


def read_run(path: Path) -> Run:
    """Read a TREC run file, `qid Q0 docid rank score tag`; ranks come from the scores, as in trec_eval.

    Args:
        path: The file.

    Returns:
        The run.

    Raises:
        InputError: If the file can't be read, a line is malformed, a document comes twice, or there are several tags.
    """
    read = read_columns(path)
    rankings = Rankings(read.queries, read.documents, read.query_codes, read.document_codes, read.scores)
    return Run(read.tag, rankings)


def write_run(run: Run, path: Path) -> None:
    """Write a TREC run file whose scores read back exactly; a query without results has no line there.

    Args:
        run: The run.
        path: The file; an older one is replaced in one step.

    Raises:
        InputError: If the tag or an identifier holds a blank.
        UnavailableError: If the file can't be written.
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
