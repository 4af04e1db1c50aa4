"""Runs: the results of a system for each query in trec_eval's order, read from files of any size.

Arrow reads a million lines in a tenth of the time, but only files without anything unusual. All others are read line by
line, so that an error names its line. Both give the same columns.
"""

from __future__ import annotations

import math
import mmap
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import InputError, require
from eval.files.text import LONGEST_LINE, bad_line, decode, numbered_lines, require_column, require_id, write_lines

WORTH_ARROW = 1 << 18
"""Bytes from which Arrow is faster, because its import takes time."""

_COLUMNS = ("query", "iteration", "document", "rank", "score", "tag")


@dataclass(frozen=True, slots=True, eq=False)
class RunColumns:
    """The lines of a run file that aren't blank, in their order.

    Attributes:
        tag: Tag of all lines.
        queries: Ids of queries by code; codes are in the order in which the queries first come.
        documents: Ids of documents by code, an array of objects (documents,).
        query_codes: Code of each line's query, int32 (lines,).
        document_codes: Code of each line's document, int32 (lines,).
        scores: Score of each line, float64 (lines,), finite in single precision too.
    """

    tag: str
    queries: Sequence[str]
    documents: np.ndarray
    query_codes: np.ndarray
    document_codes: np.ndarray
    scores: np.ndarray


def read_columns(path: Path) -> RunColumns:
    """Read a run file, `qid Q0 docid rank score tag`.

    Raises `InputError` if it can't be read, a line is malformed, a document comes twice, or there are several tags.
    """
    columns = _by_arrow(path) or _line_by_line(path)
    pairs = columns.query_codes.astype(np.int64) * len(columns.documents) + columns.document_codes
    ordered = np.sort(pairs)
    if (ordered[1:] == ordered[:-1]).any():
        firsts = np.unique(pairs, return_index=True)[1]
        raise _ranked_before(path, columns, int(np.setdiff1d(np.arange(len(pairs)), firsts)[0]))
    return columns


def _ranked_before(path: Path, columns: RunColumns, row: int) -> InputError:
    number = next(islice(numbered_lines(path), row, None))[0]
    document, query = columns.documents[columns.document_codes[row]], columns.queries[columns.query_codes[row]]
    return bad_line(path, number, f"document {document} was ranked for query {query} before; keep one line")


def _by_arrow(path: Path) -> RunColumns | None:
    """Return the columns of a plain file: one blank between fields, no other control characters, nothing amiss."""
    delimiter = _plain_delimiter(path)
    if not delimiter or not find_spec("pyarrow"):
        return None
    import pyarrow as pa
    from pyarrow import csv

    few = pa.dictionary(pa.int32(), pa.string())
    try:
        table = csv.read_csv(
            pa.memory_map(str(path)),
            csv.ReadOptions(column_names=_COLUMNS, block_size=16 * LONGEST_LINE, use_threads=False),
            csv.ParseOptions(delimiter=delimiter, quote_char=False),
            csv.ConvertOptions(
                column_types={"query": few, "document": pa.string(), "score": pa.float64(), "tag": few},
                include_columns=["query", "document", "score", "tag"],
                null_values=[],
            ),
        )
    except (pa.ArrowException, OSError):
        return None
    tags, _ = _decoded(table["tag"])
    queries, query_codes = _decoded(table["query"])
    documents, document_codes = _decoded(table["document"])
    scores = table["score"].to_numpy()
    if (
        len(tags) != 1
        or "" in (*tags, *queries, *documents)
        or not (scores.min() >= -_LARGEST and scores.max() <= _LARGEST)
    ):
        return None
    return RunColumns(str(tags[0]), queries.tolist(), documents, query_codes, document_codes, scores)


def _plain_delimiter(path: Path) -> str:
    """Return the separator of a large file's fields if it is one character everywhere, or nothing."""
    try:
        if path.stat().st_size < WORTH_ARROW or not path.is_file():
            return ""
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            delimiter = b"\t" if b"\t" in content[:LONGEST_LINE].partition(b"\n")[0] else b" "
            unusual = (b"\0", b"\v", b"\f", b"\r", b" " if delimiter == b"\t" else b"\t")
            return "" if any(content.find(char, 0) >= 0 for char in unusual) else delimiter.decode()
    except (OSError, ValueError):
        return ""


def _decoded(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of a column of strings, in the order in which they come, and each line's code."""
    encoded = column.dictionary_encode()  # nothing to do if it is one already
    chunks = encoded.chunks
    if any(not chunk.dictionary.equals(chunks[0].dictionary) for chunk in chunks):
        chunks = encoded.unify_dictionaries().chunks
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
    return chunks[0].dictionary.to_numpy(zero_copy_only=False), codes


def _line_by_line(path: Path) -> RunColumns:
    queries: dict[str, int] = {}
    documents: dict[str, int] = {}
    query_codes, document_codes, scores = array("i"), array("i"), array("d")
    tag: str | None = None
    for number, line in numbered_lines(path):
        fields = line.split()
        if len(fields) != len(_COLUMNS):
            raise bad_line(path, number, "a ranked document is `qid Q0 docid rank score tag` between blanks")
        query, document, line_tag = (decode(fields[column], path, number) for column in (0, 2, 5))
        tag = tag or line_tag
        if line_tag != tag:
            raise bad_line(path, number, f"the tag is {line_tag} but was {tag} before; keep each run in its own file")
        for name in (query, document):
            require_id(name)
        query_codes.append(queries.setdefault(query, len(queries)))
        document_codes.append(documents.setdefault(document, len(documents)))
        scores.append(_score(fields[4], path, number))
    if tag is None:
        raise InputError(f"{path} holds no ranked documents.")
    names = np.empty(len(documents), dtype=object)
    names[:] = list(documents)
    return RunColumns(
        tag,
        list(queries),
        names,
        np.frombuffer(query_codes, np.int32),
        np.frombuffer(document_codes, np.int32),
        np.frombuffer(scores, np.float64),
    )


def _score(field: bytes, path: Path, number: int) -> float:
    try:
        score = float(field) if b"_" not in field else np.nan
    except ValueError:
        score = np.nan
    if not abs(score) <= _LARGEST:
        found = field[:40].decode(errors="replace")
        raise bad_line(path, number, f"the score must be a finite single-precision number, not {found!r}")
    return score


_LARGEST = float(np.finfo(np.float32).max)


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

    Errors as of `eval.trec.runs.read_columns`.
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
