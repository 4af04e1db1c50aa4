"""Adapters, one per head, which may be of different kinds: bottlenecks, LoRA and (IA)^3, prefixes.

Bottlenecks come after the feed-forward network (SciRepEval section 4.3; Pfeiffer et al. 2021): with h its output and x
its input, n = LN(h + x), and the layer gives LN(Up(ReLU(Down(n))) + h + x). The other kinds change how h and x are
computed (`encoders/ops/lora.py`, `prefix_tuning.py`). Layers that have no adapter are BERT's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from encoders.architectures.bert import Layer, feed_forward, finish, layer_name, run
from encoders.architectures.network import Network
from encoders.architectures.prefix_tuning import attended_with_prefixes
from encoders.ops.base import Ops, Tensor
from encoders.ops.lora import LoraOps


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text for each head, which is the name of its adapter."""

    def adapted(number: int, head: str, normal: Tensor) -> Tensor | None:
        return bottleneck(ops, network, number, head, normal)

    return run(ops, network, ids, mask, heads, adapted_layer(ops, network, heads, mask, adapted))


def adapted_layer(
    ops: Ops, network: Network, heads: Sequence[str], mask: Tensor, adapted: Callable[[int, str, Tensor], Tensor | None]
) -> Layer:
    """Return a layer changed by the adapters of the heads, with an addition to its output for each head.

    Args:
        ops: The operators.
        network: The model's facts.
        heads: Heads whose copies of the texts are the stacked input.
        mask: Mask of one copy: 1 for text, 0 for padding, (texts, tokens).
        adapted: From a layer's number, a head and n to what is added; None if nothing is added.

    Returns:
        The layer.
    """
    facts = network.options["adapters"]
    changed = LoraOps(ops, network.width, {head: facts.get(head, {}).get("scaling", 1.0) for head in heads})

    def layer(number: int, queries: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
        states = attended_with_prefixes(changed, network, heads, mask, number, queries, keys, bias)
        summed = ops.add(feed_forward(changed, number, states), states)
        normal = ops.norm(summed, f"{layer_name(number)}.output.LayerNorm")
        parts = []
        for head, own, own_normal in zip(
            heads, ops.split(summed, len(heads)), ops.split(normal, len(heads)), strict=True
        ):
            more = adapted(number, head, own_normal)
            parts.append(own_normal if more is None else finish(ops, number, more, own))
        return ops.stack(parts)

    return layer


def bottleneck(ops: Ops, network: Network, number: int, adapter: str, normal: Tensor) -> Tensor | None:
    """Return Up(ReLU(Down(n))) of an adapter, None where the layer has none."""
    name = f"{layer_name(number)}.output.adapters.{adapter}"
    if not ops.has(f"{name}.adapter_down.0.weight"):
        return None
    facts = network.options["adapters"][adapter]
    inner = ops.activate(ops.linear(normal, f"{name}.adapter_down.0"), facts["activation"])
    raised = ops.linear(inner, f"{name}.adapter_up")
    return raised if facts["scaling"] == 1 else ops.scale(raised, facts["scaling"])
