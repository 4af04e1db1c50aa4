"""Rows of SciRepEval's tables: JSON lines, CSV or Parquet in a folder, or a data set on the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from corpora.errors import InputError, UnavailableError
from corpora.opening import find_compressed
from eval.files.text import Row, json_objects, table_rows
from eval.optional import optional
from eval.scirepeval.task_file import HubTable, Table

_ENDINGS = (".jsonl", ".json", ".csv", ".parquet")


def read_table(table: Table, split: str, stems: Sequence[str], folder: Path | None) -> Iterator[Row]:
    """Read a split of a table.

    Args:
        table: The table in the task file.
        split: Its name on the hub.
        stems: Other names that a local file may have, without ending. The hub's shards are found too, such as
            `test-00000-of-00001.parquet`, and `test/0000.parquet` of its branch refs/convert/parquet.
        folder: Of local data. A table on the hub is then read from `<folder>/<data set's last name>/<config>` or
            `<folder>/<config>`, and a relative path from it.

    Returns:
        Its rows, each a mapping of column to value.

    Raises:
        InputError: If a file is damaged; `InputError` if there is none.
        UnavailableError: If the hub is needed, and it or the library datasets isn't there.
    """
    if folder is None and not isinstance(table, str):
        return _hub_rows(table, split)
    return _chained(find_files(table, (*stems, split), folder))


def find_files(table: Table, stems: Sequence[str], folder: Path | None) -> list[Path]:
    """Return a table's files, or raise `InputError` that lists the places searched."""
    if isinstance(table, str):
        places = [Path(table) if folder is None else folder / table]
    else:
        base = folder or Path()
        places = [base / _folder_of(table), base / table.config]
    for place in places:
        if found := next(filter(None, _files_at(place, stems)), None):
            return found
    sought = " or ".join(map(str, places))
    raise InputError(f"There is no {stems[0]} table (.jsonl, .csv or .parquet) in {sought}: put it there.")


def _files_at(place: Path, stems: Sequence[str]) -> Iterator[list[Path]]:
    yield [place] if place.is_file() else []
    for stem in stems:
        yield [path for ending in _ENDINGS if (path := find_compressed(place, f"{stem}{ending}"))][:1]
        yield from (sorted(place.glob(shards)) for shards in (f"{stem}-*-of-*.parquet", f"{stem}/*.parquet"))


def _folder_of(table: HubTable) -> str:
    return f"{table.name.rsplit('/', 1)[-1]}/{table.config}"


def _chained(paths: Sequence[Path]) -> Iterator[Row]:
    for path in paths:
        name = path.name.lower()
        if ".parquet" in name:
            yield from _parquet_rows(path)
        elif ".csv" in name:
            yield from (cells for _, cells in table_rows(path, "a table of labels or judgments"))
        else:
            yield from (row for _, row in json_objects(path))


def _parquet_rows(path: Path) -> Iterator[Row]:
    arrow, parquet = (optional(name, "Reading Parquet files needs pyarrow") for name in ("pyarrow", "pyarrow.parquet"))
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(1024):
                yield from batch.to_pylist()
    except (arrow.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a sound Parquet file: fetch it again.") from error


def _hub_rows(table: HubTable, split: str) -> Iterator[Row]:
    try:
        datasets = import_module("datasets")  # not in an extra, because the same data are available as files
    except ImportError as error:
        raise UnavailableError(
            f"{table.name} is on the Hugging Face hub",
            f"install datasets (pip install datasets), or give a folder with <data> that holds {_folder_of(table)}",
        ) from error
    try:
        rows: Any = datasets.load_dataset(table.name, table.config, split=split)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise UnavailableError(
            f"{table.name} ({table.config}, {split}) can't be loaded from the Hugging Face hub "
            f"({' '.join(str(error).split())[:200]})",
            f"try again online, or give a folder with <data> that holds {_folder_of(table)}",
        ) from error
    return iter(rows)
