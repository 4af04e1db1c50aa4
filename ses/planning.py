"""What an index of some papers needs: disk, memory, shards, nodes, hours, and how long a page takes.

The costs are formulas of a few terms. The bytes of vectors are known from the engines' files. The factors for each
product were fitted on measured points, by least squares of relative errors; a test compares the formulas with these
points. The assumptions are in docs/scale.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any, Literal

from corpora.errors import InputError
from corpora.options import Option
from encoders.models.formats import Format, parse_formats
from search_plugin.contract.diagnosis import human_bytes
from search_plugin.contract.schema import Passages, Quantization
from search_plugin.engines.cluster.diagnosis.indexes import estimate, vector_bytes
from search_plugin.engines.cluster.dialect import GRAPH
from search_plugin.engines.embedded.vectors import INDEXED_FROM, LISTS, codes_of
from ses.argument_validation import checked

if TYPE_CHECKING:
    from encoders.models.known import KnownModel

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


SHARD_BYTES = 50 * 10**9
"""The largest shard: "10GB to 50GB" (Elastic, "Size your shards"; OpenSearch gives the same figures)."""

BUSY, FULL, HEAP, LARGEST_HEAP = 0.5, 0.8, 0.5, 31
"""How busy the cores of a node may be, how full its disk, the share of memory for Java, and the most GiB of that."""

_GIB, _GB, _HOUR = 1 << 30, 10**9, 3_600
_MOST = 10**10


@dataclass(frozen=True, slots=True)
class FanOut:
    """The times of a page over a number of shards.

    Attributes:
        shards: Number of shards.
        p50: Milliseconds, the median.
        p99: Milliseconds, the 99th percentile.
    """

    shards: int
    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Sizing:
    """What an index needs.

    Attributes:
        product: What keeps it.
        papers: Number of papers.
        vectors: Number of vectors.
        dimension: Numbers of a vector.
        disk_bytes: Disk of all copies.
        memory_bytes: Memory of all copies: of a cluster for the graphs, beside Java's heap; of the embedded engine for
            everything that searches read.
        shards: Number of shards of a copy.
        copies: Copies of each shard.
        nodes: Number of nodes.
        decided_by: What their number is needed for.
        encoding_core_hours: Hours in which one core encodes all papers.
        encoding_gpu_hours: Hours in which one GPU does, by calculation.
        loading_core_hours: Hours of a core in which the index is written, the client's and the engine's.
        page: Times of a page, first over these shards, then over fewer and more.
        costs: Costs of a million papers by what they are for, in the unit of the prices.

    Example:
        >>> sizing = ses.plan(200_000, product="embedded", replicas=0)
        >>> print(str(sizing).splitlines()[0])
        200,000 papers with 200,000 vectors of 384 numbers, embedded
    """

    product: EngineKind
    papers: int
    vectors: int
    dimension: int
    disk_bytes: int
    memory_bytes: int
    shards: int
    copies: int
    nodes: int
    decided_by: str
    encoding_core_hours: float
    encoding_gpu_hours: float
    loading_core_hours: float
    page: tuple[FanOut, ...]
    costs: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        copies = "one copy" if self.copies == 1 else f"{self.copies} copies"
        yield f"{self.papers:,} papers with {self.vectors:,} vectors of {self.dimension} numbers, {self.product}"
        yield f"disk      {human_bytes(self.disk_bytes)} for {copies}"
        beside = "" if self.product == "embedded" else " for graphs, beside Java's heap"
        yield f"memory    {human_bytes(self.memory_bytes)}{beside}"
        yield f"shards    {self.shards:,} of {human_bytes(self.disk_bytes // self.copies // self.shards)}"
        yield f"nodes     {self.nodes:,}, needed for {self.decided_by}"
        yield (
            f"encoding  {_hours(self.encoding_core_hours)} of one core, "
            f"or {_hours(self.encoding_gpu_hours)} of one GPU (calculated)"
        )
        yield f"loading   {_hours(self.loading_core_hours)} of one core"
        for at, page in enumerate(self.page):
            over = "one shard" if page.shards == 1 else f"{page.shards:,} shards"
            yield f"{'' if at else 'page':10}p50 {page.p50:,.0f} ms, p99 {page.p99:,.0f} ms over {over}"
        for at, (name, cost) in enumerate(self.costs.items()):
            yield f"{'' if at else 'cost':10}{cost:,.2f} for {name} of a million papers"


def _hours(hours: float) -> str:
    time, unit = next((hours * many, unit) for many, unit in _UNITS if hours * many >= 1 or unit == "seconds")
    return f"{time:,.0f} {unit}" if time >= 10 else f"{time:.2g} {unit}"


_UNITS = ((1, "hours"), (60, "minutes"), (3_600, "seconds"))


@checked
def plan(
    papers: Annotated[float, Option("Number of papers", least=1, most=_MOST)],
    *,
    product: Annotated[EngineKind, Option("What keeps the index")] = "opensearch",
    model: Annotated[str, Option("Known name of a model of that size", "NAME")] = "ses-minilm",
    dimension: Annotated[int | None, Option("Numbers of a vector", least=1, default_help="those of the model")] = None,
    formats: Annotated[Sequence[str], Option("Task formats to store vectors for, such as prx,clf", "LIST")] = ("prx",),
    passages: Annotated[Passages, Option("The passages that have vectors too")] = "none",
    quantization: Annotated[Quantization, Option("How the engine keeps vectors in memory")] = "none",
    precision: Annotated[Literal["int8", "fp32"], Option("Numeric precision of encoding on CPUs")] = "int8",
    letters: Annotated[float, Option("Letters of title and abstract, mean", least=1)] = LETTERS,
    replicas: Annotated[int, Option("Further copies of each shard", least=0)] = 1,
    queries: Annotated[float, Option("Pages a second", least=0)] = 10.0,
    node_cores: Annotated[int, Option("Cores of a node", least=1)] = 16,
    node_memory: Annotated[float, Option("Memory of a node", "GIB", least=1)] = 64.0,
    node_disk: Annotated[float, Option("Disk of a node", "GB", least=1)] = 2_000.0,
    core_price: Annotated[float, Option("Price of a core for an hour", "PRICE", least=0)] = 0.0,
    gpu_price: Annotated[float, Option("Price of a GPU for an hour", "PRICE", least=0)] = 0.0,
    node_price: Annotated[float, Option("Price of a node for a month", "PRICE", least=0)] = 0.0,
) -> Sizing:
    """Estimate what an index of some papers needs, from measured points (docs/scale.md).

    Args:
        papers: Number of papers.
        product: What keeps the index.
        model: Known name of the model, whose size decides how long encoding takes.
        dimension: Numbers of a vector; those of the model if left out.
        formats: Task formats to store vectors for; `prx` always is. A vector that is the same for several counts once.
        passages: The passages that have vectors too.
        quantization: How the engine keeps vectors in memory.
        precision: Numeric precision of encoding on CPUs.
        letters: Letters of title and abstract of a paper, the mean.
        replicas: Further copies of each shard.
        queries: Pages a second.
        node_cores: Cores of a node.
        node_memory: GiB of memory of a node.
        node_disk: GB of disk of a node.
        core_price: Price of a core for an hour.
        gpu_price: Price of a GPU for an hour.
        node_price: Price of a node for a month.

    Returns:
        What it needs. Costs are given for each price that is given.

    Raises:
        InputError: If an argument is out of bounds, or the model is not known.

    Example:
        >>> small = ses.plan(20e6, product="elasticsearch", quantization="int8")
        >>> small.copies
        2
    """
    known = _known(model)
    sentences = SENTENCES * letters / LETTERS if passages == "sentences" else 0.0
    of_paper = len(known.distinct([Format.PRX, *parse_formats(*formats)]))
    shape = IndexShape(int(papers), letters, of_paper, sentences, dimension or known.dimension, quantization)
    costs = COSTS[product]
    copies = 1 + replicas
    disk, memory = costs.disk(shape), costs.memory(shape)
    shards = 1 if product == "embedded" else math.ceil(disk / SHARD_BYTES)
    needed = {
        "its copies": copies,
        "its disk": copies * disk / (FULL * node_disk * _GB),
        "its memory": copies * memory / (_beside_heap(product, node_memory) * _GIB),
        "its queries": queries * costs.page_cpu(shape.papers, shards) / 1_000 / (BUSY * node_cores),
    }
    decided_by = max(needed, key=lambda name: needed[name])
    nodes = math.ceil(needed[decided_by])
    vectors = shape.papers * (of_paper + sentences)
    # Known models make each vector of a paper in a pass of its own.
    read = letters * shape.papers * (of_paper + (passages == "sentences"))
    core_hours = core_seconds(read, known.layers, known.width, precision) / _HOUR
    gpu_hours = gpu_seconds(read, known.layers, known.width) / _HOUR
    load_hours = costs.load(shape) / _HOUR
    prices = {
        "encoding on CPUs": core_price * core_hours,
        "encoding on GPUs": gpu_price * gpu_hours,
        "loading": core_price * load_hours,
        "a month of serving": node_price * nodes,
    }
    return Sizing(
        product,
        shape.papers,
        round(vectors),
        shape.dimension,
        round(copies * disk),
        round(copies * memory),
        shards,
        copies,
        nodes,
        decided_by,
        core_hours,
        gpu_hours,
        load_hours,
        tuple(_fan_outs(costs, shape.papers, shards)),
        {name: 1e6 * price / shape.papers for name, price in prices.items() if price},
    )


def _known(model: str) -> KnownModel:
    """Return a known model whose size is known, or raise `InputError`."""
    from encoders.models.known import KNOWN_MODELS

    known = KNOWN_MODELS.get(model)
    if known is None or not known.layers:
        sized = ", ".join(name for name, one in KNOWN_MODELS.items() if one.layers)
        raise InputError(f"The size of the model {model!r} is not known; choose one of {sized} that is as large.")
    return known


def _beside_heap(product: EngineKind, memory: float) -> float:
    return memory * FULL if product == "embedded" else memory - min(HEAP * memory, LARGEST_HEAP)


def _fan_outs(costs: ProductCosts, papers: int, shards: int) -> Iterator[FanOut]:
    several = [shards] if costs.product == "embedded" else dict.fromkeys([shards, math.ceil(shards / 4), 4 * shards])
    for count in several:
        yield FanOut(count, *costs.page_times(papers, count))
