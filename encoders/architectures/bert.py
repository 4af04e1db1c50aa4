"""BERT-family networks: the plain one, which has one vector for all formats, and the parts of other architectures.

Devlin et al. 2019 (BERT, post-layer-norm); Liu et al. 2019 (RoBERTa: shifted positions). Plain networks are BERT,
SciBERT, SPECTER, SciNCL, MIReAD and those of sentence-transformers. So are networks with control codes (SciRepEval
section 4.2) or instructions in the text: only the text differs by format, and the card's prompts say how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from encoders.architectures.network import Network, dense_name
from encoders.ops.base import Ops, Tensor

WORDS, POSITIONS = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"
SEGMENTS = "embeddings.token_type_embeddings.weight"


@dataclass(frozen=True, slots=True)
class States:
    """The output of the first layers for a batch, which a network accepts in place of token ids.

    Attributes:
        hidden: States (texts, tokens, width).
        layers: Number of layers that computed them.
    """

    hidden: Tensor
    layers: int


Layer = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""A layer's number, the states that attend, those attended to, and the mask's bias if there is padding, to new states
of the former."""


def embeddings(ops: Ops, network: Network, ids: Tensor, segments: Tensor | None = None) -> Tensor:
    """Return the input states of token ids; single texts only use segment 0."""
    return _summed(ops, network, ids, ops.positions(ids, network.first_position), segments)


def embeddings_at_start(ops: Ops, network: Network, ids: Tensor) -> Tensor:
    """Return the input states of token ids that are all at the first position of a text."""
    return _summed(ops, network, ids, ops.constant([[network.first_position]]))


def _summed(ops: Ops, network: Network, ids: Tensor, positions: Tensor, segments: Tensor | None = None) -> Tensor:
    words = ops.embed(ids, WORDS, network.vocabulary)
    places = ops.embed(positions, POSITIONS, network.positions)
    kinds = ops.embed(ops.constant([[0]]) if segments is None else segments, SEGMENTS)
    return ops.dropout(ops.norm(ops.add(words, places, kinds), "embeddings.LayerNorm"))


def layer_name(number: int) -> str:
    """Return the prefix of a layer's weights."""
    return f"encoder.layer.{number}"


def attention_names(name: str) -> tuple[str, str, str]:
    """Return the names of the weights that make queries, keys and values."""
    return f"{name}.query", f"{name}.key", f"{name}.value"


def attended(ops: Ops, network: Network, number: int, queries: Tensor, keys: Tensor, bias: Tensor | None) -> Tensor:
    """Return a layer's first half: self-attention, added to the layer's input and normalized."""
    name = f"{layer_name(number)}.attention"
    projected = ops.project(queries, keys, attention_names(f"{name}.self"), network.attention_heads)
    context = ops.attend(*projected, network.attention_heads, bias)
    return after_attention(ops, number, context, queries)


def after_attention(ops: Ops, number: int, context: Tensor, queries: Tensor, dense: str = "dense") -> Tensor:
    """Return the attention's output, projected, added to the layer's input, and normalized."""
    name = f"{layer_name(number)}.attention.output"
    return ops.norm(ops.add(ops.dropout(ops.linear(context, f"{name}.{dense}")), queries), f"{name}.LayerNorm")


def feed_forward(ops: Ops, number: int, states: Tensor) -> Tensor:
    """Return the output of a layer's feed-forward network, before it is added to its input."""
    name = layer_name(number)
    inner = ops.activate(ops.linear(states, f"{name}.intermediate.dense"), "gelu")
    return ops.dropout(ops.linear(inner, f"{name}.output.dense"))


def finish(ops: Ops, number: int, *summands: Tensor) -> Tensor:
    """Return a layer's output: the sum of its parts' outputs, normalized."""
    return ops.norm(ops.add(*summands), f"{layer_name(number)}.output.LayerNorm")


