"""Instructions that papers attend to, and that do not attend to papers (SciMult section 3.3; UniPR section 3.2.1).

The instruction runs through the same network; its states at each layer stand before the keys and values of that
layer, while the queries are only the paper's: asymmetric attention. So a short instruction adds little cost to a long
paper. As it is the same for all papers, it is computed once. In the gated variant a second attention over the
instruction is added instead, times the tanh of a weight for each attention head.

Instructions may also be read by a separate network (SciMult section 3.3, the second way: SciMult-Prefix). Then only the
instructions' encoder is trained, or only the texts' network (UniPR's option `fix_instruct_encoder`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from encoders.architectures.bert import (
    Layer,
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
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text for each head, which is the name of its instruction.

    Use it when a sentence says what a vector is for: another sentence needs no new weights.
    """
    return run(ops, network, ids, mask, heads, instructed_layer(ops, network, heads, ops))


def instructed_layer(ops: Ops, network: Network, heads: Sequence[str], instructor: Ops) -> Layer:
    """Return a layer whose texts attend to their heads' instructions, which the operators `instructor` read."""
    plain, layers = plain_layer(ops, network), set(network.options["layers"])
    instructions = {head: _states(instructor, network, network.options["instructions"][head]) for head in heads}

    def layer(number: int, queries: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
        if number not in layers:
            return plain(number, queries, keys, bias)
        own = by_head(ops, heads, queries, keys, bias)
        contexts = [_context(ops, network, number, head, instructions[head][number], q, k, b) for head, q, k, b in own]
        states = after_attention(ops, number, ops.stack(contexts), queries)
        return finish(ops, number, feed_forward(ops, number, states), states)

    return layer


def _states(ops: Ops, network: Network, ids: Sequence[int]) -> list[Tensor]:
    """Return an instruction's states (1, tokens, width) before each layer that needs them; none of it is padding."""
    last = max(network.options["layers"], default=0)
    states, plain = [embeddings(ops, network, ops.constant([list(ids)]))], plain_layer(ops, network)
    for number in range(last):
        states.append(plain(number, states[-1], states[-1], None))
    return states


def _context(
    ops: Ops, network: Network, number: int, head: str, instruction: Tensor, queries: Tensor, keys: Tensor, bias: Tensor
) -> Tensor:
    name = f"{layer_name(number)}.attention.self"
    names, heads = attention_names(name), network.attention_heads
    if ops.has(f"{name}.adaptor.weight"):
        instruction = ops.linear(instruction, f"{name}.adaptor")
    query, key, value = ops.project(queries, keys, names, heads)
    own_key, own_value = (ops.linear(instruction, one) for one in names[1:])
    if ops.has(f"{name}.gate"):
        gate = ops.activate(ops.weight(f"{name}.gate"), "tanh")
        context = ops.attend(query, key, value, heads, bias)
        return ops.add(context, ops.times(ops.attend(query, own_key, own_value, heads, None), gate))
    key, value = (
        ops.concat_tokens([ops.expand(own, like=states), states])
        for own, states in ((own_key, key), (own_value, value))
    )
    return ops.attend(query, key, value, heads, bias, before=len(network.options["instructions"][head]))


INSTRUCTOR = "instructor."
"""Prefix of the names of the weights that read instructions."""


def vectors_with_instructor(
    ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]
) -> list[Tensor]:
    """Return one vector per text for each head, which is the name of its instruction.

    Use it when the network that reads the texts must stay as it is, or be trained without the one that reads the
    instructions.
    """
    instructor = _PrefixedOps(ops, INSTRUCTOR)
    return run(ops, network, ids, mask, heads, instructed_layer(ops, network, heads, instructor))


class _PrefixedOps:
    """The operators over the weights of a second network in the model, whose names have a common prefix."""

    def __init__(self, ops: Ops, prefix: str) -> None:
        self._ops, self._prefix = ops, prefix

    def embed(self, ids: Tensor, name: str, rows: int | None = None) -> Tensor:
        return self._ops.embed(ids, self._prefix + name, rows)

    def linear(self, hidden: Tensor, name: str) -> Tensor:
        return self._ops.linear(hidden, self._prefix + name)

    def norm(self, hidden: Tensor, name: str) -> Tensor:
        return self._ops.norm(hidden, self._prefix + name)

    def project(
        self, queries: Tensor, keys: Tensor, names: tuple[str, str, str], heads: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = (self._prefix + name for name in names)
        return self._ops.project(queries, keys, (query, key, value), heads)

    def __getattr__(self, operator: str) -> Any:
        # The others that a layer of BERT needs have no weights.
        return getattr(self._ops, operator)
