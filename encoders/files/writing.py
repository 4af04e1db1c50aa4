"""Embedding files out: SciRepEval's and SPECTER's JSON lines, and .npy with its ids beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, get_args

from corpora.errors import InputError, require
from corpora.writing import explaining, replacing

if TYPE_CHECKING:
    import numpy as np

    from encoders.files.embeddings import Embeddings

FileLayout = Literal["scirepeval", "specter", "npy"]
"""JSON lines of `doc_id` and `embedding`; of `paper_id` and `embedding`, as SciDocs takes too; or a matrix and ids."""

LAYOUTS: tuple[FileLayout, ...] = get_args(FileLayout)

_HINT = "free some disk, or give another file with <output>"
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNLISTED = re.compile("[\r\n]|^\ufeff")
_ID_KEY = {"scirepeval": "doc_id", "specter": "paper_id"}
_BY_SUFFIX: dict[str, FileLayout] = {
    ".npy": "npy",
    ".jsonl": "scirepeval",
    ".json": "scirepeval",
    ".ndjson": "scirepeval",
}


class Writer(Protocol):
    """Takes vectors block by block."""

    def write(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        """Write the rows of float32 (ids, dimension), each under its id."""


def layout_of(path: Path) -> FileLayout:
    """Return the layout that a file's suffix stands for, or raise `InputError` where it stands for none."""
    layout = _BY_SUFFIX.get(path.suffix.lower())
    if layout is None:
        raise InputError(f"{path} could take any layout", "end it with .jsonl or .npy, or choose one with <layout>")
    return layout


def ids_beside(path: Path) -> Path:
    """Return the file of a .npy file's ids, one a line: `papers.ids.txt` for `papers.npy`."""
    return path.with_suffix(".ids.txt")


def write_embeddings(embeddings: Embeddings, path: Path, layout: FileLayout | None = None) -> None:
    """Write embeddings whole or not at all.

    Args:
        embeddings: What to write; ids without a vector are not written.
        path: The file; an older one is replaced at the end.
        layout: How; by the path's suffix if None.

    Raises:
        InputError: If the layout can't hold an id, or the path is no file's.
        UnavailableError: If the file can't be written.
    """
    with open_writer(path, layout or layout_of(path)) as writer:
        writer.write(embeddings.ids, embeddings.vectors)


@contextmanager
def open_writer(path: Path, layout: FileLayout) -> Iterator[Writer]:
    """Write an embedding file whole or not at all.

    Args:
        path: The file.
        layout: How.

    Yields:
        Its writer.

    Raises:
        InputError: If the path is no file's.
        UnavailableError: If the file can't be written.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no file that can be replaced", "give another with <output>")
    path = path.resolve()  # where a link leads, so that the file is replaced and not the link
    if layout != "npy":
        with _replacing(path) as file:
            yield _Telling(JsonLines(file, layout), path)
        return
    # What is opened last is moved first: a run that is killed then leaves no matrix rather than one of other ids.
    with _replacing(path) as matrix, _replacing(ids_beside(path)) as ids:
        writer = _Matrix(matrix, ids)
        yield _Telling(writer, path)
        with explaining(path, _HINT):
            writer.finish()
            path.unlink(missing_ok=True)


class JsonLines:
    """Writes JSON lines.

    Args:
        file: Where to, such as standard output.
        layout: Names the key of the id.
    """

    def __init__(self, file: BinaryIO, layout: FileLayout) -> None:
        self._file = file
        self._key = _ID_KEY[layout]

    def write(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        """Write a line per row; `InputError` for an id or a vector that JSON can't hold."""
        import orjson

        _check(ids, vectors)
        key = orjson.dumps(self._key)
        self._file.writelines(
            b'{%b:%b,"embedding":%b}\n' % (key, orjson.dumps(name), _numbers(vector))
            for name, vector in zip(ids, vectors, strict=True)
        )


class _Matrix:
    """Appends rows to a .npy file; its header has room for the number of rows, which is put there at the end."""

    def __init__(self, matrix: BinaryIO, ids: BinaryIO) -> None:
        self._matrix, self._ids = matrix, ids
        self._rows, self._dimension = 0, 0

    def write(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        _check(ids, vectors)
        if broken := [name for name in ids if _UNLISTED.search(name)]:
            raise InputError(
                f"The id {broken[0]!r} has a line break or a byte order mark, which a list of ids can't hold: "
                "write JSON lines, or give the record another one."
            )
        if not len(ids):
            return
        if not self._rows:
            self._dimension = vectors.shape[1]
            self._write_header()
        self._matrix.write(vectors.astype("<f4", order="C", copy=False).data)
        self._ids.writelines(f"{name}\n".encode() for name in ids)
        self._rows += len(ids)

    def finish(self) -> None:
        self._matrix.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        import numpy as np

        described = {"descr": "<f4", "fortran_order": False, "shape": (self._rows, self._dimension)}
        np.lib.format.write_array_header_1_0(self._matrix, described)


@dataclass(frozen=True, slots=True)
class _Telling:
    """A writer that turns failures to write into messages for the user."""

    writer: Writer
    path: Path

    def write(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        with explaining(self.path, _HINT):
            self.writer.write(ids, vectors)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    with ExitStack() as stack:
        with explaining(path, _HINT):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(replacing(path)).open("wb")
        stack.callback(_close, file)
        yield file
        with explaining(path, _HINT):
            file.close()
            stack.close()


def _close(file: BinaryIO) -> None:
    with suppress(OSError):  # of a full disk, which is already reported
        file.close()


def _check(ids: Sequence[str], vectors: np.ndarray) -> None:
    import numpy as np

    if vectors.shape[:1] != (len(ids),) or vectors.ndim != 2:
        raise InputError(f"There are {len(ids):,} ids for vectors of the shape {vectors.shape}; give a vector an id.")
    require(np.isfinite(vectors).all(), "Some vectors hold values that aren't numbers; they are not written.")
    if broken := [name for name in ids if not name or _SURROGATE.search(name)]:
        raise InputError(f"The id {broken[0]!r} is empty or not valid text: give the record another one.")


def _numbers(vector: np.ndarray) -> bytes:
    """Return a float32 vector as a JSON list that is the same float32 vector when read by way of float64."""
    import numpy as np
    import orjson

    # The shortest decimals of float32 take half the room of float64's. A rare few, such as 7.038531e-26, are rounded
    # twice on their way back, to a neighbour: their vectors are written in full.
    row = np.ascontiguousarray(vector, dtype=np.float32)
    short = orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY)
    if np.array_equal(np.array(orjson.loads(short), dtype=np.float32), row):
        return short
    return orjson.dumps(row.astype(np.float64), option=orjson.OPT_SERIALIZE_NUMPY)
