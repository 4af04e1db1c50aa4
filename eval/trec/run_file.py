"""The lines of a TREC run file as columns: read by Arrow if the file is plain, and line by line if it isn't.

Arrow reads a million lines in a tenth of the time. It reads only files without anything unusual. All others are read
line by line, so that an error names its line. Both give the same columns.
"""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import InputError
from eval.files.text import LONGEST_LINE, bad_line, decode, numbered_lines, require_id

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
