"""Losses against a teacher: its scores of a query's candidates, or its vectors."""

from __future__ import annotations

from collections.abc import Mapping

from corpora.errors import InputError
from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective, targets_of


def kl(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return Kullback-Leibler divergence from the teacher's softmax to the student's (Hinton et al. 2015, section 2).

    The student's score is the cosine over the temperature. The mean over the queries.

    >>> import torch
    >>> same_scores = Inputs([torch.ones(1, 2)] * 3, None, [[7.0, 7.0]])
    >>> round(float(kl(same_scores, {"temperature": 0.05, "teacher_temperature": 1.0})), 4)
    0.0
    """
    import torch

    functional = torch.nn.functional
    query, *candidates = (functional.normalize(vectors, dim=1) for vectors in inputs.vectors)
    logits = torch.stack([(query * one).sum(dim=1) for one in candidates], dim=1) / options["temperature"]
    teacher = (targets_of(inputs) / options["teacher_temperature"]).log_softmax(dim=1)
    return functional.kl_div(logits.log_softmax(dim=1), teacher, reduction="batchmean", log_target=True)


def margin_mse(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the squared error of the differences between the first candidate's score and each other's.

    Hofstaetter et al. 2020, equation 4. The student's score is the dot product. The mean over queries and candidates.

    >>> import torch
    >>> query, first, second = torch.ones(1, 2), torch.ones(1, 2), torch.zeros(1, 2)
    >>> float(margin_mse(Inputs([query, first, second], None, [[5.0, 0.0]]), {}))  # (2 - 5) squared
    9.0
    """
    import torch

    query, *candidates = inputs.vectors
    scores = torch.stack([(query * one).sum(dim=1) for one in candidates], dim=1)
    margins, wanted = (both[:, :1] - both[:, 1:] for both in (scores, targets_of(inputs)))
    return torch.nn.functional.mse_loss(margins, wanted)


def vectors(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the squared error of unit vectors to those of a teacher, its mean over the texts; it is 2 - 2 cosine.

    As Reimers & Gurevych (2020, arXiv:2004.09813, section 2) distil a sentence encoder, and LEAF (Vujanic &
    Rueckstiess 2025, arXiv:2509.12539, section 3) one with vectors of unit length. `InputError` if the targets have
    another length than the vectors.

    >>> import torch
    >>> at_right_angles = Inputs([torch.tensor([[3.0, 0.0]])], None, [[0.0, 5.0]])
    >>> float(vectors(at_right_angles, {}))
    2.0
    """
    import torch

    made = torch.nn.functional.normalize(inputs.vectors[0], dim=1)
    if wrong := next((len(target) for target in inputs.targets if len(target) != made.shape[1]), None):
        raise InputError(
            f"A record gives a vector of {wrong} numbers, and the model's have {made.shape[1]}; make the records for "
            f"this model, or set the option dimension of what is trained to {wrong}."
        )
    return (made - torch.nn.functional.normalize(targets_of(inputs), dim=1)).square().sum(dim=1).mean()


KL = Objective(("ranked",), kl, "first", options={"temperature": 0.05, "teacher_temperature": 1.0})
MARGIN_MSE = Objective(("ranked",), margin_mse, "first")
VECTORS = Objective(("vectors",), vectors, "cosine")
"""Its measure is the mean cosine to the target vectors."""
