"""Task experts: SciMult, section 3.2 (Zhang et al. 2023); Ma et al. 2023 for experts in the attention.

`moe_type` is `which:kind`: the layers that have experts, and in `kind` the blocks that do, `attn` (query, key, value
and output projection; the norm is shared) and `fwd` (both linear layers and the norm). A task's expert does the whole
text. A model with gates picks by itself instead, the likeliest expert of W s + b: for a text from its first token's
state s that enters the layer; with `tok` in `kind`, for every token from its own state, in the `fwd` block alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.encoders.formulas.layers import EXPERT_LAYERS
from tests.encoders.oracle import Oracle, attention, gelu, linear, pool


def expert_vector(base: Oracle, params: Mapping[str, Any], ids: list[int], expert: int | None = None) -> np.ndarray:
    """The text's vector by an expert, or by those that the gates pick; mean pooling goes with unit length."""
    which, kind = params["moe_type"].split(":")

    def layer(i: int, hidden: np.ndarray) -> np.ndarray:
        if not params["use_moe"] or i not in EXPERT_LAYERS[which]:
            return base.layer(i, hidden)
        chosen = _gated(base, params, i, hidden) if params["use_infer_expert"] else np.full(len(hidden), expert)
        attended = _attend(base, i, hidden, chosen[0]) if "attn" in kind else base.attend(i, hidden, hidden)
        if "fwd" not in kind:
            return base.finish(i, attended)
        return np.concatenate([_finish(base, i, token[None], e) for token, e in zip(attended, chosen, strict=True)])

    hidden = base.states(ids, layer)[-1]
    return pool(hidden, "mean", normalize=True) if params["mean_pool"] else pool(hidden, "cls")


def _gated(base: Oracle, params: Mapping[str, Any], i: int, hidden: np.ndarray) -> np.ndarray:
    gate = f"encoder.expert_gate.{i}.fwd_func" if params["per_layer_gating"] else "encoder.expert_gate.fwd_func"
    picks = linear(base.weights, gate, hidden).argmax(axis=1)
    return picks if "tok" in params["moe_type"] else np.full(len(hidden), picks[0])


def _attend(base: Oracle, i: int, hidden: np.ndarray, expert: int) -> np.ndarray:
    name = f"encoder.layer.{i}.attention"
    query, key, value = (
        linear(base.weights, f"{name}.self.moe_{part}.{expert}", hidden) for part in ("query", "key", "value")
    )
    mixed = linear(base.weights, f"{name}.output.moe_dense.{expert}", attention(query, key, value, base.heads))
    return base.norm(f"{name}.output.LayerNorm", mixed + hidden)


def _finish(base: Oracle, i: int, attended: np.ndarray, expert: int) -> np.ndarray:
    name = f"encoder.layer.{i}.moe_layer"
    inner = gelu(linear(base.weights, f"{name}.interm_layers.{expert}.dense", attended))
    output = f"{name}.output_layers.{expert}"
    return base.norm(f"{output}.LayerNorm", linear(base.weights, f"{output}.dense", inner) + attended)
