"""ModernBERT: rotary positions, local attention in most layers, gated units, no biases (Warner et al. 2024, 2.1).

Each layer normalizes its input, not its output; the first does not, as the embeddings are normalized already. Local
layers attend to a window around each token, and use other rotary angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from corpora.lazy import np
from encoders.architectures.bert import pooled
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor

GLOBAL_THETA, LOCAL_THETA = 160_000.0, 10_000.0
"""Default bases of the angles, for configurations without them."""


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return one vector per text, the same for every head.

    Use it when texts are longer than 512 tokens, which BERT's table of positions does not reach.
    """
    options = network.options
    words = ops.embed(ids, "embeddings.tok_embeddings.weight", network.vocabulary)
    states = ops.dropout(ops.norm_without_bias(words, "embeddings.norm"))
    everything = ops.mask_bias(mask)
    nearby = ops.add(everything, ops.window_bias(mask, options["reach"]))
    whole, local = (_rotation(ops, network, ids, options[theta]) for theta in ("global_theta", "local_theta"))
    for number in range(network.layers):
        seen = (everything, whole) if number in options["global_layers"] else (nearby, local)
        states = ops.layer(partial(_layer, ops, network, number), states, *seen)
    states = ops.norm_without_bias(states, "final_norm")
    return [pooled(ops, network, states, mask)] * len(heads)


def _layer(
    ops: Ops, network: Network, number: int, states: Tensor, bias: Tensor, rotation: tuple[Tensor, Tensor]
) -> Tensor:
    name = f"layers.{number}"
    normal = states if number == 0 else ops.norm_without_bias(states, f"{name}.attn_norm")
    context = ops.rotary_attention(normal, f"{name}.attn.Wqkv", network.attention_heads, bias, rotation)
    states = ops.add(states, ops.dropout(ops.product(context, f"{name}.attn.Wo")))
    inner = ops.product(ops.norm_without_bias(states, f"{name}.mlp_norm"), f"{name}.mlp.Wi")
    return ops.add(states, ops.dropout(ops.product(ops.gated_unit(inner, "gelu"), f"{name}.mlp.Wo")))


def _rotation(ops: Ops, network: Network, ids: Tensor, theta: float) -> tuple[Tensor, Tensor]:
    cosines, sines = angles(network.positions, network.width // network.attention_heads, theta)
    return ops.leading(ids, cosines), ops.leading(ids, sines)


def angles(positions: int, width: int, theta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return cosines and sines of position / theta^(2i/width), each float32 (positions, 1, width / 2)."""
    steps = np.float32(theta) ** (-np.arange(0, width, 2, dtype=np.float32) / np.float32(width))
    turned = np.arange(positions, dtype=np.float32)[:, None, None] * steps
    return np.cos(turned), np.sin(turned)
