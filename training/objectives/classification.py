"""Losses of papers with labels: softmax and binary cross-entropy, and cross-entropy mixed with supervised contrast."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.ops.base import Tensor
from training.objectives.base import Inputs, Objective, classes_of, outputs_of


def cross_entropy(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return softmax cross-entropy of one class per paper, its mean (SciRepEval section 4.1, MIReAD section 3).

    >>> import torch
    >>> two_classes = Inputs([torch.ones(1, 4)], torch.tensor([[2.0, 0.0]]), [[0]])
    >>> round(float(cross_entropy(two_classes, {})), 4)  # log(1 + exp(-2))
    0.1269
    """
    import torch

    return torch.nn.functional.cross_entropy(outputs_of(inputs), classes_of(inputs))


def bce(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return binary cross-entropy of several labels per paper, its mean over both (SciRepEval section 4.1).

    >>> import torch
    >>> both_labels = Inputs([torch.ones(1, 4)], torch.zeros(1, 2), [[0, 1]])
    >>> round(float(bce(both_labels, {})), 4)  # log(2)
    0.6931
    """
    import torch

    outputs = outputs_of(inputs)
    truth = torch.zeros_like(outputs)
    for row, labels in enumerate(inputs.targets):
        truth[row, [int(label) for label in labels]] = 1
    return torch.nn.functional.binary_cross_entropy_with_logits(outputs, truth)


def supervised_contrastive(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return `mix` x cross-entropy + (1 - `mix`) x contrast, as SciRepEval's code mixes them.

    >>> import torch
    >>> alike = Inputs([torch.ones(2, 4)], torch.zeros(2, 2), [[0], [0]])
    >>> round(float(supervised_contrastive(alike, {"mix": 1.0, "temperature": 0.3})), 4)  # log(2)
    0.6931
    """
    mix = options["mix"]
    return mix * cross_entropy(inputs, {}) + (1 - mix) * contrast(inputs, options["temperature"])


def contrast(inputs: Inputs, temperature: float) -> Tensor:
    """Return supervised contrast, its mean over the papers (Khosla et al. 2020, equation 2).

    The contrast of paper i, over the other papers a of the batch and those p among them with the class of i, is
    -1 / (P + 1) x sum_p log(exp(z_i z_p / t) / sum_a exp(z_i z_a / t)), z the vectors scaled to unit length and P their
    number. The divisor counts the paper itself, as SciRepEval's code does; Khosla et al. divide by P.
    """
    import torch

    vectors, classes = torch.nn.functional.normalize(inputs.vectors[0], dim=1), classes_of(inputs)
    logits = vectors @ vectors.T / temperature
    itself = torch.eye(len(vectors), dtype=torch.bool, device=logits.device)
    alike = (classes[:, None] == classes[None, :]).to(logits.dtype)
    # The least finite number instead of minus infinity keeps the loss of a batch of one paper finite.
    others = logits.masked_fill(itself, torch.finfo(logits.dtype).min)
    log_shares = logits - torch.logsumexp(others, dim=1, keepdim=True)
    return (-(log_shares * alike * ~itself).sum(dim=1) / alike.sum(dim=1)).mean()


CROSS_ENTROPY = Objective(("classification",), cross_entropy, "macro-f1", head=True)
BCE = Objective(("classification",), bce, "macro-f1", head=True)
SUPERVISED_CONTRASTIVE = Objective(
    ("classification",), supervised_contrastive, "macro-f1", head=True, options={"mix": 0.1, "temperature": 0.3}
)
