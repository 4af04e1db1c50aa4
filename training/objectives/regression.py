"""Losses of papers with a number: squared error, and pairwise ranking."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective, outputs_of, values_of


def mse(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the squared error, its mean over the papers (SciRepEval section 4.1).

    >>> import torch
    >>> far_by_one_and_three = Inputs([torch.ones(2, 4)], torch.tensor([[1.0], [5.0]]), [[2.0], [2.0]])
    >>> float(mse(far_by_one_and_three, {}))
    5.0
    """
    import torch

    return torch.nn.functional.mse_loss(outputs_of(inputs)[:, 0], values_of(inputs))


def ranking(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the mean of -log sigmoid(s_i - s_j) over the pairs with y_i > y_j; 0 if no two numbers differ.

    RankNet (Burges et al. 2005, section 3). Kendall's tau counts the pairs in the right order; this is its smooth
    bound.

    >>> import torch
    >>> equal_scores = Inputs([torch.ones(2, 4)], torch.zeros(2, 1), [[2.0], [1.0]])
    >>> round(float(ranking(equal_scores, {})), 4)  # log(2)
    0.6931
    """
    import torch

    scores, values = outputs_of(inputs)[:, 0], values_of(inputs)
    ordered = values[:, None] > values[None, :]
    differences = (scores[:, None] - scores[None, :])[ordered]
    return -torch.nn.functional.logsigmoid(differences).sum() / max(1, len(differences))


MSE = Objective(("regression",), mse, "kendall", head=True)
RANKING = Objective(("regression",), ranking, "kendall", head=True)
