"""Nearest-neighbour search: through a faiss index if there are many vectors, always scored by the float32 vectors.

faiss keeps 8 bits per dimension and finds twice as many candidates as requested; the float32 vectors in the file rank
them again. Vectors added after the index was built are scanned. If a filter matches few vectors, those are scanned too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search_plugin.engines.embedded.derived import complete, newest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from encoders.formats import Similarity

INDEXED_FROM = 5_000
"""Number of vectors; fewer are scanned."""

GRAPH_FROM = 20_000
"""Number of vectors from which an HNSW graph is used; fewer are scanned at 8 bits per dimension."""

SCANNED = 10_000
"""If a filter matches at most this many vectors, their float32 values are scanned."""

LARGE_FROM = 100_000
"""Number of vectors from which a graph has more links, and is built with more effort."""

_LINKS = {"small": (16, 60), "large": (24, 100)}
"""Links of a vector, and candidates visited to find them."""

_EFFORT, _MOST_EFFORT, _PER_EFFORT = 200, 800, 250
_CANDIDATES = 2
_BLOCK = 4_096
_GROWTH = 10


@dataclass(frozen=True, slots=True)
class Approximate:
    """faiss's index of the first vectors of a field.

    Attributes:
        covered: How many.
        index: faiss's.
    """

    covered: int
    index: Any


def nearest(
    matrix: np.ndarray,
    query: np.ndarray,
    similarity: Similarity,
    count: int,
    allowed: np.ndarray | None,
    approximate: Approximate | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest vectors.

    Args:
        matrix: float32 (vectors, dimension).
        query: float32 (dimension,).
        similarity: How closeness is measured.
        count: How many to find.
        allowed: bool (vectors,), vectors that may be found; None for all.
        approximate: An index over the first vectors; without it the search is exact.

    Returns:
        Rows of the matrix, and their scores, the nearest first.
    """
    import numpy as np

    if allowed is not None and (among := int(np.count_nonzero(allowed))) <= SCANNED:
        rows = np.flatnonzero(allowed)
    elif approximate is None:
        return _scanned(matrix, 0, query, similarity, count, allowed)
    else:
        share = 1.0 if allowed is None else among / len(allowed)
        rows = _candidates(approximate, _normal(query[None], similarity), count, allowed, share)
        later, _ = _scanned(matrix, approximate.covered, query, similarity, count, allowed)
        rows = np.concatenate([rows, later])
    return _best(rows, _scores(matrix, rows, query, similarity), count)


