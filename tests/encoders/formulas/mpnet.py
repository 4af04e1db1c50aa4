"""MPNet: Song et al. 2020, the network of microsoft/mpnet-base; its bias by distance is that of Raffel et al. 2020.

Logits are q k' / sqrt(d) + b, where b is a number for each attention head and bucket of the distance j - i. With n the
number of buckets, those j <= i have the first half of them and those j > i the second. In each half, distances below
n/4 have a bucket each, and farther ones n/4 + floor(n/4 log(distance / (n/4)) / log(128 / (n/4))), at most n/2 - 1.
"""

from __future__ import annotations

import math

import numpy as np

from tests.encoders.oracle import Oracle, linear, softmax

BUCKETS, FARTHEST = 32, 128


def bucket(distance: int) -> int:
    """Of j - i, by the logarithm; where that is a whole number, a hair is added against rounding."""
    half, exact, far = BUCKETS // 2, BUCKETS // 4, abs(distance)
    if far >= exact:
        grown = exact * math.log(far / exact) / math.log(FARTHEST / exact)
        far = min(exact + math.floor(grown + 1e-9), half - 1)
    return far + (half if distance > 0 else 0)


class MPNet(Oracle):
    """The parts of a layer have BERT's formulas, some under other names."""

    def embed(self, words: np.ndarray) -> np.ndarray:
        """LN(word + position): no segments, and two positions kept for padding."""
        positions = self.weights["embeddings.position_embeddings.weight"][2 : 2 + len(words)]
        return self.norm("embeddings.LayerNorm", words + positions)

    def layer(self, i: int, hidden: np.ndarray) -> np.ndarray:
        name, count = f"encoder.layer.{i}.attention", len(hidden)
        table = self.weights["encoder.relative_attention_bias.weight"]
        apart = np.array([[table[bucket(key - query)] for key in range(count)] for query in range(count)])
        asked = [linear(self.weights, f"{name}.attn.{part}", hidden) for part in "qkv"]
        found = []
        for head, parts in enumerate(zip(*(np.split(rows, self.heads, axis=1) for rows in asked), strict=True)):
            query, key, value = parts
            found.append(softmax(query @ key.T / math.sqrt(query.shape[1]) + apart[:, :, head]) @ value)
        brought = linear(self.weights, f"{name}.attn.o", np.concatenate(found, axis=1))
        return self.finish(i, self.norm(f"{name}.LayerNorm", brought + hidden))
