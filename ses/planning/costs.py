"""What an index costs, by what it holds: formulas of a few terms, and their factors for each product.

The bytes of vectors are known from the engines' files. The factors were fitted on measured points, by least squares of
relative errors (docs/scale.md, Assumptions); a test compares the formulas with these points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from search_plugin.contract.schema import Quantization
from search_plugin.engines.cluster.diagnosis.indexes import estimate, vector_bytes
from search_plugin.engines.cluster.dialect import GRAPH
from search_plugin.engines.embedded.vectors import INDEXED_FROM, LISTS, codes_of

EngineKind = Literal["embedded", "opensearch", "elasticsearch"]
"""What keeps an index."""

LETTERS = 1331
"""Letters of title and abstract of the papers that were measured, PubMed's, the mean."""

SENTENCES = 7.9
"""Sentences of one of them, the mean."""

LETTERS_A_TOKEN = 4.46
"""Letters of titles and abstracts of PubMed in a token of BERT's uncased vocabulary. All are counted, though models
cut long texts: the default model, at 256 tokens, reads three quarters of them."""

_FLOAT, _ID = 4, 8
_FILLED = 16
"""Empty places of a list of faiss's in the mean: each is filled up to a multiple of 32 vectors."""

_LINKS = 59
"""Measured bytes of a vector's links in Lucene's graph with 16 edges."""

_NUMBER = 1.6
"""Letters that take as long to load into a cluster as one number of a vector; it fits both products best."""

_GROWTH = 0.7
"""The power of the number of papers with which the time of a search grows: bare tantivy takes 0.51 ms for the best 100
of 33,000 papers, and 5.3 ms of a million (docs/benchmarks.md, A million papers in the embedded engine)."""

_GROWN = (17.7 - 7.5) / (math.pow(1_000_000, _GROWTH) - math.pow(33_214, _GROWTH))
"""Milliseconds of a page for each such unit: a hybrid page of the embedded engine takes 7.5 ms with 33,214 papers, and
17.7 ms with a million, on the same machine."""

_TIMED = 33_000
"""Papers of the shard whose times are `ProductCosts.legs` (`python -m benchmarks.searching 33000`)."""

_SEARCHING = (79.44e6, 1.0457)
"""Bytes of memory of a process that searches an embedded index, and those for a byte of the index."""

_TOKEN = {"int8": (4.995e-11, 6.339e-8), "fp32": (1.5001e-10, 4.6888e-8)}
"""Seconds of a core for each multiplication of a token's linear layers, and for each number of a layer."""

_GPU_OPERATIONS, _GPU_SHARE = 121e12, 0.25
"""Operations of an NVIDIA L4 a second in 16 bits, by its data sheet, and the share that is used. SURGE
(arXiv:2605.01060) encoded 26,413 texts a second on four L4: with 4.6e9 operations for 200 tokens, that is a share of
0.25."""

_LINEAR, _ATTENTION, _CONTEXT = 12 * 2, 2 * 2, 200
"""Operations of a layer: of its weights, and of the attention over a text of so many tokens."""


@dataclass(frozen=True, slots=True)
class IndexShape:
    """What an index holds, as far as its costs depend on it.

    Attributes:
        papers: Number of papers.
        letters: Letters of title and abstract of a paper, the mean.
        formats: Vectors of a paper as a whole.
        sentences: Vectors of sentences of a paper, the mean; 0 if there are none.
        dimension: Numbers of a vector.
        quantization: How the engine keeps vectors in memory.
    """

    papers: int
    letters: float
    formats: int = 1
    sentences: float = 0.0
    dimension: int = 384
    quantization: Quantization = "none"


@dataclass(frozen=True, slots=True)
class ProductCosts:
    """The costs of an index in a product. CPU is that of the client and the engine together.

    Attributes:
        product: The product.
        disk_factors: Bytes on disk beside the vectors: of an index, and of a letter.
        load_factors: CPU seconds of loading: of a letter, and of a number of a vector. In a cluster, both are of a
            graph's step, and equal in letters.
        page: CPU milliseconds of a hybrid page, beside those that grow with the papers.
        legs: Milliseconds in which one shard answers both legs, one client: median and 99th percentile.
        rest: Milliseconds of a page beside its legs, the median.
    """

    product: EngineKind
    disk_factors: tuple[float, float]
    load_factors: tuple[float, float]
    page: float
    legs: tuple[float, float]
    rest: float

    def disk(self, shape: IndexShape) -> float:
        """Return the bytes on disk of one copy, after all is merged."""
        fixed, letter = self.disk_factors
        return vectors_on_disk(self.product, shape) + fixed + letter * shape.papers * shape.letters

    def memory(self, shape: IndexShape) -> float:
        """Return the bytes of one copy in memory: of a cluster's graphs, else of a process that searches."""
        if self.product != "embedded":
            return graph_memory(shape)
        process, read = _SEARCHING
        return process + read * self.disk(shape)

    def load(self, shape: IndexShape) -> float:
        """Return the CPU seconds until all papers can be searched."""
        letter, number = self.load_factors
        # To insert a vector, a graph compares it with as many others as the logarithm of their number.
        steps = 1.0 if self.product == "embedded" else math.log2(1 + shape.papers)
        numbers = (shape.formats + shape.sentences) * shape.dimension
        return steps * shape.papers * (letter * shape.letters + number * numbers)

    def page_cpu(self, papers: int, shards: int) -> float:
        """Return the CPU milliseconds of a page: each shard searches its part of the papers."""
        return self.page + shards * growing(papers / shards)

    def page_times(self, papers: int, shards: int) -> tuple[float, float]:
        """Return the median milliseconds of a page, and the 99th percentile, over shards that are independent.

        A page waits for the slowest of them, so it grows with their number (Dean and Barroso, "The tail at scale",
        CACM 56(2), 2013). The times of one shard are log-normal, and those of a larger one have the same spread.
        """
        median, p99 = self.legs
        spread = math.log(p99 / median) / NormalDist().inv_cdf(0.99)
        median += max(growing(papers / shards) - growing(_TIMED), 0.0)
        # All shards are at most as slow as the quantile with the root of the share.
        slow = (NormalDist().inv_cdf(math.pow(share, 1 / shards)) for share in (0.5, 0.99))
        p50, last = (self.rest + median * math.exp(spread * one) for one in slow)
        return p50, last


COSTS = {
    one.product: one
    for one in (
        ProductCosts("embedded", (1.851e6, 1.0059), (2.3345e-7, 2.2733e-7), 9.067, (1.8, 2.3), 3.5),
        ProductCosts("opensearch", (0, 1.5167), (4.6579e-8, _NUMBER * 4.6579e-8), 31.5, (5.9, 11.2), 7.7),
        ProductCosts("elasticsearch", (0, 1.4992), (3.8079e-8, _NUMBER * 3.8079e-8), 27.69, (6.7, 15.6), 8.8),
    )
}


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


def core_seconds(letters: float, layers: int, width: int, precision: str) -> float:
    """Return the seconds in which one core with VNNI encodes some letters by a network of a size."""
    multiplication, number = _TOKEN[precision]
    return letters / LETTERS_A_TOKEN * layers * (multiplication * width**2 + number * width)


def gpu_seconds(letters: float, layers: int, width: int) -> float:
    """Return the seconds in which one GPU does, calculated from the network's operations."""
    a_token = layers * (_LINEAR * width**2 + _ATTENTION * _CONTEXT * width)
    return letters / LETTERS_A_TOKEN * a_token / (_GPU_SHARE * _GPU_OPERATIONS)
