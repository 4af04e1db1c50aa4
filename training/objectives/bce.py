"""Binary cross-entropy of several labels per paper, averaged over labels, then papers (SciRepEval section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective


def loss(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the mean over papers and labels."""
    import torch

    assert inputs.outputs is not None  # noqa: S101 - the trainer gives a head where `head` asks for one
    truth = torch.zeros_like(inputs.outputs)
    for row, labels in enumerate(inputs.targets):
        truth[row, [int(label) for label in labels]] = 1
    return torch.nn.functional.binary_cross_entropy_with_logits(inputs.outputs, truth)


BCE = Objective(("classification",), loss, "macro-f1", head=True)
