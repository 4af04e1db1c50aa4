"""Heads that a model ships with: linear layers that predict labels or a number from the vectors of a format.

They are stored in the model's folder: `heads.safetensors` holds `NAME.weight` (outputs, dimension) and `NAME.bias`
(outputs,), `heads.json` says what each is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from corpora.lazy import np
from encoders.models.folder import read_json, write_json
from encoders.models.formats import Format
from encoders.models.weights import write_safetensors

DESCRIPTION, WEIGHTS = "heads.json", "heads.safetensors"


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """A linear layer on the vectors of a format.

    Attributes:
        name: Its name, such as `mesh`.
        format: The format of the vectors that it reads.
        labels: Labels of its outputs; none if its one output is a number.
        several: Whether a paper may have several labels.
        weight: Weights, float32 (outputs, dimension).
        bias: Biases, float32 (outputs,).

    Example:
        >>> import numpy as np
        >>> head = Head("field", Format.CLF, ["biology", "physics"], False, np.eye(2, 3), np.zeros(2))
        >>> head.predict(np.array([[9, 0, 0]])).argmax(axis=1)
        array([0])
    """

    name: str
    format: Format
    labels: Sequence[str]
    several: bool
    weight: np.ndarray
    bias: np.ndarray

    def predict(self, vectors: np.ndarray, added: np.ndarray | float = 0.0) -> np.ndarray:
        """Return the head's predictions for some papers.

        Args:
            vectors: Vectors of its format, float32 (papers, dimension).
            added: What else adds to its outputs, float32 (papers, outputs).

        Returns:
            float32 (papers, labels): the probability of each label, with the sum 1 unless a paper may have several; or
            (papers, 1), the number itself.
        """
        outputs = vectors @ self.weight.T + self.bias + added
        if not self.labels:
            return np.asarray(outputs)
        if self.several:
            return np.asarray(0.5 + 0.5 * np.tanh(outputs / 2))  # the logistic function, without overflow
        raised = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def write_heads(folder: Path, heads: Sequence[Head]) -> None:
    """Write the heads of a model into its folder; raises `OSError` as the file system does."""
    described = {
        head.name: {"format": head.format.value, "labels": list(head.labels), "several": head.several} for head in heads
    }
    arrays = {f"{head.name}.{part}": getattr(head, part) for head in heads for part in ("weight", "bias")}
    write_safetensors(folder / WEIGHTS, arrays)
    write_json(folder / DESCRIPTION, described)


def read_heads(folder: Path) -> dict[str, Head]:
    """Return a model's heads by name, none if it ships none; `InputError` if the files are damaged, or don't fit."""
    path = folder / DESCRIPTION
    described: dict[str, Any] = read_json(path, dict, missing={})
    if not described:
        return {}
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays = load_file(folder / WEIGHTS)
        heads = {
            name: Head(
                name,
                Format(facts["format"]),
                tuple(map(str, facts["labels"])),
                bool(facts["several"]),
                arrays[f"{name}.weight"],
                arrays[f"{name}.bias"],
            )
            for name, facts in described.items()
        }
    except (OSError, SafetensorError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"The heads in {folder} can't be read ({error}); fetch the model again.") from error
    for head in heads.values():
        outputs = len(head.labels) or 1
        if head.weight.ndim != 2 or len(head.weight) != outputs or head.bias.shape != (outputs,):
            raise InputError(
                f"{path} gives {head.name} {outputs} outputs, and its weights are {head.weight.shape} and "
                f"{head.bias.shape}; fetch the model again."
            )
    return heads
