"""Nearest-neighbour search: through faiss's index if there are many vectors, always scored by the stored vectors.

faiss's index keeps lists of similar vectors, of which a search reads the nearest lists. They keep 4 bits for each two
dimensions, in the order in which the processor compares 32 vectors at once (product quantization: Jegou, Douze and
Schmid, TPAMI 2011; its fast scan: Andre, Kermarrec and Le Scouarnec, VLDB 2015). A search of an HNSW graph is faster
among many vectors, but lists are built in a fraction of the time, take no memory for links, and answer filters of any
share (docs/benchmarks.md, Vectors of the embedded engine).

The index finds some times as many candidates as requested; the vectors in the file rank them again. Vectors added
after the index was built are scanned. If a filter matches few vectors, those are scanned too.

Vectors are stored as float32, or in 8 bits with a scale for each vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from corpora.lazy import faiss, np
from encoders.models.formats import Similarity
from search_plugin.contract.legs import closeness
from search_plugin.contract.schema import VectorField
from search_plugin.engines.embedded.derived import Derived, deriving, newest
from search_plugin.engines.embedded.errors import reads_stored

_LARGEST_NUMBER = 127


class Quantized:
    """Vectors in 8 bits; what is read of them is float32 (count, dimension)."""

    def __init__(self, stored: np.ndarray) -> None:
        self._stored = stored

    def __len__(self) -> int:
        return len(self._stored)

    @property
    def shape(self) -> tuple[int, int]:
        """Their number, and their length."""
        return len(self._stored), self._stored.dtype["numbers"].shape[0]

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Return the vectors of a slice, or of an array of rows."""
        part = self._stored[rows]
        whole: np.ndarray = part["numbers"] * part["scale"][:, None]
        return whole


Matrix: TypeAlias = "np.ndarray | Quantized"
"""Vectors by row: a slice or an array of rows reads float32 (count, dimension)."""


def stored_type(field: VectorField) -> np.dtype[Any]:
    """Return the type of a stored vector: 4 bytes per number, or 1 and a scale of 4 bytes."""
    if field.quantization == "int8":
        return np.dtype([("scale", "<f4"), ("numbers", "i1", (field.dimension,))])
    return np.dtype(("<f4", (field.width,)))


def as_stored(vectors: np.ndarray, field: VectorField) -> np.ndarray:
    """Return vectors, float32 (count, dimension), as they are stored.

    In 8 bits, a number x is stored as round(x / scale), and the largest of a vector as 127 or -127: each differs by at
    most half of the scale.
    """
    if field.quantization != "int8":
        return vectors.astype("<f4")
    stored = np.zeros(len(vectors), stored_type(field))
    scales = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(_LARGEST_NUMBER)
    stored["scale"] = scales
    np.divide(vectors, scales[:, None], out=(whole := np.zeros_like(vectors)), where=scales[:, None] > 0)
    stored["numbers"] = np.rint(whole).clip(-_LARGEST_NUMBER, _LARGEST_NUMBER)
    return stored


def read_stored(stored: np.ndarray, field: VectorField) -> Matrix:
    """Return what reads stored vectors."""
    return Quantized(stored) if field.quantization == "int8" else stored


