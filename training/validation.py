"""Validation: each task's own measure on its held-out records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from corpora.lazy import np, torch
from eval.measures.classes import macro_f1
from eval.probes.nested import macro_f1_of
from training.batches import length_grouped, part_of
from training.data.packed import Packed
from training.learner import Learner
from training.objectives import OBJECTIVES, Inputs

_AT_ONCE = 32


def validate(learner: Learner, data: Sequence[Packed | None]) -> dict[str, float]:
    """Measure a model on every task with validation records.

    The measures by task are macro F1, Kendall's tau-b, the share of queries whose best candidate is nearest or scores
    highest, or the mean cosine, from 0 (-1 for tau and cosine) to 1; NaN where the model gives no numbers.
    """
    learner.module.eval()
    try:
        with torch.no_grad():
            return {
                task.name: _measured(learner, number, packed)
                for number, (task, packed) in enumerate(zip(learner.recipe.tasks, data, strict=True))
                if packed is not None
            }
    finally:
        learner.module.train()


def _measured(learner: Learner, number: int, packed: Packed) -> float:
    task = learner.recipe.tasks[number]
    measure = OBJECTIVES[task.objective].measure
    groups = length_grouped(packed, _AT_ONCE)
    parts = [learner.encode(part_of(learner.recipe, learner.card, number, group, packed)) for group in groups]
    if not all(_finite(part) for part in parts):
        return math.nan
    if measure == "first":
        return _first(parts, learner.card.similarity)
    if measure == "highest":
        return _highest(parts)
    if measure == "kendall":
        return _kendall(parts)
    if measure == "cosine":
        return _cosine(parts)
    return _macro_f1(parts, several=task.multi_label)


def _finite(part: Inputs) -> bool:
    """Return whether all vectors are numbers. Otherwise a measure could have any value, even a perfect one."""
    made = part.vectors if part.outputs is None else part.outputs[None]
    return all(bool(one.isfinite().all()) for one in made)


def _macro_f1(parts: Sequence[Inputs], *, several: bool) -> float:
    outputs = np.concatenate([_array(part.outputs) for part in parts])
    targets = [target for part in parts for target in part.targets]
    if not several:
        return macro_f1(np.array([int(target[0]) for target in targets]), outputs.argmax(axis=1))
    truth = np.zeros(outputs.shape, dtype=bool)
    for row, labels in enumerate(targets):
        truth[row, [int(label) for label in labels]] = True
    # A label that is neither true nor predicted anywhere says nothing about the model, and is left out of the mean.
    return macro_f1_of(truth, outputs > 0)


def _kendall(parts: Sequence[Inputs]) -> float:
    from scipy.stats import kendalltau

    outputs = np.concatenate([_array(part.outputs)[:, 0] for part in parts])
    tau = float(kendalltau(outputs, [target[0] for part in parts for target in part.targets]).statistic)
    return tau if np.isfinite(tau) else 0.0


def _first(parts: Sequence[Inputs], similarity: str) -> float:
    """Return the share of queries whose best candidate is the first, or the teacher's best."""
    scores = []
    for part in parts:
        query, *candidates = (_array(vectors) for vectors in part.vectors)
        scores.append(np.stack([_similar(query, one, similarity) for one in candidates], axis=1))
    return _share_right(scores, parts)


def _highest(parts: Sequence[Inputs]) -> float:
    """Return the share of queries of which the first candidate, or the teacher's best, has the highest score."""
    return _share_right([np.concatenate([_array(one) for one in part.vectors], axis=1) for part in parts], parts)


def _share_right(scores: Sequence[np.ndarray], parts: Sequence[Inputs]) -> float:
    """Return the share of examples whose best candidate has the highest of its scores, float32 (part, candidates)."""
    best = np.array([int(np.argmax(target)) if target else 0 for part in parts for target in part.targets])
    return float((np.concatenate([one.argmax(axis=1) for one in scores]) == best).mean())


def _cosine(parts: Sequence[Inputs]) -> float:
    """Return the mean cosine of the vectors to those that are given."""
    return float(
        np.concatenate([_similar(_array(part.vectors[0]), np.array(part.targets), "cosine") for part in parts]).mean()
    )


def _similar(first: np.ndarray, second: np.ndarray, similarity: str) -> np.ndarray:
    if similarity == "l2":
        return np.asarray(-np.linalg.norm(first - second, axis=1))
    dots = (first * second).sum(axis=1)
    if similarity == "cosine":
        dots = dots / (np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)).clip(1e-12)
    return np.asarray(dots)


def _array(tensor: Any) -> np.ndarray:
    array: np.ndarray = tensor.float().cpu().numpy()
    return array
