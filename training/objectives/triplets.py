"""Losses of queries with positives and negatives: triplet margin, and contrast within the batch."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective


def triplet(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return the triplet margin loss, its mean over the triplets; further negatives make further triplets.

    max(0, d(q, p) - d(q, n) + margin), d the Euclidean distance (SPECTER equation 1).

    >>> import torch
    >>> query, positive, negative = torch.zeros(1, 2), torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    >>> round(float(triplet(Inputs([query, positive, negative], None, [[]]), {"margin": 1.0})), 4)  # 3 - 2 + 1
    2.0
    """
    import torch

    query, positive, *negatives = inputs.vectors
    distance = torch.nn.functional.pairwise_distance
    near = distance(query, positive)
    parts = [(near - distance(query, negative) + options["margin"]).relu() for negative in negatives]
    return torch.stack(parts).mean()


def contrastive(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return in-batch contrast with hard negatives (SciMult section 3.1, InfoNCE), the mean over the queries.

    Softmax cross-entropy over all candidates: every query has its own positive; all other positives and all negatives
    of the batch are its negatives. Similarity is the dot product (`cosine` = 0), or the cosine (1), divided by the
    temperature.

    >>> import torch
    >>> same = Inputs([torch.ones(1, 2)] * 3, None, [[]])
    >>> round(float(contrastive(same, {"temperature": 1.0, "cosine": 1.0})), 4)  # log(2)
    0.6931
    """
    import torch

    functional = torch.nn.functional
    query, candidates = inputs.vectors[0], torch.cat(list(inputs.vectors[1:]))
    if options["cosine"]:
        query, candidates = functional.normalize(query, dim=1), functional.normalize(candidates, dim=1)
    logits = query @ candidates.T / options["temperature"]
    return functional.cross_entropy(logits, torch.arange(len(query), device=logits.device))


TRIPLET = Objective(("triplet", "ir"), triplet, "first", options={"margin": 1.0})
CONTRASTIVE = Objective(("triplet", "ir"), contrastive, "first", options={"temperature": 0.05, "cosine": 1.0})
