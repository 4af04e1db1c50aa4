"""How much memory an index's vectors need for HNSW searches, outside the Java heap.

Both products publish estimates; this module takes the larger term of the two. OpenSearch's is
`1.1 * (bytes of a vector + 8 * m) * n`, with 4 bytes per dimension for float vectors ("k-NN index", "Memory
estimation"), 1 for Lucene's scalar quantization ("Lucene scalar quantization", "HNSW memory estimation"), 1/2 and 1/8
for 4 bits and 1 ("Binary quantization"). Elasticsearch ("Tune approximate kNN search", "Ensure data nodes have enough
memory") counts only `4 * m` for the graph, and adds a few bytes of rounding correction to each quantized vector.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from search_plugin.contract.schema import IndexSchema, Quantization

_BYTES_A_DIMENSION: Mapping[Quantization, Fraction] = {
    "none": Fraction(4),
    "int8": Fraction(1),
    "int4": Fraction(1, 2),
    "1bit": Fraction(1, 8),
}
_CORRECTION: Mapping[Quantization, int] = {"none": 0, "int8": 4, "int4": 4, "1bit": 14}
_LINK_BYTES = 8
_OVERHEAD = Fraction(11, 10)


def vector_bytes(dimension: int, quantization: Quantization) -> int:
    """Return the bytes of one vector in the form that graph searches read."""
    return math.ceil(_BYTES_A_DIMENSION[quantization] * dimension) + _CORRECTION[quantization]


def estimate(dimension: int, quantization: Quantization, count: int, m: int) -> int:
    """Return the bytes of a field of `count` vectors: `1.1 * (vector_bytes + 8 * m) * count`, m links to a node."""
    return math.ceil(_OVERHEAD * (vector_bytes(dimension, quantization) + _LINK_BYTES * m) * count)


def estimate_index(schema: IndexSchema, counts: Mapping[str, int], m: int, quantization: Quantization) -> int:
    """Return the bytes of one copy of an index's vectors, counted by field, in its own quantization or another."""
    return sum(estimate(field.dimension, quantization, counts.get(field.format, 0), m) for field in schema.vectors)
