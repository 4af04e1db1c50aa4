"""Learned sparse vectors: a BERT network with the head of masked language models, which weighs the whole vocabulary.

A token of the vocabulary has the weight max over the text's tokens of log(1 + relu(logit)) (Formal et al. 2021,
"SPLADE v2", section 3, max pooling). Some models take the logarithm twice (Shen et al. 2025, arXiv 2504.14839).
"""

from __future__ import annotations

from collections.abc import Sequence

from encoders.architectures.bert import WORDS, trunk
from encoders.architectures.network import Network
from encoders.ops.base import Ops, Tensor

HEAD = "cls.predictions"
"""Prefix of the weights of BERT's head; weights of other families get its names."""


def vectors(ops: Ops, network: Network, ids: Tensor, mask: Tensor, heads: Sequence[str]) -> list[Tensor]:
    """Return a weight for each token of the vocabulary, (texts, vocabulary), the same for every head.

    Use it when hits should be explained by words and found by an inverted index, with synonyms that the text does not
    hold.
    """
    states = trunk(ops, network, ids, mask, network.layers).hidden
    inner = ops.activate(ops.linear(states, f"{HEAD}.transform.dense"), "gelu")
    own = f"{HEAD}.decoder.weight"  # most models use the word table here
    table = own if ops.has(own) else WORDS
    logits = ops.matches(ops.norm(inner, f"{HEAD}.transform.LayerNorm"), table, f"{HEAD}.bias")
    # Both functions grow, so the largest weight is that of the largest logit.
    weights = ops.activate(ops.largest(logits, mask), "relu")
    for _ in range(network.options["logarithms"]):
        weights = ops.log1p(weights)
    return [ops.vector(weights)] * len(heads)
