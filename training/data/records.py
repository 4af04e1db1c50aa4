"""Records of JSON and Parquet files, and fields of papers as they occur there: labels, lists, concepts with levels.

It also finds papers that are close to a paper: with the same venue or an author in common, or linked by a citation.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from corpora.installed import optional
from corpora.json_objects import read_items, read_lines
from corpora.opening import BUFFER_BYTES, open_binary
from corpora.paper import Rejected
from training.data.builders.base import PaperRecord, drawn, id_of

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
    arrow, parquet = (
        optional(name, "Reading Parquet files needs pyarrow", "eval") for name in ("pyarrow", "pyarrow.parquet")
    )
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


def number_of(value: object) -> float | None:
    """Return a finite number, which may be written as a string; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def labels_in(paper: PaperRecord, field: str) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield label, level and score of the labels that a field holds; None for a level or a score that is not given.

    The field holds a label, a list of labels, or a list of [label, level, score], as OpenAlex's concepts are.
    """
    given = paper.get(field)
    for one in given if isinstance(given, list) else [given]:
        name, level, score = (*one, None, None, None)[:3] if isinstance(one, list) else (one, None, None)
        if name not in (None, "") and (label := str(name).strip()):
            yield label, number_of(level), number_of(score)


_DRAWS = 32


def names_in(paper: PaperRecord, field: str, level: float = -1) -> list[str]:
    """Return the names that `labels_in` finds, each once, without those of a lower level; -1 for all."""
    found = labels_in(paper, field)
    return list(dict.fromkeys(name for name, depth, _ in found if depth is None or depth >= level))


class Related:
    """Papers by what they have in common."""

    def __init__(self, papers: Iterable[PaperRecord], field: str) -> None:
        """Index papers. Two are close if their fields share an entry, or if one names the id of the other."""
        self._names: list[list[str]] = []
        self._rows: dict[str, array[int]] = {}
        for row, paper in enumerate(papers):
            names = names_in(paper, field)
            self._names.append(names)
            for name in (*names, id_of(paper)):
                self._rows.setdefault(name, array("q")).append(row)

    def draw(self, row: int, seed: str, fits: Callable[[int], bool]) -> int | None:
        """Return a suitable paper close to the paper of a row; None if a few draws find none."""
        groups: Sequence[Sequence[int]] = [self._rows[name] for name in self._names[row]]
        for number in range(_DRAWS if groups else 0):
            group = groups[int(drawn(seed, f"group {number}") * len(groups))]
            other = group[int(drawn(seed, f"paper {number}") * len(group))]
            if other != row and fits(other):
                return other
        return None


def draw_any(count: int, seed: str, fits: Callable[[int], bool]) -> int | None:
    """Return a suitable row below a number; None if a few draws find none."""
    rows = (int(drawn(seed, f"any {number}") * count) for number in range(_DRAWS))
    return next((row for row in rows if fits(row)), None)