def _candidates(
    approximate: Approximate, asked: np.ndarray, count: int, allowed: np.ndarray | None, share: float
) -> np.ndarray:
    import faiss
    import numpy as np

    most = min(_CANDIDATES * count, approximate.covered)
    selector = None
    if allowed is not None:
        selector = faiss.IDSelectorBitmap(np.packbits(allowed[: approximate.covered], bitorder="little"))
    if approximate.covered >= GRAPH_FROM:
        # A larger graph needs more visits for the same recall. Vectors that are not allowed are visited too.
        effort = int(max(min(max(_EFFORT, approximate.covered // _PER_EFFORT), _MOST_EFFORT), most / share))
        parameters = faiss.SearchParametersHNSW(efSearch=effort, sel=selector)
    else:
        parameters = faiss.SearchParameters(sel=selector)
    _, found = approximate.index.search(asked, most, params=parameters)
    rows: np.ndarray = found[0][found[0] >= 0]
    return rows


def _scanned(
    matrix: np.ndarray, start: int, query: np.ndarray, similarity: Similarity, count: int, allowed: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rank all vectors from a row on."""
    import numpy as np

    best = np.empty(0, np.int64), np.empty(0, np.float32)
    for begin in range(start, len(matrix), _BLOCK):
        block = slice(begin, min(begin + _BLOCK, len(matrix)))
        rows = np.arange(block.start, block.stop)
        scores = closeness(matrix[block], query, similarity)
        if allowed is not None:
            rows, scores = rows[allowed[block]], scores[allowed[block]]
        best = _best(np.concatenate([best[0], rows]), np.concatenate([best[1], scores]), count)
    return best


def _scores(matrix: np.ndarray, rows: np.ndarray, query: np.ndarray, similarity: Similarity) -> np.ndarray:
    import numpy as np

    parts = [closeness(matrix[rows[at : at + _BLOCK]], query, similarity) for at in range(0, len(rows), _BLOCK)]
    return np.concatenate(parts) if parts else np.empty(0, np.float32)


def _best(rows: np.ndarray, scores: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np

    if len(rows) > count:
        kept = np.argpartition(-scores, count - 1)[:count]
        rows, scores = rows[kept], scores[kept]
    order = np.argsort(-scores, kind="stable")
    return rows[order], scores[order]


def closeness(vectors: np.ndarray, query: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Return scores that grow with closeness.

    Args:
        vectors: float32 (count, dimension).
        query: float32 (dimension,).
        similarity: Which.

    Returns:
        float32 (count,): cosine (0 for a zero vector), dot product, or minus Euclidean distance.
    """
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):  # infinite scores are refused where legs are joined
        if similarity == "l2":
            away: np.ndarray = -np.linalg.norm(vectors - query, axis=1)
            return away
        dots: np.ndarray = vectors @ query
        if similarity == "dot":
            return dots
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) * np.linalg.norm(query)
        cosines: np.ndarray = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
        return cosines


def _normal(vectors: np.ndarray, similarity: Similarity) -> np.ndarray:
    import numpy as np

    vectors = np.ascontiguousarray(vectors, np.float32)
    if similarity != "cosine":
        return vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normal: np.ndarray = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return normal


def extend(folder: Path, name: str, matrix: np.ndarray, similarity: Similarity) -> None:
    """Build the index of a field, or add new vectors to it, if there are enough.

    Args:
        folder: Of the generation.
        name: Of the field.
        matrix: All vectors of the field.
        similarity: How closeness is measured.
    """
    import faiss

    count = len(matrix)
    found = newest(folder, _name(name), count)
    covered = found[0] if found else 0
    if count < INDEXED_FROM or count - covered <= max(INDEXED_FROM // 2, covered // _GROWTH):
        return
    kept = load(folder, name, count) if covered and (covered >= GRAPH_FROM) == (count >= GRAPH_FROM) else None
    index = kept.index if kept else _empty(matrix, similarity)
    for block in _blocks(kept.covered if kept else 0, count):
        index.add(_normal(matrix[block], similarity))
    part = folder / f"{_name(name)}.part"
    faiss.write_index(index, str(part))
    complete(folder, part, _name(name), count)


def _empty(matrix: np.ndarray, similarity: Similarity) -> Any:
    import faiss
    import numpy as np

    metric = faiss.METRIC_L2 if similarity == "l2" else faiss.METRIC_INNER_PRODUCT
    bits, dimension = faiss.ScalarQuantizer.QT_8bit, matrix.shape[1]
    if len(matrix) >= GRAPH_FROM:
        links, effort = _LINKS["large" if len(matrix) >= LARGE_FROM else "small"]
        index = faiss.IndexHNSWSQ(dimension, bits, links, metric)
        index.hnsw.efConstruction = effort
    else:
        index = faiss.IndexScalarQuantizer(dimension, bits, metric)
    sample = np.linspace(0, len(matrix) - 1, min(len(matrix), GRAPH_FROM)).astype(np.int64)
    index.train(_normal(matrix[sample], similarity))
    return index


def _blocks(start: int, stop: int) -> Iterator[slice]:
    size = 16 * _BLOCK
    return (slice(at, min(at + size, stop)) for at in range(start, stop, size))


def load(folder: Path, name: str, count: int) -> Approximate | None:
    """Read the index of a field that covers the most vectors, at most `count`; None if there is none."""
    while (found := newest(folder, _name(name), count)) is not None:
        import faiss

        covered, path = found
        try:
            return Approximate(covered, _checked(faiss.read_index(str(path)), covered))
        except RuntimeError:
            if path.exists():
                raise
            # An update has replaced the file meanwhile.
    return None


def _checked(index: Any, covered: int) -> Any:
    """Return the index, or raise `ValueError` if a search would read outside its memory."""
    import faiss
    import numpy as np

    if index.ntotal != covered:
        raise ValueError("a vector index does not hold what its name says")
    if isinstance(index, faiss.IndexHNSW):
        links, starts = (faiss.vector_to_array(part) for part in (index.hnsw.neighbors, index.hnsw.offsets))
        whole = (
            len(starts) == covered + 1
            and starts[-1] == len(links)
            and bool((np.diff(starts.astype(np.int64)) >= 0).all())
        )
        if not whole or not len(links) or links.min() < -1 or max(links.max(), index.hnsw.entry_point) >= covered:
            raise ValueError("a vector index is damaged")
    return index


def _name(field: str) -> str:
    return f"{field}.index"
