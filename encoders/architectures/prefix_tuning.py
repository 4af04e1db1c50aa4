"""Prefix tuning: keys and values of a head, placed before those of its texts (Li and Liang 2021, section 4).

They are weights, not states of tokens, and every text attends to them. With gates, the prefix of a text is
multiplied by the mean over the text's tokens of sigmoid(w x + b), x being the layer's input (UniPELT, Mao et
al. 2022, section 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from encoders.architectures.bert import after_attention, attended, attention_names, layer_name
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor


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
    """Return a layer's first half, in which texts attend to the prefix of their head too.

    Args:
        ops: The operators.
        network: The model's facts.
        heads: Heads whose copies of the texts are the stacked input.
        mask: Mask of one copy: 1 for text, 0 for padding, (texts, tokens).
        number: The layer's number.
        queries: States that attend.
        keys: States attended to.
        bias: The mask's bias, for all copies.

    Returns:
        New states of the queries.
    """
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
