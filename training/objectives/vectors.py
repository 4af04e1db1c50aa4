"""Squared error of unit vectors to a target vector for each text, such as that of a teacher.

As Reimers & Gurevych (2020, arXiv:2004.09813, section 2) distil a sentence encoder. Of unit vectors it is 2 - 2 cosine.
"""

from __future__ import annotations

from collections.abc import Mapping

from corpora.errors import InputError
from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective


def loss(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the mean over the texts; `InputError` if the targets have another length than the vectors."""
    import torch

    vectors = torch.nn.functional.normalize(inputs.vectors[0], dim=1)
    if wrong := next((len(target) for target in inputs.targets if len(target) != vectors.shape[1]), None):
        raise InputError(
            f"A record gives a vector of {wrong} numbers, and the model's have {vectors.shape[1]}; make the records "
            "for this model."
        )
    wanted = torch.tensor([list(target) for target in inputs.targets], device=vectors.device)
    return (vectors - torch.nn.functional.normalize(wanted, dim=1)).square().sum(dim=1).mean()


VECTORS = Objective(("vectors",), loss, "cosine")
"""Its measure is the mean cosine to the target vectors."""
