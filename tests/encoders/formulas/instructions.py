"""Instructions as context: UniPR section 3.2.1, equations 5 to 7; SciMult section 3.3, equation 4.

The instruction is encoded by itself, and its states that enter layer l stand before the text's in that layer's keys
and values; queries, and with them the outputs, stay the text's. Two options of the papers' code: `proj_adaptor` maps
the instruction's states by a linear layer first; with `use_attn_gate` nothing stands before the text, and each head
adds tanh(g) times its attention over the instruction alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.encoders.formulas.layers import INSTRUCTED_LAYERS
from tests.encoders.oracle import Oracle, attention, linear, pool


def instructed_vector(
    base: Oracle, instructor: Oracle, params: Mapping[str, Any], instruction: list[int], ids: list[int]
) -> np.ndarray:
    """The text's vector under an instruction, which `instructor` (mostly the same model) reads."""
    contexts = instructor.states(instruction)

    def layer(i: int, hidden: np.ndarray) -> np.ndarray:
        name, context = f"encoder.layer.{i}.attention.self", contexts[i]
        if i not in INSTRUCTED_LAYERS[params["instruct_type"].split(":")[0]]:
            return base.layer(i, hidden)
        if params["proj_adaptor"]:
            context = linear(base.weights, f"{name}.adaptor", context)
        if not params["use_attn_gate"]:
            return base.finish(i, base.attend(i, hidden, np.concatenate([context, hidden])))
        query, key, value = (linear(base.weights, f"{name}.{part}", hidden) for part in ("query", "key", "value"))
        other_key, other_value = (linear(base.weights, f"{name}.{part}", context) for part in ("key", "value"))
        gate = np.repeat(np.tanh(base.weights[f"{name}.gate"].ravel()), hidden.shape[1] // base.heads)
        mixed = attention(query, key, value, base.heads)
        mixed = mixed + gate * attention(query, other_key, other_value, base.heads)
        return base.finish(i, base.join(i, hidden, mixed))

    hidden = base.states(ids, layer)[-1]
    return pool(hidden, "mean", normalize=True) if params["mean_pool"] else pool(hidden, "cls")
