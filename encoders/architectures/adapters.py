"""Adapters, one per head, which may be of different kinds, and their fusion. Layers without an adapter are BERT's own.

Bottlenecks come after the feed-forward network (SciRepEval section 4.3; Pfeiffer et al. 2021): with h its output and x
its input, n = LN(h + x), and the layer gives LN(Up(ReLU(Down(n))) + h + x). The other kinds change how h and x are
computed.

In a fusion, each head attends to the outputs of all bottlenecks (SciRepEval section 4.3; Pfeiffer et al. 2021). With
u_j the output of adapter j: c = sum over j of softmax_j(q . k_j) v_j, q = Wq n, k_j = Wk u_j, v_j = Wv u_j, and the
layer gives LN(c + h + x).

LoRA gives W x + b + s B A x for a linear layer, with A of few rows (Hu et al. 2021, section 4.1); (IA)^3 gives
l * (W x + b), element by element (Liu et al. 2022, section 3.3). The products with W are computed once for all heads.

A prefix has keys and values of a head, placed before those of its texts (Li and Liang 2021, section 4). They are
weights, not states of tokens, and every text attends to them. With gates, the prefix of a text is multiplied by the
mean over the text's tokens of sigmoid(w x + b), x being the layer's input (UniPELT, Mao et al. 2022, section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from encoders.architectures.bert import (
    Layer,
    after_attention,
    attended,
    attention_names,
    feed_forward,
    finish,
    layer_name,
    run,
)
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text for each head, which is the name of its adapter.

    Use it when formats need vectors of their own, and the network below should stay as it is: few weights are trained,
    and the layers below the first adapter run once for all formats.
    """

    def adapted(number: int, head: str, normal: Tensor) -> Tensor | None:
        return bottleneck(ops, network, number, head, normal)

    return run(ops, network, ids, mask, heads, adapted_layer(ops, network, heads, mask, adapted))


def adapted_layer(
    ops: Ops, network: Network, heads: Sequence[str], mask: Tensor, adapted: Callable[[int, str, Tensor], Tensor | None]
) -> Layer:
    """Return a layer changed by the heads' adapters; `adapted` gives what a head adds to n, `mask` is of one copy."""
    facts = network.options["adapters"]
    changed = _LoraOps(ops, network.width, {head: facts.get(head, {}).get("scaling", 1.0) for head in heads})

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


def fused_vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text for each head, which is the name of its fusion.

    Use it when there are adapters of several formats, and each may gain by what the others have learned.
    """

    def fused(number: int, head: str, normal: Tensor) -> Tensor | None:
        adapters = f"{layer_name(number)}.output.adapters"
        present = [one for one in network.options["adapters"] if ops.has(f"{adapters}.{one}.adapter_down.0.weight")]
        if not present:
            return None
        brought = [bottleneck(ops, network, number, adapter, normal) for adapter in present]
        name = f"{layer_name(number)}.output.adapter_fusion_layer.{head}"
        query = ops.linear(normal, f"{name}.query")
        scores = [ops.dot(query, ops.linear(states, f"{name}.key")) for states in brought]
        return ops.blend(scores, [ops.product(states, f"{name}.value") for states in brought])

    return run(ops, network, ids, mask, heads, adapted_layer(ops, network, heads, mask, fused))


def prefix_name(number: int, head: str) -> str:
    """Return the prefix of the names of a head's weights in a layer."""
    return f"{layer_name(number)}.attention.self.prefix_tuning.{head}"


