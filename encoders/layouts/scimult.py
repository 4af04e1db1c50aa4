"""SciMult's task experts, as they stand in its checkpoints."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from corpora.errors import InputError
from encoders.architectures.bert import layer_name
from encoders.layouts.encoder_params import EncoderParams, special_layers
from encoders.layouts.huggingface import HEAD
from encoders.layouts.numbered import numbered_heads
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.models.model import Weights

_PUBLISHED = 3
_SEARCH, _CLASSIFICATION = 0, 2
"""Of three experts; the one between them is for links between papers."""

_USUAL = {Format.CLF: _CLASSIFICATION, Format.PRX: _SEARCH, Format.QRY: _SEARCH}
"""Queries and papers need the same expert, so papers have that of search; none was trained for regression."""

_MARKS = {"attn": "attention.self.moe_query.{}.weight", "fwd": "moe_layer.interm_layers.{}.dense.weight"}
"""A weight that every expert of a kind has."""


def with_experts(card: ModelCard, path: Path, params: EncoderParams) -> ModelCard:
    """Return a card of a network some of whose layers have experts.

    Where a gate chooses the expert, all formats have the same vector. Otherwise `ses_card.json` may give each format
    its expert: `{"experts": {"prx": 1, "clf": 2}}`; it must, where there are not the three of the paper.

    Args:
        card: Of the network without them.
        path: Of the checkpoint.
        params: Its settings.

    Returns:
        The card.

    Raises:
        InputError: If the experts are not known.
    """
    count = params.num_expert or 0
    layers, kind = _layers(card, path, params)
    gate = "" if not params.use_infer_expert else "token" if "tok" in kind else "text"
    usual = _USUAL if count == _PUBLISHED else {}
    heads = dict.fromkeys(Format, HEAD) if gate else numbered_heads(path.parent, "experts", count, usual)
    first = min(layers, default=card.network.layers)
    network = replace(card.network, shared_layers=first, options={"experts": count, "gate": gate})
    return replace(card, architecture="experts", heads=heads, network=network)


def expert_weights(card: ModelCard, path: Path, params: EncoderParams, weights: Weights) -> Weights:
    """Return a checkpoint's weights without the experts that serve no format.

    Args:
        card: From `with_experts`.
        path: Of the checkpoint.
        params: Its settings.
        weights: All of one model's.

    Returns:
        Those that some format needs.

    Raises:
        InputError: If the experts are not where `moe_type` says, so that another network would be computed.
    """
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
    """Return weights without the experts that serve no format.

    Args:
        weights: All of a model's.
        count: How many experts there are.
        serving: The numbers of those that serve one.

    Returns:
        Those that some format needs.
    """
    idle = [str(expert) for expert in range(count) if str(expert) not in serving]
    return {name: array for name, array in weights.items() if not _is_of(name, idle)}


def _is_of(name: str, experts: list[str]) -> bool:
    kinds = ("moe_", "interm_layers", "output_layers")
    return any(part.startswith(kinds) and number in experts for part, number in itertools.pairwise(name.split(".")))


def _layers(card: ModelCard, path: Path, params: EncoderParams) -> tuple[list[int], str]:
    which, _, kind = (params.moe_type or "").partition(":")
    return special_layers(path, which, card.network.layers), kind
