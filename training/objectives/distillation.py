"""Distillation from the scores that teachers gave to a query's candidates.

`kl`: Kullback-Leibler divergence from the teacher's softmax to the student's (Hinton et al. 2015, section 2).
`margin-mse`: squared error of the difference between the first candidate and each other (Hofstaetter et al. 2020,
equation 4). The student's score is the cosine over the temperature, or the dot product for margins.
"""

from __future__ import annotations

from collections.abc import Mapping

from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective


def kl(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return the mean divergence over the queries."""
    import torch

    functional = torch.nn.functional
    query, *candidates = (functional.normalize(vectors, dim=1) for vectors in inputs.vectors)
    logits = torch.stack([(query * one).sum(dim=1) for one in candidates], dim=1) / options["temperature"]
    teacher = (_scores(inputs) / options["teacher_temperature"]).log_softmax(dim=1)
    return functional.kl_div(logits.log_softmax(dim=1), teacher, reduction="batchmean", log_target=True)


def margin_mse(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the mean over queries and candidates."""
    import torch

    query, *candidates = inputs.vectors
    scores = torch.stack([(query * one).sum(dim=1) for one in candidates], dim=1)
    margins, wanted = (both[:, :1] - both[:, 1:] for both in (scores, _scores(inputs)))
    return torch.nn.functional.mse_loss(margins, wanted)


def _scores(inputs: Inputs) -> Tensor:
    """Return the teacher's scores, float32 (queries, candidates)."""
    import torch

    return torch.tensor([list(scores) for scores in inputs.targets], device=inputs.vectors[0].device)


KL = Objective(("ranked",), kl, "first", options={"temperature": 0.05, "teacher_temperature": 1.0})
MARGIN_MSE = Objective(("ranked",), margin_mse, "first")
