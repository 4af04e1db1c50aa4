"""Embedding files: JSON lines of SciRepEval, SPECTER and Semantic Scholar, and .npy with its ids beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, get_args

from corpora.aliases import names_of, normal_name
from corpora.errors import InputError, require
from corpora.lazy import np, orjson
from corpora.opening import bounded_lines, open_binary
from corpora.paper import Rejected
from corpora.writing import explaining, replacing


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Vectors by id.

    Attributes:
        ids: Distinct, in the order of the file.
        vectors: float32 (ids, dimension), finite; of a .npy file of float32, the file itself mapped into memory.
        without: Ids that the file names with an empty vector, as SPECTER's script does for papers without a title.

    Example:
        >>> import numpy as np
        >>> with open_writer(Path("papers.npy"), "npy") as writer:
        ...     writer.write(["paper"], np.ones((1, 2), np.float32))
        >>> read_embeddings(Path("papers.npy")).vectors.shape
        (1, 2)
    """

    ids: list[str]
    vectors: np.ndarray
    without: tuple[str, ...] = ()


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


@contextmanager
def open_writer(path: Path, layout: FileLayout) -> Iterator[Writer]:
    """Yield a file's writer, which writes it whole or not at all; `InputError` or `UnavailableError` if it can't be."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no file that can be replaced", "give another with <output>")
    path = path.resolve()  # where a link leads, so that the file is replaced and not the link
    if layout != "npy":
        with _replacing(path) as file:
            yield _ExplainingWriter(JsonLines(file, layout), path)
        return
    # What is opened last is moved first: a run that is killed then leaves no matrix rather than one of other ids.
    with _replacing(path) as matrix, _replacing(ids_beside(path)) as ids:
        writer = _Matrix(matrix, ids)
        yield _ExplainingWriter(writer, path)
        with explaining(path, _HINT):
            writer.finish()
            path.unlink(missing_ok=True)


class JsonLines:
    """Writes JSON lines into a file, such as standard output; the layout names the key of the id."""

    def __init__(self, file: BinaryIO, layout: FileLayout) -> None:
        self._file = file
        self._key = _ID_KEY[layout]

    def write(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        """Write a line per row; `InputError` for an id or a vector that JSON can't hold."""
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
        described = {"descr": "<f4", "fortran_order": False, "shape": (self._rows, self._dimension)}
        np.lib.format.write_array_header_1_0(self._matrix, described)


@dataclass(frozen=True, slots=True)
class _ExplainingWriter:
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
    if vectors.shape[:1] != (len(ids),) or vectors.ndim != 2:
        raise InputError(f"There are {len(ids):,} ids for vectors of the shape {vectors.shape}; give a vector an id.")
    require(np.isfinite(vectors).all(), "Some vectors hold values that aren't numbers; they are not written.")
    if broken := [name for name in ids if not name or _SURROGATE.search(name)]:
        raise InputError(f"The id {broken[0]!r} is empty or not valid text: give the record another one.")


def _numbers(vector: np.ndarray) -> bytes:
    """Return a float32 vector as a JSON list that is the same float32 vector when read by way of float64."""
    # The shortest decimals of float32 take half the room of float64's. A rare few, such as 7.038531e-26, are rounded
    # twice on their way back, to a neighbour: their vectors are written in full.
    row = np.ascontiguousarray(vector, dtype=np.float32)
    short = orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY)
    if np.array_equal(np.array(orjson.loads(short), dtype=np.float32), row):
        return short
    return orjson.dumps(row.astype(np.float64), option=orjson.OPT_SERIALIZE_NUMPY)


_NPY = b"\x93NUMPY"
_ID_NAMES = (*names_of("id"), "queryid")
_NOT_FINITE = re.compile(rb"[\s:,\[-](NaN|Infinity)[\s,\]}]")
_ROWS = 1 << 14  # looked through at once


def read_embeddings(path: Path) -> Embeddings:
    """Read an embedding file.

    It is a .npy file, whose ids stand beside it as `open_writer` writes them, or JSON lines, plain or compressed:
    `embedding` beside `doc_id`, `paper_id` or any other name of an id, or `{"<id>": [...]}`. Raises `InputError` if it
    is damaged, holds no vectors, or holds an id twice, vectors of several lengths, or values that aren't numbers.
    """
    try:
        with path.open("rb") as file:
            is_npy = file.read(len(_NPY)) == _NPY
    except OSError:
        is_npy = False  # the JSON reader reports why it can't be opened
    return _read_npy(path) if is_npy else _read_json(path)


