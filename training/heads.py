"""Heads: a linear layer for each task that needs one, on top of its vectors (SciRepEval's training code).

They are removed after training, except those shipped for tags and forecasts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from encoders.heads import Head
from training.data.packed import Packed
from training.objectives.registry import OBJECTIVES
from training.recipe import Recipe

if TYPE_CHECKING:
    from encoders.models.card import ModelCard

_DROPOUT = 0.2
_DEVIATION = 0.02


def make_heads(recipe: Recipe, dimension: int, outputs: Mapping[str, int], packs: Sequence[Packed]) -> Any:
    """Make the heads of a recipe's tasks.

    Args:
        recipe: Its seed decides the weights, N(0, 0.02).
        dimension: Size of the vectors.
        outputs: Number of outputs of each task's head.
        packs: Training examples of each task, in the recipe's order.

    Returns:
        A `torch.nn.ModuleDict` of linear layers by task name. Several labels start at their log odds in the training
        examples (Lin et al. 2017, section 3.3), and numbers at their median: from 0, the first thousand steps would
        learn only these. Biases of single classes start at 0.
    """
    import numpy as np
    import torch

    torch.manual_seed(recipe.seed)
    heads = torch.nn.ModuleDict()
    for task, packed in zip(recipe.tasks, packs, strict=True):
        objective = OBJECTIVES[task.objective]
        if not objective.head:
            continue
        head = torch.nn.Linear(dimension, outputs[task.name])
        torch.nn.init.normal_(head.weight, std=_DEVIATION)
        torch.nn.init.zeros_(head.bias)
        with torch.no_grad():
            if task.multi_label:
                head.bias.copy_(torch.from_numpy(_log_odds(packed, outputs[task.name])))
            elif task.type == "regression":
                head.bias.fill_(float(np.median(packed.targets)))
        heads[task.name] = head
    return heads


def scores(head: Any, vectors: Any, card: ModelCard, *, training: bool) -> Any:
    """Return a head's outputs, float32 (texts, outputs).

    Vectors of unit length are first scaled to the length of a layer-normalized state, the square root of the
    dimension, for which the heads' start and learning rate are meant.
    """
    import torch

    dropped = torch.nn.functional.dropout(vectors, _DROPOUT, training)
    return head(dropped * math.sqrt(card.dimension) if card.network.normalize else dropped)


def kept_heads(recipe: Recipe, heads: Any, card: ModelCard, labels: Mapping[str, Sequence[str]]) -> list[Head]:
    """Return the heads that the recipe keeps, for vectors as the model gives them.

    Args:
        recipe: Its tasks say which.
        heads: From `make_heads`, trained.
        card: Of the model.
        labels: Of each classification task.

    Returns:
        The heads; the scale of unit vectors is in their weights.
    """
    length = math.sqrt(card.dimension) if card.network.normalize else 1.0
    found = []
    for task in recipe.tasks:
        if task.keep_head:
            weight, bias = (one.detach().cpu().numpy() for one in (heads[task.name].weight, heads[task.name].bias))
            found.append(Head(task.name, task.format, labels[task.name], task.multi_label, weight * length, bias))
    return found


def _log_odds(packed: Packed, labels: int) -> Any:
    import numpy as np

    found = np.bincount(packed.targets.astype(np.int64), minlength=labels)
    # One paper with each label and one without are added, so that no odds are infinite.
    return (np.log(found + 1) - np.log(len(packed) - found + 1)).astype(np.float32)
