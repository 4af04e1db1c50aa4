"""Softmax cross-entropy of one class per paper (SciRepEval section 4.1, MIReAD section 3)."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective, classes_of


def loss(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the mean over the papers."""
    import torch

    return torch.nn.functional.cross_entropy(inputs.outputs, classes_of(inputs))


CROSS_ENTROPY = Objective(("classification",), loss, "macro-f1", head=True)
