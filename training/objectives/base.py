"""The input of every objective, and its description."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from encoders.ops.base import Tensor

ValidationMeasure = Literal["macro-f1", "kendall", "first", "cosine", "highest"]
"""Validation measures: macro F1, Kendall's tau-b, share of queries with nearest positive, mean cosine to targets, share
of queries whose best candidate has the highest score."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """A batch of one task, encoded.

    Attributes:
        vectors: Vectors of each column of the examples (the text itself; or query, positive, negatives), float32
            (examples, dimension); of a reranker, the scores of each candidate, float32 (examples, 1).
        outputs: The output of the task's head for the first column, float32 (examples, labels); None without a head.
        targets: The targets of each example: one class, some labels, one value, a score for each candidate, a
            vector, or none.
    """

    vectors: Sequence[Tensor]
    outputs: Tensor | None
    targets: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Objective:
    """An objective.

    Attributes:
        types: The types of tasks it can learn from.
        loss: Function of inputs and options that returns a scalar, the mean over the examples.
        measure: Measure of such a task in validation.
        head: Whether it needs a linear layer from a vector to one output a label.
        options: Its options with their defaults.
        pairs: Whether it learns from the scores of pairs, which only a reranker gives.
    """

    types: tuple[str, ...]
    loss: Callable[[Inputs, Mapping[str, float]], Tensor]
    measure: ValidationMeasure
    head: bool = False
    options: Mapping[str, float] = field(default_factory=dict)
    pairs: bool = False


def outputs_of(inputs: Inputs) -> Tensor:
    """Return the outputs of the head, float32 (examples, labels), which the trainer gives where `head` asks for one."""
    assert inputs.outputs is not None  # noqa: S101
    return inputs.outputs


def classes_of(inputs: Inputs) -> Tensor:
    """Return the class of each example, int64 (examples,)."""
    import torch

    return torch.tensor([int(target[0]) for target in inputs.targets], device=inputs.vectors[0].device)


def values_of(inputs: Inputs) -> Tensor:
    """Return the value of each example, float32 (examples,)."""
    return targets_of(inputs)[:, 0]


def targets_of(inputs: Inputs) -> Tensor:
    """Return the targets of examples that have equally many, float32 (examples, targets)."""
    import torch

    return torch.tensor([list(target) for target in inputs.targets], device=inputs.vectors[0].device)
