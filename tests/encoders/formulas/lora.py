"""LoRA, (IA)^3 and prefixes in plain numpy, as the adapters library computes them.

- LoRA (Hu et al. 2021, section 4.1): a linear layer gives W x + b + (alpha / r) B A x.
- (IA)^3 (Liu et al. 2022, section 3.3): it gives alpha l * (W x + b), element by element; the library scales the bias
  too, as long as it has not merged l into W.
- Prefixes (Li and Liang 2021, section 4): keys P_k and values P_v of a layer stand before the text's; flat, they are
  weights, otherwise an MLP makes them of a table. A gate (UniPELT) multiplies them by the mean over the text's tokens
  of sigmoid(w x + b), with x the layer's input: one gate for both, or one each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.encoders.oracle import Oracle, Weights, attention, gelu, linear


class LoraOracle(Oracle):
    """The base, whose linear layers bring what LoRA or (IA)^3 makes of them; W + s B A is one matrix here."""

    def __init__(self, base: Oracle, changes: Mapping[str, tuple[np.ndarray, np.ndarray | None]], scaling: float):
        """Take the base, and by the name of a linear layer B and A, or l alone."""
        self.__dict__.update(base.__dict__)
        self.weights = dict(base.weights)
        for name, (second, first) in changes.items():
            weight, bias = (self.weights[f"{name}.{part}"] for part in ("weight", "bias"))
            if first is None:
                self.weights[f"{name}.weight"], self.weights[f"{name}.bias"] = (
                    scaling * second * weight,
                    scaling * second[:, 0] * bias,
                )
            else:
                self.weights[f"{name}.weight"] = weight + scaling * second.astype(float) @ first.astype(float)


def lora_vector(base: Oracle, weights: Weights, config: Mapping[str, Any], name: str, ids: list[int]) -> np.ndarray:
    """The first token's last state with the LoRA or (IA)^3 of that name in AdapterHub's files."""
    ends = f".loras.{name}.lora_B"
    changes = {
        key.removesuffix(ends): (array, weights.get(key.replace("lora_B", "lora_A")))
        for key, array in weights.items()
        if key.endswith(ends)
    }
    scaling = config["alpha"] / (config["r"] if config["composition_mode"] == "add" else 1)
    return LoraOracle(base, changes, scaling).hidden(ids)[0]


def peft_vector(base: Oracle, weights: Weights, config: Mapping[str, Any], ids: list[int]) -> np.ndarray:
    """The first token's last state with LoRA of PEFT's files; `use_rslora` divides by the root of r."""
    ends, changes = ".lora_B.weight", {}
    for key, array in weights.items():
        if key.endswith(ends):
            linear_name = key.removesuffix(ends).removeprefix("base_model.model.").removeprefix("bert.")
            changes[linear_name] = (array, weights[key.replace("lora_B", "lora_A")])
    rank = config["r"] ** 0.5 if config["use_rslora"] else config["r"]
    return LoraOracle(base, changes, config["lora_alpha"] / rank).hidden(ids)[0]


def prefix_vector(base: Oracle, weights: Weights, config: Mapping[str, Any], name: str, ids: list[int]) -> np.ndarray:
    """The first token's last state with the prefix of that name."""
    start = f"prefix_tuning.prefix_tunings.{name}.self_prefix."
    pool = {key.removeprefix(start): array for key, array in weights.items() if key.startswith(start)}
    layers = [i for i in range(base.config["num_hidden_layers"]) if i not in config["leave_out"]]
    if config["flat"]:
        made = pool["control_trans"]
    else:
        inner = linear(pool, "control_trans.0", pool["wte.weight"].astype(float))
        activated = {"tanh": np.tanh, "gelu": gelu, "silu": lambda x: x / (1 + np.exp(-x))}
        activated |= {"relu": lambda x: np.maximum(x, 0), "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x)}
        made = linear(pool, "control_trans.2", activated[config["non_linearity"]](inner))
    # As the library lays them out: by token, then by layer, keys before values.
    made = made.reshape(config["prefix_length"], 2 * len(layers), -1).astype(float)

    def layer(i: int, hidden: np.ndarray) -> np.ndarray:
        if i not in layers:
            return base.layer(i, hidden)
        own, place = f"encoder.layer.{i}.attention.self", 2 * layers.index(i)
        query, key, value = (linear(base.weights, f"{own}.{part}", hidden) for part in ("query", "key", "value"))
        gates = np.ones(1)
        if config["use_gating"]:
            opened = linear(weights, f"{own}.prefix_tuning.prefix_gates.{name}", hidden)
            gates = (1 / (1 + np.exp(-opened))).mean(axis=0)
        key = np.concatenate([gates[0] * made[:, place], key])
        value = np.concatenate([gates[-1] * made[:, place + 1], value])
        return base.finish(i, base.join(i, hidden, attention(query, key, value, base.heads)))

    return base.states(ids, layer)[-1][0]
