"""The measured points from which the costs of an index are estimated (`measured.toml`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal, get_args

from corpora.documents import read_toml
from search_plugin.contract.schema import Quantization

EngineKind = Literal["embedded", "opensearch", "elasticsearch"]
"""What keeps an index."""

Quantity = Literal["disk", "memory", "load", "page"]
"""What is measured of an index: bytes on disk; bytes of memory of a process that searches; CPU seconds of loading
all papers; CPU milliseconds of a hybrid page. Seconds and milliseconds are of the client and the engine together."""

LETTERS = 1331
"""Letters of title and abstract of the papers that were measured, PubMed's, the mean."""

SENTENCES = 7.9
"""Sentences of one of them, the mean."""

_DATA = Path(__file__).with_name("measured.toml")


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
class MeasuredIndex:
    """An index of which something was measured.

    Attributes:
        product: What kept it.
        shape: What it held.
        values: What was measured, by quantity.
        command: The command that measured it.
        machine: The machine.
        date: When.
        legs: Milliseconds of both legs of a search, one client: p50 and p99; empty if not measured.
        rest: Milliseconds of a page beside its legs, the median.
    """

    product: EngineKind
    shape: IndexShape
    values: Mapping[Quantity, float]
    command: str
    machine: str
    date: date
    legs: Sequence[float] = ()
    rest: float = 0.0


@dataclass(frozen=True, slots=True)
class MeasuredEncoder:
    """A network whose speed was measured.

    Attributes:
        layers: Number of layers.
        width: Width of a hidden state.
        tokens: Tokens a second and core.
        precision: Numeric precision, by which the runtime computed.
        command: The command that measured it.
        machine: The machine.
        date: When.
    """

    layers: int
    width: int
    tokens: float
    precision: str
    command: str
    machine: str
    date: date


def measured_indexes() -> tuple[MeasuredIndex, ...]:
    """Return the measured indexes."""
    return tuple(_indexes(read_toml(_DATA)["index"]))


def measured_encoders() -> tuple[MeasuredEncoder, ...]:
    """Return the measured encoders."""
    return tuple(MeasuredEncoder(**one) for one in read_toml(_DATA)["encoder"])


def _indexes(tables: Sequence[Mapping[str, Any]]) -> Iterator[MeasuredIndex]:
    shape = set(IndexShape.__dataclass_fields__)
    quantities: set[Any] = set(get_args(Quantity))
    for table in tables:
        held = {name: value for name, value in table.items() if name in shape}
        values: Any = {name: value for name, value in table.items() if name in quantities}
        rest = {name: value for name, value in table.items() if name not in shape | quantities}
        yield MeasuredIndex(shape=IndexShape(**held), values=values, **rest)