def plain_layer(ops: Ops, network: Network) -> Layer:
    """Return BERT's own layer."""

    def layer(number: int, queries: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
        states = attended(ops, network, number, queries, keys, bias)
        return finish(ops, number, feed_forward(ops, number, states), states)

    return layer


def trunk(ops: Ops, network: Network, ids: Tensor, mask: Tensor, layers: int) -> States:
    """Return the output of the first layers, which all heads share, for ids and mask, int64 (texts, tokens)."""
    states, bias, plain = embeddings(ops, network, ids), ops.mask_bias(mask), plain_layer(ops, network)
    for number in range(layers):
        states = plain(number, states, states, bias)
    return States(states, layers)


def run(
    ops: Ops, network: Network, ids: Tensor | States, mask: Tensor, heads: Sequence[str], layer: Layer
) -> list[Tensor]:
    """Run the layers that all heads share once, the others for each head, and pool.

    Above the shared layers, the texts are stacked once per head, so that weights common to the heads are used once. A
    layer splits its input where its heads differ.

    Args:
        ops: The operators.
        network: The model's facts.
        ids: Token ids, int64 (texts, tokens), or the output of `trunk` for them.
        mask: 1 for text, 0 for padding, int64 (texts, tokens).
        heads: Heads whose vectors are wanted.
        layer: The layer above the shared layers, which are plain.

    Returns:
        One vector per text, (texts, width), for each head.
    """
    begun = ids if isinstance(ids, States) else States(embeddings(ops, network, ids), 0)
    states, bias = begun.hidden, ops.mask_bias(mask)
    plain, copies, shared = plain_layer(ops, network), len(heads), network.shared_layers
    for number in range(begun.layers, network.layers):
        if number == shared and copies > 1:
            states, bias, mask = (ops.stack([tensor] * copies) for tensor in (states, bias, mask))
        chosen = partial(plain if number < shared else layer, number)
        last = number == network.layers - 1
        states = ops.layer(chosen, _pooled_token(ops, network, states) if last else states, states, bias)
    vectors = _pool(ops, network, states, mask)
    return ops.split(vectors, copies) if shared < network.layers and copies > 1 else [vectors] * copies


def by_head(
    ops: Ops, heads: Sequence[str], queries: Tensor, keys: Tensor, bias: Tensor
) -> Iterator[tuple[str, Tensor, Tensor, Tensor]]:
    """Yield each head with its part of the stacked states and bias; queries that are the keys stay the same tensor."""
    own_queries = ops.split(queries, len(heads))
    own_keys = own_queries if queries is keys else ops.split(keys, len(heads))
    yield from zip(heads, own_queries, own_keys, ops.split(bias, len(heads)), strict=True)


def pooled(ops: Ops, network: Network, states: Tensor, mask: Tensor) -> Tensor:
    """Return the vectors (texts, width) of states of every token."""
    return _pool(ops, network, _pooled_token(ops, network, states), mask)


def _pooled_token(ops: Ops, network: Network, states: Tensor) -> Tensor:
    """Return the states that the last layer needs to compute: of one token, unless all are wanted, or their mean."""
    return states if network.pooling in ("mean", "tokens") else ops.token(states, 1 if network.pooling == "code" else 0)


def _pool(ops: Ops, network: Network, states: Tensor, mask: Tensor) -> Tensor:
    if network.pooling == "tokens":
        return states
    vectors = ops.vector(ops.mean(states, mask) if network.pooling == "mean" else states)
    for number, activation in enumerate(network.options.get("dense", ())):
        name = dense_name(number)
        vectors = (ops.linear if ops.has(f"{name}.bias") else ops.product)(vectors, name)
        vectors = ops.activate(vectors, activation) if activation else vectors
    return ops.l2_normalize(vectors) if network.normalize else vectors


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text, the same for every head.

    Use it when one vector per paper is enough, or the formats differ by their prompts alone; most published models are
    such networks.
    """
    return run(ops, network, ids, mask, heads, plain_layer(ops, network))