def normal(vectors: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Return vectors of length 1 for the cosine, unless they are zero; others as they are."""
    vectors = np.ascontiguousarray(vectors, np.float32)
    if similarity != "cosine":
        return vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: np.ndarray = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit


INDEXED_FROM = 10_000
"""Number of vectors; fewer are scanned."""

LISTS = 4
"""Lists per square root of the number of vectors."""

READ = 7
"""Lists that a search without a filter reads, per square root of their number."""

_FILE = "lists"
_SAMPLE = 30
"""Vectors per list from which the centres of the lists are computed."""

_FEWEST_CODES = 128
"""With fewer codes than this of a vector, there is one for each of its numbers."""

_ROUNDS = 4
_LARGEST = 1e17
_BLOCK = 4_096
_GROWTH = 10


@dataclass(frozen=True, slots=True)
class Approximate:
    """faiss's index of the first vectors of a field, of which it covers `covered`."""

    covered: int
    index: Any

    def candidates(self, query: np.ndarray, count: int, allowed: np.ndarray | None) -> np.ndarray:
        """Return the rows of vectors among which the `count` nearest to one probably are, int64 (rows,).

        The fewer vectors a filter lets pass, the farther away the nearest of them are, so more lists are read. `query`
        is float32 (1, dimension). `allowed` says which vectors may be found, bool (vectors,); None for all.
        """
        selector, share = None, 1.0
        if allowed is not None:
            among = allowed[: self.covered]
            selector = faiss.IDSelectorBitmap(np.packbits(among, bitorder="little"))
            share = max(float(among.mean()), 1 / self.covered)
        parameters = faiss.SearchParametersIVF(nprobe=read_lists(self.index.nlist, share), sel=selector)
        _, found = self.index.search(query, min(_CANDIDATES * count, self.covered), params=parameters)
        rows: np.ndarray = found[0][found[0] >= 0]
        return rows


def read_lists(lists: int, share: float = 1.0) -> int:
    """Return how many lists a search reads of which a filter lets a share of the vectors pass."""
    return min(lists, round(READ * math.sqrt(lists / share)))


def extend(folder: Path, name: str, mapped: Callable[[], Matrix], similarity: Similarity) -> None:
    """Build the index of a field, or add new vectors to it, if there are enough.

    `mapped` maps all vectors of the field, float32 (vectors, dimension). It is called for each block, because what was
    read of a mapping stays in memory as long as the mapping. Lists of another kind, as earlier versions made them, are
    built again.
    """
    count = len(mapped())
    covered = newest(folder, _name(name), count, lambda derived: derived.covered) or 0
    if count < INDEXED_FROM or count - covered <= max(INDEXED_FROM // 4, covered // _GROWTH):
        return
    kept = load(folder, name, count, to_extend=True) if covered else None
    if kept is None or not _is_current(kept.index) or _lists(count) >= 2 * kept.index.nlist:
        kept = Approximate(0, _empty(mapped, similarity))
    for block in _blocks(kept.covered, count):
        kept.index.add(_bounded(mapped()[block], similarity))
    with deriving(folder, _name(name), count) as part:
        faiss.write_index(kept.index, str(part / _FILE))


def codes_of(dimension: int) -> int:
    """Return how many codes of 4 bits the lists keep of a vector: one for each number, or for each two of many."""
    return dimension if dimension < 2 * _FEWEST_CODES or dimension % 2 else dimension // 2


def _lists(count: int) -> int:
    return round(LISTS * math.sqrt(count))


def _is_current(index: Any) -> bool:
    return isinstance(index, faiss.IndexIVFPQFastScan)


def _bounded(vectors: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Return vectors as they are compared, without numbers so large that a distance of theirs would be infinite.

    faiss leaves out a vector at an infinite distance from the centres of all lists.
    """
    bounded: np.ndarray = normal(vectors, similarity).clip(-_LARGEST, _LARGEST)
    return bounded


def _empty(mapped: Callable[[], Matrix], similarity: Similarity) -> Any:
    """Return an index without vectors, whose lists have centres."""
    count, dimension = mapped().shape
    if similarity == "l2":
        metric, centres = faiss.METRIC_L2, faiss.IndexFlatL2(dimension)
    else:
        metric, centres = faiss.METRIC_INNER_PRODUCT, faiss.IndexFlatIP(dimension)
    index = faiss.IndexIVFPQFastScan(centres, dimension, _lists(count), codes_of(dimension), 4, metric)
    index.by_residual = False  # or a vector would be decoded in another way for every list
    index.cp.niter, index.cp.min_points_per_centroid, index.cp.max_points_per_centroid = _ROUNDS, 1, _SAMPLE
    # Codes are learned from 16 vectors at least; of fewer, some are taken twice.
    rows = np.linspace(0, count - 1, max(16, min(count, _SAMPLE * index.nlist))).astype(np.int64)
    sample = np.empty((len(rows), dimension), np.float32)
    for block in _blocks(0, count):
        part = slice(*np.searchsorted(rows, (block.start, block.stop)))
        sample[part] = _bounded(mapped()[rows[part]], similarity)
    index.train(sample)
    return index


def _blocks(start: int, stop: int) -> Iterator[slice]:
    return (slice(at, min(at + _BLOCK, stop)) for at in range(start, stop, _BLOCK))


def load(folder: Path, name: str, count: int, *, to_extend: bool = False) -> Approximate | None:
    """Return the index of a field that covers the most vectors, up to `count`; None if there is none that can be used.

    If no vectors will be added to it, the file is mapped, so that processes share its memory.
    """

    def read(derived: Derived) -> Approximate:
        index = faiss.read_index(str(derived.path / _FILE), 0 if to_extend else faiss.IO_FLAG_MMAP_IFC)
        return Approximate(derived.covered, _checked(index, derived.covered))

    return newest(folder, _name(name), count, read)


@reads_stored
def _checked(index: Any, covered: int) -> Any:
    """Return the index, or raise `ValueError` if it would find vectors that do not exist."""
    earlier = (faiss.IndexIVFScalarQuantizer, faiss.IndexIVFRaBitQ)
    if not (_is_current(index) or isinstance(index, earlier)) or index.quantizer.ntotal != index.nlist:
        raise ValueError("a vector index is of another kind")
    lists = index.invlists
    parts = [faiss.rev_swig_ptr(lists.get_ids(at), lists.list_size(at)) for at in range(index.nlist)]
    rows = np.concatenate(parts) if parts else np.empty(0, np.int64)
    if not index.ntotal == len(rows) == covered or rows.min(initial=0) < 0 or rows.max(initial=0) >= covered:
        raise ValueError("a vector index does not hold what its name says")
    return index


def _name(field: str) -> str:
    return f"{field}.lists"


SCANNED = 10_000
"""If a filter matches at most this many vectors, their stored values are scanned."""

_CANDIDATES = 5


def nearest(
    matrix: Matrix,
    query: np.ndarray,
    similarity: Similarity,
    count: int,
    allowed: np.ndarray | None,
    approximate: Approximate | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a matrix that are nearest to a query, and their scores, the nearest first.

    The matrix is float32 (vectors, dimension), the query float32 (dimension,). `allowed` says which vectors may be
    found, bool (vectors,); None for all. `approximate` is an index over the first vectors; without it the search is
    exact.
    """
    if allowed is not None and np.count_nonzero(allowed) <= SCANNED:
        rows = np.flatnonzero(allowed)
    elif approximate is None:
        return _scanned(matrix, 0, query, similarity, count, allowed)
    else:
        rows = approximate.candidates(normal(query[None], similarity), count, allowed)
        later, _ = _scanned(matrix, approximate.covered, query, similarity, count, allowed)
        rows = np.concatenate([rows, later])
    return _best(rows, _scores(matrix, rows, query, similarity), count)


def _scanned(
    matrix: Matrix, start: int, query: np.ndarray, similarity: Similarity, count: int, allowed: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rank all vectors from a row on."""
    best = np.empty(0, np.int64), np.empty(0, np.float32)
    for begin in range(start, len(matrix), _BLOCK):
        block = slice(begin, min(begin + _BLOCK, len(matrix)))
        rows = np.arange(block.start, block.stop)
        scores = closeness(matrix[block], query, similarity)
        if allowed is not None:
            rows, scores = rows[allowed[block]], scores[allowed[block]]
        best = _best(np.concatenate([best[0], rows]), np.concatenate([best[1], scores]), count)
    return best


def _scores(matrix: Matrix, rows: np.ndarray, query: np.ndarray, similarity: Similarity) -> np.ndarray:
    parts = [closeness(matrix[rows[at : at + _BLOCK]], query, similarity) for at in range(0, len(rows), _BLOCK)]
    return np.concatenate(parts) if parts else np.empty(0, np.float32)


def _best(rows: np.ndarray, scores: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    if len(rows) > count:
        kept = np.argpartition(-scores, count - 1)[:count]
        rows, scores = rows[kept], scores[kept]
    order = np.argsort(-scores, kind="stable")
    return rows[order], scores[order]
