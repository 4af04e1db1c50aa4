"""Models that ses knows by name: what is known of them beside their folders (`known_models.toml`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from corpora.documents import read_toml
from encoders.architectures.network import Pooling
from encoders.models.card import ModelCard
from encoders.models.formats import Format

Speed = Literal["fast", "medium", "slow"]

_DATA = Path(__file__).with_name("known_models.toml")

_LAYERS, _WIDTH = 6, 384
"""Layers and width of the default model."""

_FAST, _MEDIUM = 1.5, 4.0
"""The most work of a class."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model ses knows by a short name and whose weights it checks.

    Attributes:
        licence: SPDX name of its licence; empty if unknown.
        hub_id: Repository on the hub.
        revision: Commit of the repository; if empty, it is that of the first use on a machine.
        sha256: SHA-256 of its safetensors file; if empty, it is that of the first use on a machine.
        package: Python package that carries it in a folder `model`, for machines without the hub.
        install: Command that installs that package.
        adapters: Hub id of each format's adapter, if the model itself is only their base.
        prompts: The prompt before a text, by format, for a folder that sets none.
        pooling: How tokens are pooled, for a folder that does not say.
        parameters: Number of weights, 0 if unknown.
        layers: Number of layers, 0 if unknown.
        width: Width of a hidden state, 0 if unknown.
        dimension: Length of a vector, 0 if unknown.
        languages: Languages that it reads, in words.
        scifact: Published nDCG@10 of its vectors on SciFact's test queries; None if none was found.
        source: Who published it.
        same_as: The known name of the same files, where this is another name for them; empty if it is the only name.
    """

    licence: str
    hub_id: str
    revision: str = ""
    sha256: str = ""
    package: str = ""
    install: str = ""
    adapters: Mapping[Format, str] = field(default_factory=dict)
    prompts: Mapping[Format, str] = field(default_factory=dict)
    pooling: Pooling | None = None
    parameters: int = 0
    layers: int = 0
    width: int = 0
    dimension: int = 0
    languages: str = ""
    scifact: float | None = None
    source: str = ""
    same_as: str = ""

    def distinct(self, formats: Iterable[Format]) -> tuple[Format, ...]:
        """Return some formats without those that have the same vector as an earlier one, as `ModelCard.distinct`."""
        first: dict[tuple[str, str], Format] = {}
        for one in formats:
            first.setdefault((self.adapters.get(one, ""), self.prompts.get(one, "")), one)
        return tuple(first.values())

    def completed(self, card: ModelCard, folder: Path) -> ModelCard:
        """Return the card of the model's folder with what the folder does not say."""
        network, similarity = card.network, card.similarity
        if self.pooling and not (folder / "modules.json").is_file():
            network, similarity = replace(network, pooling=self.pooling, normalize=True), "cosine"
        prompts = card.prompts or self.prompts
        return replace(card, network=network, similarity=similarity, prompts=prompts, licence=self.licence)


def work(layers: int, width: int) -> float:
    """Return the multiplications that a token's linear layers take, relative to the default model's.

    They grow with layers and with the square of the width; attention to the other tokens is left out.
    """
    return layers * width**2 / (_LAYERS * _WIDTH**2)


def speed_of(layers: int, width: int) -> Speed:
    """Return the class of a network's speed: `fast` is about as fast as the default model."""
    needed = work(layers, width)
    return "fast" if needed <= _FAST else "medium" if needed <= _MEDIUM else "slow"


def _read() -> tuple[dict[str, KnownModel], dict[str, str]]:
    """Return the known models by name, and the commits of all known repositories."""
    content = read_toml(_DATA)
    tables = content["models"]
    models = {
        name: KnownModel(**_with_formats(tables[table["same_as"]] | table if "same_as" in table else table))
        for name, table in tables.items()
    }
    revisions = {one.hub_id: one.revision for one in models.values() if one.revision}
    return models, revisions | content["revisions"]


def _with_formats(table: Mapping[str, Any]) -> dict[str, Any]:
    by_format = {key: table[key] for key in ("adapters", "prompts") if key in table}
    return {**table, **{key: {Format(name): text for name, text in of.items()} for key, of in by_format.items()}}


KNOWN_MODELS, PINNED = _read()
"""Known models by name, and the commits of their repositories; a commit fixes the content of every file."""
