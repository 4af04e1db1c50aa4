"""AdamW over the trained weights, with smaller steps for lower layers if the recipe asks for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from training.recipe import Recipe

_LAYER = re.compile(r"(?:^|\.)layers?\.(\d+)\.")
_ABOVE = 2
"""How many layers the input and the heads count as, as in SciMult's code (get_layer_lrs of models/optimization.py)."""


def make_optimizer(recipe: Recipe, layers: int, module: Any, heads: Any, rows: Mapping[str, int]) -> Any:
    """Return the optimizer; each of its groups has the `share` of the learning rate that its tensors get.

    Biases and the weights of normalization are not decayed (Devlin et al. 2019).

    Args:
        recipe: Gives learning rate and decays.
        layers: Number of layers of the network.
        module: The network.
        heads: Linear layers over its vectors.
        rows: The first trained row of each trained weight of the network.

    Returns:
        A `torch.optim.AdamW`.
    """
    import torch

    groups: dict[tuple[float, float], dict[str, Any]] = {}
    parts = [(tensor, _depth(name, layers), rows[name]) for name, tensor in module.named_parameters() if name in rows]
    for tensor, depth, first in [*parts, *((tensor, layers + _ABOVE, 0) for tensor in heads.parameters())]:
        # Weight decay would change the rows that must not change.
        decay = recipe.weight_decay if tensor.dim() > 1 and not first else 0.0
        share = recipe.layer_decay ** (layers + _ABOVE - depth)
        group = groups.setdefault((share, decay), {"params": [], "share": share, "weight_decay": decay})
        group["params"].append(tensor)
    return torch.optim.AdamW(list(groups.values()), lr=recipe.learning_rate, eps=1e-8)


def _depth(name: str, layers: int) -> int:
    """Return the height of a weight: 0 for the input, 1 for the first layer, and so on."""
    if layer := _LAYER.search(name):
        return int(layer[1]) + 1
    return 0 if "embeddings" in name.split(".") else layers + _ABOVE
