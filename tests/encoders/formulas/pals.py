"""Projected attention layers and the low-rank variant: Stickland and Murray 2019, section 3.

SciRepEval (section 4.1) has one a task format beside every layer. With s the layer's input and a the attention
block's output, the layer gives LN(FFN(a) + a + extra(s)):

- PALs (section 3.1.1): extra(s) = gelu(Up attention(Down s)), six heads without an output projection; Down and Up are
  a task's own and the same in all layers;
- low rank (section 3.1): extra(s) = Up gelu(Down s), own ones in every layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.encoders.oracle import Oracle, attention, gelu, linear

if TYPE_CHECKING:
    import numpy as np

HEADS = 6


def pals_vector(base: Oracle, task: int, ids: list[int]) -> np.ndarray:
    """The first token's last state; tasks are numbered in the order of their sorted names."""

    def layer(i: int, hidden: np.ndarray) -> np.ndarray:
        part = f"encoder.layer.{i}.multi_layers.{task}"
        if base.config["pals"]:
            # The checkpoint repeats Down and Up in every layer; these are the trunk's.
            small = linear(base.weights, f"encoder.mult_aug_dense.{task}", hidden)
            asked = (linear(base.weights, f"{part}.attn.{name}", small) for name in ("query", "key", "value"))
            extra = gelu(linear(base.weights, f"encoder.mult_aug_dense2.{task}", attention(*asked, HEADS)))
        else:
            small = gelu(linear(base.weights, f"{part}.aug_dense", hidden))
            extra = linear(base.weights, f"{part}.aug_dense2", small)
        return base.finish(i, base.attend(i, hidden, hidden), extra)

    return base.states(ids, layer)[-1][0]
