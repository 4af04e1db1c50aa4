"""Task experts: copies of a layer's attention or feed-forward network, one per task (SciMult section 3.2).

The task selects the expert. In checkpoints with a gate, the gate selects it: the highest of a linear layer's outputs,
of the first token for the text's expert, or of each token for its own. Layers without experts are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from encoders.architectures.bert import (
    after_attention,
    attended,
    by_head,
    feed_forward,
    finish,
    layer_name,
    plain_layer,
    run,
)
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text for each head, the number of its expert; with a gate, any name will do.

    Use it when tasks differ so much that whole parts of a layer should be theirs alone; the model grows with the number
    of tasks.
    """
    gated, plain = bool(network.options["gate"]), plain_layer(ops, network)
    sought = "0" if gated else heads[0]

    def layer(number: int, queries: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
        if not (_has_attention_experts(ops, number, sought) or _has_feed_forward_experts(ops, number, sought)):
            return plain(number, queries, keys, bias)
        if gated:
            return _gated(ops, network, number, queries, keys, bias)
        own = by_head(ops, heads, queries, keys, bias)
        halves = [(head, _attended(ops, network, number, head, *tensors)) for head, *tensors in own]
        return ops.stack([_feed_forward(ops, number, head, states) for head, states in halves])

    return run(ops, network, ids, mask, heads, layer)


def _gated(ops: Ops, network: Network, number: int, queries: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
    """Return the layer with the experts that the gate chooses from the layer's input."""
    shared = "encoder.expert_gate.fwd_func"
    gate = shared if ops.has(f"{shared}.weight") else f"encoder.expert_gate.{number}.fwd_func"
    by_token = network.options["gate"] == "token"
    scores = ops.linear(queries if by_token else ops.token(keys, 0), gate)
    experts = [str(expert) for expert in range(network.options["experts"])]

    def chosen(states: Callable[[str], Tensor]) -> Tensor:
        return ops.choose(scores, [states(expert) for expert in experts])

    if _has_attention_experts(ops, number, experts[0]):
        states = chosen(lambda expert: _attended(ops, network, number, expert, queries, keys, bias))
    else:
        states = attended(ops, network, number, queries, keys, bias)
    if _has_feed_forward_experts(ops, number, experts[0]):
        return chosen(lambda expert: _feed_forward(ops, number, expert, states))
    return finish(ops, number, feed_forward(ops, number, states), states)


def _attended(
    ops: Ops, network: Network, number: int, expert: str, queries: Tensor, keys: Tensor, bias: Tensor
) -> Tensor:
    if not _has_attention_experts(ops, number, expert):
        return attended(ops, network, number, queries, keys, bias)
    name = f"{layer_name(number)}.attention"
    query, key, value = (f"{name}.self.moe_{part}.{expert}" for part in ("query", "key", "value"))
    projected = ops.project(queries, keys, (query, key, value), network.attention_heads)
    context = ops.attend(*projected, network.attention_heads, bias)
    return after_attention(ops, number, context, queries, f"moe_dense.{expert}")


def _feed_forward(ops: Ops, number: int, expert: str, states: Tensor) -> Tensor:
    if not _has_feed_forward_experts(ops, number, expert):
        return finish(ops, number, feed_forward(ops, number, states), states)
    name = f"{layer_name(number)}.moe_layer"
    inner = ops.activate(ops.linear(states, f"{name}.interm_layers.{expert}.dense"), "gelu")
    outer = ops.dropout(ops.linear(inner, f"{name}.output_layers.{expert}.dense"))
    return ops.norm(ops.add(outer, states), f"{name}.output_layers.{expert}.LayerNorm")


def _has_attention_experts(ops: Ops, number: int, expert: str) -> bool:
    return ops.has(f"{layer_name(number)}.attention.self.moe_query.{expert}.weight")


def _has_feed_forward_experts(ops: Ops, number: int, expert: str) -> bool:
    return ops.has(f"{layer_name(number)}.moe_layer.interm_layers.{expert}.dense.weight")
