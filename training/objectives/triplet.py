"""Triplet margin loss (SPECTER equation 1): max(0, d(q, p) - d(q, n) + margin), d the Euclidean distance."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective


def loss(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return the mean over the triplets; further negatives make further triplets."""
    import torch

    query, positive, *negatives = inputs.vectors
    distance = torch.nn.functional.pairwise_distance
    near = distance(query, positive)
    parts = [(near - distance(query, negative) + options["margin"]).relu() for negative in negatives]
    return torch.stack(parts).mean()


TRIPLET = Objective(("triplet", "ir"), loss, "first", options={"margin": 1.0})
