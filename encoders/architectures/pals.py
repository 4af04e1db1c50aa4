"""Projected attention layers beside each layer (SciRepEval section 4.3; Stickland and Murray 2019).

With x the layer's input and a its attention's output, the layer gives LN(FFN(a) + a + e). In projected attention,
e = gelu(Up(attention(Down(x)))) with no output projection in the attention; in the low-rank variant,
e = Up(gelu(Down(x))).
"""

from __future__ import annotations

from collections.abc import Sequence

from encoders.architectures.bert import attended, attention_names, by_head, feed_forward, finish, layer_name, run
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor

ATTENTION_HEADS = 6
"""Attention heads of the projected attention, in SciRepEval's code."""


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text for each head, which is the number of its task in the checkpoint.

    Use it when a model of SciRepEval's training with PALs is at hand, or is to be compared: each format takes a pass of
    its own.
    """

    def layer(number: int, queries: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
        states = attended(ops, network, number, queries, keys, bias)
        name = f"{layer_name(number)}.multi_layers"
        own = by_head(ops, heads, queries, keys, bias)
        extra = ops.stack([_extra(ops, f"{name}.{head}", *tensors) for head, *tensors in own])
        return finish(ops, number, feed_forward(ops, number, states), states, extra)

    return run(ops, network, ids, mask, heads, layer)


def _extra(ops: Ops, name: str, queries: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
    down = ops.linear(queries, f"{name}.aug_dense")
    if not ops.has(f"{name}.attn.query.weight"):
        return ops.linear(ops.activate(down, "gelu"), f"{name}.aug_dense2")
    # Even if only one token is wanted, it attends to every token.
    seen = down if queries is keys else ops.linear(keys, f"{name}.aug_dense")
    projected = ops.project(down, seen, attention_names(f"{name}.attn"), ATTENTION_HEADS)
    mixed = ops.attend(*projected, ATTENTION_HEADS, bias)
    return ops.activate(ops.linear(mixed, f"{name}.aug_dense2"), "gelu")
