"""Pairwise ranking of numbers (RankNet, Burges et al. 2005, section 3): -log sigmoid(s_i - s_j) where y_i > y_j.

Kendall's tau counts the pairs in the right order; this is its smooth bound.
"""

from __future__ import annotations

from collections.abc import Mapping

from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective, values_of


def loss(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the mean over the pairs of the batch that differ; 0 if none does."""
    import torch

    assert inputs.outputs is not None  # noqa: S101 - the trainer gives a head where `head` asks for one
    scores, values = inputs.outputs[:, 0], values_of(inputs)
    ordered = values[:, None] > values[None, :]
    differences = (scores[:, None] - scores[None, :])[ordered]
    return -torch.nn.functional.logsigmoid(differences).sum() / max(1, len(differences))


RANKING = Objective(("regression",), loss, "kendall", head=True)