def _read_json(path: Path) -> Embeddings:
    lines: dict[str, int] = {}  # by id
    without: list[str] = []
    held, dimension = bytearray(), 0
    with open_binary(path) as stream:
        for number, name, values in _named_lists(path, stream):
            if name in lines:
                raise _bad(path, number, f"the id {name} came before, in line {lines[name]}; keep one of them")
            lines[name] = number
            if not values:
                without.append(name)
                continue
            vector = _vector(path, number, values)
            dimension = dimension or len(vector)
            if len(vector) != dimension:
                raise _bad(path, number, f"the vector has {len(vector)} values where those before have {dimension}")
            held += vector.tobytes()
    require(held, f"{path} holds no embeddings: name another file.")
    gone = set(without)
    vectors = np.frombuffer(held, dtype=np.float32).reshape(-1, dimension)
    return Embeddings([name for name in lines if name not in gone], vectors, tuple(without))


def _named_lists(path: Path, stream: BufferedReader) -> Iterator[tuple[int, str, list[object]]]:
    """Yield the number, the id and the list of values of every line; a line with several ids yields each of them."""
    for line in bounded_lines(stream):
        if isinstance(line, Rejected):
            raise InputError(f"{path}, line {line.line}: {line.reason}")
        try:
            members = orjson.loads(line.raw)
        except orjson.JSONDecodeError as error:
            why = "a number is NaN or infinite" if _NOT_FINITE.search(line.raw) else f"this isn't JSON ({error})"
            raise _bad(path, line.number, why) from error
        if not isinstance(members, dict):
            raise _bad(path, line.number, 'an embedding is an object with "doc_id" (or "paper_id") and "embedding"')
        if "embedding" not in members and all(isinstance(value, list) for value in members.values()):
            for name, values in members.items():
                yield line.number, name, values
            continue
        embedding = members.get("embedding")
        if isinstance(embedding, dict):  # Semantic Scholar's API: {"model": ..., "vector": [...]}
            embedding = embedding.get("vector")
        if not isinstance(embedding, list):
            raise _bad(path, line.number, 'there is no list of numbers under "embedding"')
        yield line.number, _id_of(path, line.number, members), embedding


def _id_of(path: Path, number: int, members: dict[str, object]) -> str:
    values = {normal_name(key): value for key, value in members.items() if key != "embedding"}
    # The names of the layouts first: beside them may stand other identifiers of the same paper.
    for name in ("docid", "paperid", *_ID_NAMES):
        value = values.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    raise _bad(path, number, 'the embedding has no id under "doc_id" or "paper_id"')


def _vector(path: Path, number: int, values: Sequence[object]) -> np.ndarray:
    """Return a line's values as float32 (dimension,)."""
    if not set(map(type, values)) <= {int, float}:
        raise _bad(path, number, "the vector holds something that isn't a number")
    with np.errstate(over="ignore"):
        vector = np.array(values, dtype=np.float32)
    if not np.isfinite(vector).all():
        raise _bad(path, number, "the vector holds a number too large for float32")
    return vector


def _read_npy(path: Path) -> Embeddings:
    try:
        # Mapping detects a header that promises more than the file holds, before memory is allocated.
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} is damaged, or a .npy file of Python objects ({error}); create it again.") from error
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not matrix.size:
        raise InputError(
            f"{path} holds {matrix.dtype} of the shape {matrix.shape}; embeddings are rows of floating-point numbers."
        )
    ids = _read_ids(ids_beside(path), len(matrix))
    with np.errstate(over="ignore"):
        vectors = matrix.astype(np.float32, order="C", copy=False)
    for start in range(0, len(vectors), _ROWS):
        finite = np.isfinite(vectors[start : start + _ROWS]).all(axis=1)
        if not finite.all():
            row = start + int(finite.argmin())
            raise InputError(f"{path}, row {row + 1}: the vector of {ids[row]} holds values that aren't numbers.")
    return Embeddings(ids, vectors)


def _read_ids(path: Path, wanted: int) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"There is no {path.name} beside the vectors: put their ids there, one a line.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read as UTF-8 text ({error}).") from error
    ids = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    require(len(ids) == wanted, f"{path} has {len(ids):,} ids for {wanted:,} vectors; it belongs to another file.")
    lines: dict[str, int] = {}
    for number, name in enumerate(ids, start=1):
        if not name:
            raise _bad(path, number, "there is no id")
        if name in lines:
            raise _bad(path, number, f"the id {name} came before, in line {lines[name]}; keep one of them")
        lines[name] = number
    return ids


def _bad(path: Path, number: int, reason: str) -> InputError:
    return InputError(f"{path}, line {number}: {reason}.")
