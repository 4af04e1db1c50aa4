"""Runs: what a system returned for each query, in the order trec_eval sees it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora.errors import InputError
from eval.textfile import bad_line, decode, numbered_lines, require_column, require_id, write_lines

if TYPE_CHECKING:
    from pathlib import Path

Ranking = Sequence[tuple[str, float]]
"""Document ids with their scores."""


@dataclass(frozen=True, slots=True)
class Run:
    """The ranked documents of each query.

    Whatever order they are given in, rankings are kept as trec_eval ranks them (`trec_order`), so a cut at rank k
    means the same here, in a file and in a measure.

    Attributes:
        tag: Name of the run, such as `hybrid`.
        rankings: For each query id, document ids with their scores, best first; empty where nothing was found.
    """

    tag: str
    rankings: Mapping[str, Ranking]

    def __post_init__(self) -> None:
        ordered = {query: trec_order(query, ranking) for query, ranking in self.rankings.items()}
        object.__setattr__(self, "rankings", ordered)


def trec_order(query: str, ranking: Ranking) -> Ranking:
    """Rank documents as trec_eval does: by single-precision score descending, ties by document id descending.

    Ids are compared as UTF-8 bytes, which orders them as Python orders strings: by code point. This is the reverse
    of `search_plugin.legs.ranked` on ties: what a user is shown need not change for how trec_eval reads a file.

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
        require_id(document)
        if not math.isfinite(key):
            raise InputError(f"Query {query}, document {document}: {score} is no finite single-precision score.")
        keyed.append((key, document, float(score)))
    if len({document for document, _ in ranking}) < len(ranking):
        raise InputError(f"Query {query} has a document twice in its ranking; keep the better of the two.")
    return tuple((document, score) for _, document, score in sorted(keyed, reverse=True))


def read_run(path: Path) -> Run:
    """Read a TREC run file, `qid Q0 docid rank score tag`; ranks come from the scores, as in trec_eval.

    Args:
        path: The file.

    Returns:
        The run.

    Raises:
        InputError: If the file can't be read, a line is malformed, a document comes twice, or there are several tags.
    """
    rankings: dict[str, dict[str, float]] = {}
    tag: str | None = None
    for number, line in numbered_lines(path):
        fields = line.split()
        if len(fields) != 6:
            raise bad_line(path, number, "a ranked document is `qid Q0 docid rank score tag` between blanks")
        query, document, line_tag = (decode(fields[column], path, number) for column in (0, 2, 5))
        tag = tag or line_tag
        if line_tag != tag:
            raise bad_line(path, number, f"the tag is {line_tag} but was {tag} before; keep each run in its own file")
        ranking = rankings.setdefault(query, {})
        if document in ranking:
            raise bad_line(path, number, f"document {document} was ranked for query {query} before; keep one line")
        ranking[document] = _score(fields[4], path, number)
    if tag is None:
        raise InputError(f"{path} holds no ranked documents.")
    return Run(tag, {query: tuple(ranking.items()) for query, ranking in rankings.items()})


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


def _score(field: bytes, path: Path, number: int) -> float:
    try:
        score = float(field) if b"_" not in field else math.nan
    except ValueError:
        score = math.nan
    with np.errstate(over="ignore"):
        if not np.isfinite(np.float64(score).astype(np.float32)):
            found = field[:40].decode(errors="replace")
            raise bad_line(path, number, f"the score must be a finite single-precision number, not {found!r}")
    return score
