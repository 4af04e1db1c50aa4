"""Losses of a reranker: the scores that it gives the candidates of a query."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective, targets_of


def listwise(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return the cross-entropy of the softmax over a query's candidates, its mean over the queries.

    Against the first candidate, which is right (Gao et al. 2021, arXiv:2101.08751, equation 2); or, where a teacher
    scored the candidates, against the softmax of its scores over the temperature (Hinton et al. 2015, section 2).

    >>> import torch
    >>> right, wrong = torch.tensor([[2.0]]), torch.tensor([[2.0]])
    >>> round(float(listwise(Inputs([right, wrong], None, [[]]), {"teacher_temperature": 1.0})), 4)  # log(2)
    0.6931
    """
    import torch

    logits = torch.cat(list(inputs.vectors), dim=1)
    functional = torch.nn.functional
    if not inputs.targets[0]:
        return functional.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.int64, device=logits.device))
    return functional.cross_entropy(logits, (targets_of(inputs) / options["teacher_temperature"]).softmax(dim=1))


LISTWISE = Objective(("triplet", "ir", "ranked"), listwise, "highest", options={"teacher_temperature": 1.0}, pairs=True)
"""Its measure is the share of queries whose best candidate has the highest score."""
