"""What an index costs, by what it holds: a model with few terms, fitted on measured points.

The bytes of vectors are known from the engines' files. What is left, and time, is a sum of terms with fitted factors
(least squares of relative errors).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.diagnosis.indexes import estimate, vector_bytes
from search_plugin.engines.cluster.dialect import GRAPH
from search_plugin.engines.embedded.vectors import INDEXED_FROM, LISTS, codes_of

if TYPE_CHECKING:
    import numpy as np

    from ses.planning.measured import EngineKind, IndexShape, MeasuredIndex, Quantity

_FLOAT, _ID = 4, 8
_FILLED = 16
"""Empty places of a list of faiss's in the mean: each is filled up to a multiple of 32 vectors."""

_LINKS = 59
"""Bytes of a vector's links in Lucene's graph with 16 edges: `python -m benchmarks.sizing URL 10000` prints them."""

_NUMBER = 1.6
"""Letters that take as long to load into a cluster as one number of a vector; it fits both products best."""

_GROWTH = 0.7
"""The power of the number of papers with which the time of a search grows: bare tantivy takes 0.51 ms for the best 100
of 33,000 papers, and 5.3 ms of a million (docs/benchmarks.md, A million papers in the embedded engine)."""

_GROWN = (17.7 - 7.5) / (math.pow(1_000_000, _GROWTH) - math.pow(33_214, _GROWTH))
"""Milliseconds of a page for each such unit: a hybrid page of the embedded engine takes 7.5 ms with 33,214 papers
(`python -m benchmarks.peers` of 5ca73fab), and 17.7 ms with a million (`python -m benchmarks.million`), on the same
machine."""


def growing(papers: float) -> float:
    """Return the milliseconds of a page that grow with the number of papers of a shard."""
    return _GROWN * math.pow(papers, _GROWTH)


def vectors_on_disk(product: EngineKind, shape: IndexShape) -> float:
    """Return the bytes of all vectors of one copy of an index, with lists or smaller vectors, and links of graphs.

    Sentences are stored in 8 bits by the embedded engine. A cluster also keeps all vectors as floats.
    """
    whole, passages = shape.papers * shape.formats, shape.papers * shape.sentences
    if product == "embedded":
        stored = _FLOAT * shape.dimension * whole + (_FLOAT + shape.dimension) * passages
        return stored + shape.formats * _lists(shape.papers, shape.dimension) + _lists(passages, shape.dimension)
    floats = (_FLOAT * shape.dimension + _LINKS) * (whole + passages)
    small = 0 if shape.quantization == "none" else whole * vector_bytes(shape.dimension, shape.quantization)
    kept = "int8" if shape.quantization == "none" else shape.quantization
    return floats + small + passages * vector_bytes(shape.dimension, kept)


def _lists(count: float, dimension: int) -> float:
    """Return the bytes of faiss's lists of a field of the embedded engine, with their centres."""
    if count < INDEXED_FROM:
        return 0
    codes, lists = codes_of(dimension) / 2, LISTS * math.sqrt(count)
    return count * (codes + _ID) + lists * (_FILLED * codes + _FLOAT * dimension)


def graph_memory(shape: IndexShape) -> float:
    """Return the bytes of one copy of a cluster's graphs in memory, by the products' published formulas."""
    links = int(GRAPH["m"])
    kept = "int8" if shape.quantization == "none" else shape.quantization
    whole = estimate(shape.dimension, shape.quantization, shape.papers * shape.formats, links)
    return whole + estimate(shape.dimension, kept, round(shape.papers * shape.sentences), links)


@dataclass(frozen=True, slots=True)
class FittedCost:
    """A cost of an index of one product, fitted on measured points.

    Attributes:
        product: The product.
        quantity: What it is: bytes, CPU seconds, or CPU milliseconds.
        factors: Factors of the terms.
        disk: The cost in bytes on disk, if that is a term of this one.
    """

    product: EngineKind
    quantity: Quantity
    factors: tuple[float, ...]
    disk: FittedCost | None = None

    def of(self, shape: IndexShape) -> float:
        """Return the cost of an index."""
        known, terms = _terms(self.product, self.quantity, shape, self.disk)
        return known + sum(factor * term for factor, term in zip(self.factors, terms, strict=True))


def fitted(points: Sequence[MeasuredIndex], product: EngineKind, quantity: Quantity) -> FittedCost:
    """Fit a cost on the points of a product at which it was measured.

    Args:
        points: Measured indexes, of any products.
        product: The product.
        quantity: The cost.

    Returns:
        The cost, with factors of at least 0.

    Raises:
        UnavailableError: If it was measured at fewer points than it has terms.
    """
    import numpy as np

    disk = fitted(points, product, "disk") if quantity == "memory" else None
    own = measured_at(points, product, quantity)
    rows = [_terms(product, quantity, point.shape, disk) for point in own]
    if len(own) < (least := len(rows[0][1]) if rows else 1):
        sizes = f"{len(own)} size{'s' * (len(own) != 1)}"
        raise UnavailableError(f"The {quantity} of {product} was measured at {sizes}; measure it at {least} or more.")
    seen = np.array([point.values[quantity] for point in own])
    terms = np.array([row for _, row in rows]) / seen[:, None]
    left = (seen - np.array([known for known, _ in rows])) / seen
    return FittedCost(product, quantity, tuple(_not_negative(terms, left)), disk)


def _not_negative(terms: np.ndarray, left: np.ndarray) -> Iterator[float]:
    """Yield the factors of least squares, those below 0 replaced by 0 and the others fitted again."""
    import numpy as np

    kept = list(range(terms.shape[1]))
    factors = np.zeros(terms.shape[1])
    while kept:
        found = np.linalg.lstsq(terms[:, kept], left, rcond=None)[0]
        if (found >= 0).all():
            factors[kept] = found
            break
        kept = [one for one, factor in zip(kept, found, strict=True) if factor >= 0]
    yield from map(float, factors)


def measured_at(points: Sequence[MeasuredIndex], product: EngineKind, quantity: Quantity) -> list[MeasuredIndex]:
    """Return the points of a product at which a cost was measured."""
    return [point for point in points if point.product == product and quantity in point.values]


def left_out(points: Sequence[MeasuredIndex], point: MeasuredIndex, quantity: Quantity) -> float:
    """Return a point's cost as the other points predict it, over the measured one."""
    others = [other for other in points if other is not point]
    return fitted(others, point.product, quantity).of(point.shape) / point.values[quantity]


def _terms(
    product: EngineKind, quantity: Quantity, shape: IndexShape, disk: FittedCost | None
) -> tuple[float, tuple[float, ...]]:
    """Return the part of a cost that is known, and the terms whose factors are fitted."""
    letters = shape.papers * shape.letters
    numbers = shape.papers * (shape.formats + shape.sentences) * shape.dimension
    embedded = product == "embedded"
    if quantity == "disk":
        return vectors_on_disk(product, shape), (1.0, letters) if embedded else (letters,)
    if quantity == "memory":
        return 0.0, (1.0, disk.of(shape) if disk else 0.0)
    if quantity == "load":
        # To insert a vector, a graph compares it with as many others as the logarithm of their number.
        graphs = (letters + _NUMBER * numbers) * math.log2(1 + shape.papers)
        return 0.0, (letters, numbers) if embedded else (graphs,)
    return growing(shape.papers), (1.0,)
