"""MPNet: BERT's layers, with a bias by the distance of two tokens (Song et al. 2020; Raffel et al. 2020, 2.1).

The bias is a number for each attention head and bucket of distances, the same in every layer. It also has positions
like RoBERTa's, and no segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from encoders.architectures.bert import POSITIONS, WORDS, feed_forward, finish, layer_name, pooled
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor

BUCKETS = 32
"""Half of the buckets are for tokens before, half for tokens after. In each half, half are for one distance."""


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text, the same for every head.

    Use it when a published MPNet, such as all-mpnet-base-v2, suits the texts.
    """
    words = ops.embed(ids, WORDS, network.vocabulary)
    places = ops.embed(ops.positions(ids, network.first_position), POSITIONS, network.positions)
    states = ops.dropout(ops.norm(ops.add(words, places), "embeddings.LayerNorm"))
    distances = range(1 - network.positions, network.positions)
    far = ops.distance_bias(ids, "encoder.relative_attention_bias.weight", [bucket(one) for one in distances])
    bias = ops.add(ops.mask_bias(mask), far)
    for number in range(network.layers):
        states = ops.layer(partial(_layer, ops, network, number), states, bias)
    return [pooled(ops, network, states, mask)] * len(heads)


def _layer(ops: Ops, network: Network, number: int, states: Tensor, bias: Tensor) -> Tensor:
    name = f"{layer_name(number)}.attention"
    names = (f"{name}.attn.q", f"{name}.attn.k", f"{name}.attn.v")
    count = network.attention_heads
    context = ops.attend(*ops.project(states, states, names, count), count, bias)
    summed = ops.add(ops.dropout(ops.linear(context, f"{name}.attn.o")), states)
    attended = ops.norm(summed, f"{name}.LayerNorm")
    return finish(ops, number, feed_forward(ops, number, attended), attended)


def bucket(distance: int) -> int:
    """Return the bucket of the distance from the token that attends to the one it sees.

    Distances below 8 have a bucket each; the buckets of those up to 128 grow by the square root of 2 (Raffel et al.
    2020, section 2.1).
    """
    half, size = BUCKETS // 2, abs(distance)
    exact = half // 2
    # In whole numbers, where logarithms are off by a rounding: 2 log2(size / 8) = log2(size^2 / 64).
    place = size if size < exact else exact + (size * size // exact**2).bit_length() - 1
    return min(place, half - 1) + (half if distance > 0 else 0)
