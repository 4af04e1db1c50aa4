"""In-batch contrast with hard negatives (SciMult section 3.1, InfoNCE): softmax cross-entropy over all candidates.

Every query has its own positive; all other positives and all negatives of the batch are its negatives. Similarity is
the dot product (`cosine` = 0), or the cosine (1), divided by the temperature.
"""

from __future__ import annotations

from collections.abc import Mapping

from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective


def loss(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return the mean over the queries."""
    import torch

    functional = torch.nn.functional
    query, candidates = inputs.vectors[0], torch.cat(list(inputs.vectors[1:]))
    if options["cosine"]:
        query, candidates = functional.normalize(query, dim=1), functional.normalize(candidates, dim=1)
    logits = query @ candidates.T / options["temperature"]
    return functional.cross_entropy(logits, torch.arange(len(query), device=logits.device))


CONTRASTIVE = Objective(("triplet", "ir"), loss, "first", options={"temperature": 0.05, "cosine": 1.0})
