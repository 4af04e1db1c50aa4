"""Embedding files in: JSON lines in the shapes that SciRepEval, SPECTER and Semantic Scholar write, and .npy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.aliases import names_of, normal_name
from corpora.errors import InputError, require
from corpora.opening import bounded_lines, open_binary
from corpora.paper import Rejected
from encoders.files.embeddings import Embeddings
from encoders.files.writing import ids_beside

if TYPE_CHECKING:
    from io import BufferedReader

    import numpy as np

_NPY = b"\x93NUMPY"
_ID_NAMES = (*names_of("id"), "queryid")
_NOT_FINITE = re.compile(rb"[\s:,\[-](NaN|Infinity)[\s,\]}]")
_ROWS = 1 << 14  # looked through at once


def read_embeddings(path: Path) -> Embeddings:
    """Read an embedding file.

    Args:
        path: A .npy file, whose ids stand beside it as `write_embeddings` writes them, or JSON lines, plain or
            compressed: `embedding` beside `doc_id`, `paper_id` or any other name of an id, or `{"<id>": [...]}`.

    Returns:
        What it holds.

    Raises:
        InputError: If it is damaged, holds no vectors, or holds an id twice, vectors of several lengths, or values
            that aren't numbers.
    """
    try:
        with path.open("rb") as file:
            is_npy = file.read(len(_NPY)) == _NPY
    except OSError:
        is_npy = False  # the JSON reader reports why it can't be opened
    return _read_npy(path) if is_npy else _read_json(path)


def _read_json(path: Path) -> Embeddings:
    import numpy as np

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
    import orjson

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
    import numpy as np

    if not set(map(type, values)) <= {int, float}:
        raise _bad(path, number, "the vector holds something that isn't a number")
    with np.errstate(over="ignore"):
        vector = np.array(values, dtype=np.float32)
    if not np.isfinite(vector).all():
        raise _bad(path, number, "the vector holds a number too large for float32")
    return vector


def _read_npy(path: Path) -> Embeddings:
    import numpy as np

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
