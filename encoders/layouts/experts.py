"""Task experts in a folder: a network's files, whose weights have the names of SciMult's checkpoints, as safetensors.

Its `ses_card.json` says which expert serves which format:
`{"architecture": "experts", "experts": {"prx": 0, "qry": 0, "clf": 2}}`. Beside a checkpoint of
SciMult it may say so too, and must if there are not the three experts of the paper.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from corpora.checksums import sha256_of
from corpora.errors import InputError, require
from encoders.architectures.bert import layer_name
from encoders.layouts import huggingface
from encoders.layouts.encoder_params import EncoderParams, special_layers
from encoders.layouts.huggingface import HEAD
from encoders.layouts.own_card import CARD_FILE, numbered_heads, read_own
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.models.model import Find, Model, Weights
from encoders.models.weights import SAFETENSORS, read_shapes, read_weights

ExpertKind = Literal["attention", "feed-forward"]

PARTS: Mapping[ExpertKind, Mapping[str, str]] = {
    "attention": {
        "attention.self.query": "attention.self.moe_query.{}",
        "attention.self.key": "attention.self.moe_key.{}",
        "attention.self.value": "attention.self.moe_value.{}",
        "attention.output.dense": "attention.output.moe_dense.{}",
    },
    "feed-forward": {
        "intermediate.dense": "moe_layer.interm_layers.{}.dense",
        "output.dense": "moe_layer.output_layers.{}.dense",
        "output.LayerNorm": "moe_layer.output_layers.{}.LayerNorm",
    },
}
"""What an expert has of its own, by the names of a plain layer's parts: an expert's number goes into the braces."""

MARK = "moe_"
"""In the names of all weights of experts, and no other."""

_COPIES = {
    re.compile(re.escape(copy).replace(r"\{\}", r"\d+")): plain
    for parts in PARTS.values()
    for plain, copy in parts.items()
}
_EXPERT = re.compile(r"encoder\.layer\.(\d+)\..*(?:moe_query|interm_layers)\.(\d+)\.")


def recognizes(path: Path) -> bool:
    """Return whether a folder's own card makes it such a model, and it holds safetensors."""
    return (path / SAFETENSORS).is_file() and read_own(path).get("architecture") == "experts"


def read(folder: Path, name: str, find: Find) -> Model:  # noqa: ARG001 - it is made of no others
    """Read a folder with experts: `ses_card.json`, `config.json`, a tokenizer and `model.safetensors`."""
    path = folder / SAFETENSORS
    card = huggingface.read_card(folder, name, sha256_of(path))
    require(card.architecture == "plain", f"{folder} holds a {card.family} model; experts need a BERT or RoBERTa.")
    found = [match for weight in read_shapes(path) if (match := _EXPERT.match(weight))]
    if not found:
        raise InputError(f"{path} has no experts; take the architecture out of {folder / CARD_FILE}.")
    count = 1 + max(int(match[2]) for match in found)
    first = min(int(match[1]) for match in found)
    heads = numbered_heads(folder, "experts", count, {})
    network = replace(card.network, shared_layers=first, options={"experts": count, "gate": ""})
    card = replace(card, architecture="experts", heads=heads, network=network)
    return Model(card, folder, functools.partial(_read, path, card))


def copies(weights: Weights, layer: int, kind: ExpertKind, expert: int) -> dict[str, str]:
    """Return the names of an expert's weights, by the names of the plain layer's weights that they are copies of."""
    name = layer_name(layer)
    whole = {f"{name}.{part}": f"{name}.{copy.format(expert)}" for part, copy in PARTS[kind].items()}
    return {
        f"{part}.{last}": f"{copy}.{last}"
        for part, copy in whole.items()
        for last in ("weight", "bias")
        if f"{part}.{last}" in weights
    }


def copied_from(name: str) -> str:
    """Return the name that an expert's weight has in a plain layer."""
    for copy, plain in _COPIES.items():
        name = copy.sub(plain, name)
    return name


def _read(path: Path, card: ModelCard) -> Weights:
    return without_idle(read_weights(path), card.network.options["experts"], card.heads.values())


_PUBLISHED = 3
_SEARCH, _CLASSIFICATION = 0, 2
"""Numbers of the published experts; number 1 is for links between papers."""

_USUAL = {Format.CLF: _CLASSIFICATION, Format.PRX: _SEARCH, Format.QRY: _SEARCH}
"""Queries and papers need the same expert, so papers have that of search; none was trained for regression."""

_MARKS = {"attn": "attention.self.moe_query.{}.weight", "fwd": "moe_layer.interm_layers.{}.dense.weight"}
"""A weight that every expert of a kind has."""


def with_experts(card: ModelCard, path: Path, params: EncoderParams) -> ModelCard:
    """Return a card of a network with experts; `InputError` if nothing says which of them serves which format."""
    count = params.num_expert or 0
    layers, kind = _layers(card, path, params)
    gate = "" if not params.use_infer_expert else "token" if "tok" in kind else "text"
    usual = _USUAL if count == _PUBLISHED else {}
    # Where a gate chooses the expert, all formats have the same vector.
    heads = dict.fromkeys(Format, HEAD) if gate else numbered_heads(path.parent, "experts", count, usual)
    first = min(layers, default=card.network.layers)
    network = replace(card.network, shared_layers=first, options={"experts": count, "gate": gate})
    return replace(card, architecture="experts", heads=heads, network=network)


def expert_weights(card: ModelCard, path: Path, params: EncoderParams, weights: Weights) -> Weights:
    """Return a checkpoint's weights without idle experts; `InputError` if experts are not where `moe_type` says."""
    layers, kind = _layers(card, path, params)
    experts = range(params.num_expert or 0)
    expected = {
        f"{layer_name(layer)}.{mark.format(expert)}"
        for layer in layers
        for part, mark in _MARKS.items()
        for expert in experts
        if part in kind
    }
    if params.use_infer_expert:
        gates = [f".{layer}" for layer in layers] if params.per_layer_gating else [""]
        expected |= {f"encoder.expert_gate{gate}.fwd_func.weight" for gate in gates} if layers else set()
    if missing := sorted(expected - set(weights)):
        raise InputError(f"{path} lacks {missing[0]}, which its moe_type {params.moe_type} has; fetch it again.")
    if params.use_infer_expert:
        return weights
    return without_idle(weights, len(experts), card.heads.values())


def without_idle(weights: Weights, count: int, serving: Collection[str]) -> Weights:
    """Return weights without the experts that serve no format, given the numbers of those that serve one."""
    idle = [str(expert) for expert in range(count) if str(expert) not in serving]
    return {name: array for name, array in weights.items() if not _is_of(name, idle)}


def _is_of(name: str, experts: list[str]) -> bool:
    kinds = ("moe_", "interm_layers", "output_layers")
    return any(part.startswith(kinds) and number in experts for part, number in itertools.pairwise(name.split(".")))


def _layers(card: ModelCard, path: Path, params: EncoderParams) -> tuple[list[int], str]:
    which, _, kind = (params.moe_type or "").partition(":")
    return special_layers(path, which, card.network.layers), kind
