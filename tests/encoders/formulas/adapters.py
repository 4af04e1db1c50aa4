"""Bottleneck adapters after the feed-forward network, and their fusion.

Pfeiffer et al. 2021 (AdapterFusion), section 3 and figure 5, as the adapters library computes its configurations
`seq_bn` and `dynamic`, which SciRepEval (section 4.1) and SPECTER2 use. With x the attention block's output, h the
feed-forward network's, and n = LN(h + x), the layer's own norm:

- one adapter: y = LN(u + h + x), u = Up ReLU(Down n + b) + b';
- fusion of adapters j: y = LN(sum_j a_j V u_j + h + x), a = softmax_j((Q n + b) . (K u_j + b')), for each token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tests.encoders.oracle import Oracle, Weights, linear, softmax, under


def adapter_vector(base: Oracle, weights: Weights, name: str, ids: list[int]) -> np.ndarray:
    """The first token's last state with the adapter of that name; layers that it leaves out stay the base's."""

    def layer(i: int, hidden: np.ndarray) -> np.ndarray:
        attended = base.attend(i, hidden, hidden)
        adapter = _adapter(weights, i, name)
        return base.finish(i, attended, _added(adapter, base.finish(i, attended)) if adapter else 0.0)

    return base.states(ids, layer)[-1][0]


def fusion_vector(
    base: Oracle, adapters: Mapping[str, Weights], fusion: Weights, names: Sequence[str], ids: list[int]
) -> np.ndarray:
    """The first token's last state with the adapters fused; `names` in the order of the fusion's own name."""

    def layer(i: int, hidden: np.ndarray) -> np.ndarray:
        attended = base.attend(i, hidden, hidden)
        present = [part for name in names if (part := _adapter(adapters[name], i, name))]
        if not present:
            return base.finish(i, attended)
        norm = base.finish(i, attended)
        added = np.stack([_added(adapter, norm) for adapter in present])
        fused = under(fusion, f"encoder.layer.{i}.output.adapter_fusion_layer.{','.join(names)}.")
        scores = np.einsum("td,atd->ta", linear(fused, "query", norm), linear(fused, "key", added))
        return base.finish(i, attended, np.einsum("ta,atd->td", softmax(scores), added @ fused["value.weight"].T))

    return base.states(ids, layer)[-1][0]


def _adapter(weights: Weights, i: int, name: str) -> dict[str, np.ndarray]:
    # The second is what adapter-transformers called it before version 2.
    kinds = ("adapters", "layer_text_task_adapters")
    return {k: w for kind in kinds for k, w in under(weights, f"encoder.layer.{i}.output.{kind}.{name}.").items()}


def _added(adapter: Weights, norm: np.ndarray) -> np.ndarray:
    return linear(adapter, "adapter_up", np.maximum(linear(adapter, "adapter_down.0", norm), 0))
