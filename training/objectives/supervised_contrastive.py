"""Cross-entropy mixed with supervised contrast (SciRepEval's code; Khosla et al. 2020, equation 2).

`mix` x cross-entropy + (1 - `mix`) x contrast. The contrast of paper i, over the other papers a of the batch and those
p among them with the class of i, is -1 / (P + 1) x sum_p log(exp(z_i z_p / t) / sum_a exp(z_i z_a / t)), z the vectors
scaled to unit length and P their number. The divisor counts the paper itself, as SciRepEval's code does; Khosla et al.
divide by P.
"""

from __future__ import annotations

from collections.abc import Mapping

from encoders.ops.base import Tensor
from training.objectives import cross_entropy
from training.objectives.base import Inputs, Objective, classes_of


def loss(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return the mean over the papers."""
    mix = options["mix"]
    return mix * cross_entropy.loss(inputs, {}) + (1 - mix) * contrast(inputs, options["temperature"])


def contrast(inputs: Inputs, temperature: float) -> Tensor:
    """Return the contrast alone, its mean over the papers."""
    import torch

    vectors, classes = torch.nn.functional.normalize(inputs.vectors[0], dim=1), classes_of(inputs)
    logits = vectors @ vectors.T / temperature
    itself = torch.eye(len(vectors), dtype=torch.bool, device=logits.device)
    alike = (classes[:, None] == classes[None, :]).to(logits.dtype)
    # The least finite number instead of minus infinity keeps the loss of a batch of one paper finite.
    others = logits.masked_fill(itself, torch.finfo(logits.dtype).min)
    log_shares = logits - torch.logsumexp(others, dim=1, keepdim=True)
    return (-(log_shares * alike * ~itself).sum(dim=1) / alike.sum(dim=1)).mean()


SUPERVISED_CONTRASTIVE = Objective(
    ("classification",), loss, "macro-f1", head=True, options={"mix": 0.1, "temperature": 0.3}
)