def attended_with_prefixes(
    ops: Ops,
    network: Network,
    heads: Sequence[str],
    mask: Tensor,
    number: int,
    queries: Tensor,
    keys: Tensor,
    bias: Tensor,
) -> Tensor:
    """Return a layer's first half, in which texts attend to the prefix of their head too; `mask` is of one copy."""
    if not any(ops.has(f"{prefix_name(number, head)}.key") for head in heads):
        return attended(ops, network, number, queries, keys, bias)
    names = attention_names(f"{layer_name(number)}.attention.self")
    projected = ops.project(queries, keys, names, network.attention_heads)
    own = zip(heads, *(ops.split(stacked, len(heads)) for stacked in (keys, *projected, bias)), strict=True)
    contexts = [_context(ops, network, number, head, mask, *tensors) for head, *tensors in own]
    return after_attention(ops, number, ops.stack(contexts), queries)


def _context(
    ops: Ops,
    network: Network,
    number: int,
    head: str,
    mask: Tensor,
    states: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor,
) -> Tensor:
    name = prefix_name(number, head)
    if not ops.has(f"{name}.key"):
        return ops.attend(query, key, value, network.attention_heads, bias)
    key, value = (
        ops.concat_tokens([_prefix(ops, name, part, states, mask), own])
        for part, own in (("key", key), ("value", value))
    )
    length = network.options["adapters"][head]["prefix_length"]
    return ops.attend(query, key, value, network.attention_heads, bias, before=length)


def _prefix(ops: Ops, name: str, part: str, states: Tensor, mask: Tensor) -> Tensor:
    prefix = ops.weight(f"{name}.{part}")
    # Keys and values share a gate, or have one each.
    gate = next((gate for gate in (f"{name}.gate", f"{name}.{part}_gate") if ops.has(f"{gate}.weight")), None)
    if gate is None:
        return ops.expand(prefix, like=states)
    return ops.times(prefix, ops.mean(ops.activate(ops.linear(states, gate), "sigmoid"), mask))


def lora_name(linear: str, head: str) -> str:
    """Return the prefix of what a head changes of a linear layer."""
    return f"{linear}.loras.{head}"


class _LoraOps:
    """The operators, whose linear layers are changed as each head's adapter says."""

    def __init__(self, ops: Ops, width: int, scalings: Mapping[str, float]) -> None:
        """Take the operators, the queries' width, and s for each head in the order of their stacked texts."""
        self._ops, self._width, self._scalings, self._heads = ops, width, scalings, list(scalings)

    def linear(self, hidden: Tensor, name: str) -> Tensor:
        return self._changed(hidden, name, self._ops.linear(hidden, name), 1.0)

    def project(
        self, queries: Tensor, keys: Tensor, names: tuple[str, str, str], heads: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = self._ops.project(queries, keys, names, heads)
        root = (self._width // heads) ** 0.5  # queries come divided by it
        return (
            self._changed(queries, names[0], query, 1 / root),
            self._changed(keys, names[1], key, 1.0),
            self._changed(keys, names[2], value, 1.0),
        )

    def __getattr__(self, operator: str) -> Any:
        return getattr(self._ops, operator)

    def _changed(self, hidden: Tensor, name: str, brought: Tensor, factor: float) -> Tensor:
        ops, heads = self._ops, self._heads
        if not any(ops.has(f"{lora_name(name, head)}.{part}") for head in heads for part in ("scale", "lora_B.weight")):
            return brought
        own = zip(heads, ops.split(hidden, len(heads)), ops.split(brought, len(heads)), strict=True)
        return ops.stack([self._of_head(name, head, states, part, factor) for head, states, part in own])

    def _of_head(self, linear: str, head: str, hidden: Tensor, brought: Tensor, factor: float) -> Tensor:
        ops, name = self._ops, lora_name(linear, head)
        scaling = self._scalings[head]
        if ops.has(f"{name}.scale"):
            scaled = ops.times(brought, ops.weight(f"{name}.scale"))
            return scaled if scaling == 1 else ops.scale(scaled, scaling)
        if not ops.has(f"{name}.lora_B.weight"):
            return brought
        # Scaled where it is narrow.
        low = ops.scale(ops.product(hidden, f"{name}.lora_A"), scaling * factor)
        return ops.add(brought, ops.product(low, f"{name}.lora_B"))
