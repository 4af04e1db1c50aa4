"""What an index of some papers needs: disk, memory, shards, nodes, hours, and how long a page takes.

The assumptions are in docs/scale.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from corpora.errors import InputError
from corpora.options import Option
from encoders.models.formats import Format, parse_formats
from search_plugin.contract.diagnosis import human_bytes
from search_plugin.contract.schema import Passages, Quantization
from ses.argument_validation import checked
from ses.planning.costs import (
    COSTS,
    LETTERS,
    SENTENCES,
    EngineKind,
    IndexShape,
    ProductCosts,
    core_seconds,
    gpu_seconds,
)

if TYPE_CHECKING:
    from encoders.models.known import KnownModel

SHARD_BYTES = 50 * 10**9
"""The largest shard: "10GB to 50GB" (Elastic, "Size your shards"; OpenSearch gives the same figures)."""

BUSY, FULL, HEAP, LARGEST_HEAP = 0.5, 0.8, 0.5, 31
"""Of a node: how busy its cores are, how full its disk, the share of memory for Java, and the most GiB of that."""

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
