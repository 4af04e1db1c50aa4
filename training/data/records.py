"""Records of JSON and Parquet files as they are, with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from corpora.json_objects import read_items, read_lines
from corpora.opening import BUFFER_BYTES, open_binary
from corpora.paper import Rejected
from eval.optional import optional

_ROWS = 1024
_OBJECT_OF_OBJECTS = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')


def files_of(path: Path) -> list[Path]:
    """Return the files of a path: itself, the Parquet files of a folder, or those of a pattern as `train-*.parquet`."""
    if path.is_dir():
        return sorted(path.glob("*.parquet"))
    if "*" in path.name:
        return sorted(path.parent.glob(path.name))
    return [path] if path.is_file() else []


def read_records(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the records of a path's files, plain or compressed: the line, and the record or what is wrong with it.

    A file holds JSON lines; one array; or, if its name holds `.json` and not `.jsonl`, one object of objects by id,
    as SPECTER's files are, of which each gets its key as `id`. Rows of Parquet files, in the order of the files' names,
    are numbered as lines are.
    """
    files = files_of(path) or [path]
    if files[0].suffix == ".parquet":
        rows = (row for file in files for row in _parquet_records(file))
        yield from enumerate(rows, 1)
        return
    for file in files:
        yield from _json_records(file)


def _parquet_records(path: Path) -> Iterator[dict[str, Any]]:
    arrow, parquet = (optional(name, "Reading Parquet files needs pyarrow") for name in ("pyarrow", "pyarrow.parquet"))
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS):
                yield from batch.to_pylist()
    except (arrow.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a sound Parquet file: fetch it again.") from error


def _json_records(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    with open_binary(path) as stream:
        begin = stream.peek(BUFFER_BYTES)
        if begin.lstrip().startswith(b"["):
            records = read_items(stream, "array")
        elif ".json" in path.suffixes and _OBJECT_OF_OBJECTS.match(begin):
            records = read_items(stream, "mapping")
        else:
            records = read_lines(stream)
        for record in records:
            yield record.line, record.reason if isinstance(record, Rejected) else record.members
