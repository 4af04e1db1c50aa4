"""Instructions that papers attend to, and that do not attend to papers (SciMult section 3.3; UniPR section 3.2.1).

The instruction runs through the same network; its states at each layer stand before the keys and values of that
layer, while the queries are the paper's alone: asymmetric attention. Short instructions against long papers cost
little so, and since they are the same for all papers, an engine computes them once. In the gated variant a second
attention over the instruction is added instead, times the tanh of a weight for each attention head.
"""

from __future__ import annotations

from collections.abc import Sequence

from encoders.architectures.bert import (
    Network,
    after_attention,
    attention_names,
    by_head,
    embeddings,
    feed_forward,
    finish,
    layer_name,
    plain_layer,
    run,
)
from encoders.ops.base import Ops, Tensor


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector a text for each head, which is the name of its instruction."""
    plain, instructed_layers = plain_layer(ops, network), set(network.options["layers"])
    instructions = {head: _states(ops, network, network.options["instructions"][head]) for head in heads}

    def layer(number: int, queries: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
        if number not in instructed_layers:
            return plain(number, queries, keys, bias)
        own = by_head(ops, heads, queries, keys, bias)
        contexts = [_context(ops, network, number, instructions[head][number], q, k, b) for head, q, k, b in own]
        states = after_attention(ops, number, ops.stack(contexts), queries)
        return finish(ops, number, feed_forward(ops, number, states), states)

    return run(ops, network, ids, mask, heads, layer)


def _states(ops: Ops, network: Network, ids: Sequence[int]) -> list[Tensor]:
    """Return an instruction's states (1, tokens, width) before each layer; nothing in it is padding."""
    states, plain = embeddings(ops, network, ops.constant([list(ids)])), plain_layer(ops, network)
    before = []
    for number in range(network.layers):
        before.append(states)
        if number + 1 < network.layers:
            states = plain(number, states, states, None)
    return before


def _context(
    ops: Ops, network: Network, number: int, instruction: Tensor, queries: Tensor, keys: Tensor, bias: Tensor
) -> Tensor:
    name = f"{layer_name(number)}.attention.self"
    names, heads = attention_names(name), network.attention_heads
    if ops.has(f"{name}.adaptor.weight"):
        instruction = ops.linear(instruction, f"{name}.adaptor")
    if not ops.has(f"{name}.gate"):
        return ops.attention(queries, keys, names, heads, bias, prefix=instruction)
    context = ops.attention(queries, keys, names, heads, bias)
    return ops.add(context, ops.gate(ops.attention(queries, instruction, names, heads, None), f"{name}.gate"))
