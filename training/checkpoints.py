"""Writes and reads the state of a run. A kill or a full disk leaves the previous state valid."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from corpora.documents import read_json
from corpora.errors import InputError, UnavailableError
from corpora.lazy import torch
from corpora.writing import replacing
from training.learner import Learner

_TENSORS, _FACTS = "state.safetensors", "state.json"


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """The progress of a run.

    Attributes:
        step: Optimizer steps done.
        scores: Mean of the validation measures, by the step of each validation so far.
        recipe_key: Hash of the recipe and the data; a run resumes only with the same ones.
    """

    step: int = 0
    scores: Mapping[int, float] = field(default_factory=dict)
    recipe_key: str = ""

    def best(self, count: int) -> list[int]:
        """Return the steps with the highest scores, best first; of equal scores, the earlier step."""
        return sorted(self.scores, key=lambda step: (-self.scores[step], step))[:count]


def save(folder: Path, learner: Learner, progress: TrainingProgress) -> None:
    """Write the state of a run into its folder; the previous state stays valid until the new one is complete.

    `UnavailableError` if it can't be written, such as on a full disk.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)
    try:
        with replacing(folder / f"state-{progress.step:08d}", locked=True) as part:
            part.mkdir()
            save_file({name: tensor.contiguous() for name, tensor in _state(learner).items()}, part / _TENSORS)
            facts = asdict(progress) | {"scores": {str(step): score for step, score in progress.scores.items()}}
            (part / _FACTS).write_text(json.dumps(facts), encoding="utf-8")
    except (OSError, SafetensorError) as error:
        raise UnavailableError(
            f"The state of step {progress.step} can't be written to {folder} ({error})",
            "free some space, and train again with <resume>: the previous state is valid",
        ) from error
    for step, old in _states(folder).items():
        if step != progress.step and step not in progress.best(learner.recipe.keep):
            shutil.rmtree(old, ignore_errors=True)


def last(folder: Path) -> int | None:
    """Return the step of the last state in a folder, None if there is none."""
    return max(_states(folder), default=None)


def load(folder: Path, step: int, learner: Learner) -> TrainingProgress:
    """Put the state of a step into a learner of the same recipe; return how far the run was.

    `InputError` if the state is damaged, or of another recipe.
    """
    from safetensors.torch import load_file

    place = _states(folder)[step]
    try:
        kept = load_file(place / _TENSORS)
        facts = read_json(place / _FACTS)
        progress = TrainingProgress(
            facts["step"], {int(at): score for at, score in facts["scores"].items()}, facts["recipe_key"]
        )
    except Exception as error:
        # safetensors raises its own kind.
        raise InputError(
            f"{place} is damaged ({error}); delete it, and the run resumes from the previous state."
        ) from error
    _prepare_optimizer(learner, kept)
    state = _state(learner)
    if {name: tensor.shape for name, tensor in kept.items()} != {name: tensor.shape for name, tensor in state.items()}:
        raise InputError(
            f"{place} is of another recipe: start in another folder, or give the recipe that the run began with."
        )
    with torch.no_grad():
        for name, tensor in state.items():
            tensor.copy_(kept[name])
    return progress


def resume(folder: Path, learner: Learner, key: str, *, allowed: bool) -> TrainingProgress:
    """Put the last state of a run into a learner, if there is one; return how far the run is.

    `key` is the hash of the recipe and the data. `InputError` if there is a state and the user has not asked to resume,
    or it is of another recipe or damaged.
    """
    step = last(folder)
    if step is None:
        return TrainingProgress(recipe_key=key)
    if not allowed:
        raise InputError(
            f"{folder} holds a run of {step} steps", "add <resume> to continue it, or name another folder by <output>"
        )
    progress = load(folder, step, learner)
    if progress.recipe_key != key:
        raise InputError(
            f"{folder} holds a run of another recipe, base or data",
            "name another folder by <output>, or give the same recipe",
        )
    return progress


def _states(folder: Path) -> dict[int, Path]:
    found = {path.name.removeprefix("state-"): path for path in folder.glob("state-*")}
    return {int(step): path for step, path in found.items() if step.isdigit()}


def _state(learner: Learner) -> dict[str, Any]:
    """Return views of all that training changes: the trained rows and their optimizer state."""
    found: dict[str, Any] = {}
    for name, tensor in learner.trained().items():
        first = learner.rows.get(name.removeprefix("module."), 0)
        found[name] = tensor.detach()[first:]
        for key, value in learner.optimizer.state.get(tensor, {}).items():
            found[f"adamw.{key}.{name}"] = value[first:] if value.dim() else value
    return found


def _prepare_optimizer(learner: Learner, kept: Mapping[str, Any]) -> None:
    """Make the optimizer's tensors of all weights that had a gradient when the state was saved, and no others."""
    learner.optimizer.state.clear()
    for name, tensor in learner.trained().items():
        # The head of a task without an example so far has no such tensors.
        if f"adamw.step.{name}" not in kept:
            continue
        learner.optimizer.state[tensor] = {
            "step": torch.tensor(0.0),
            "exp_avg": torch.zeros_like(tensor),
            "exp_avg_sq": torch.zeros_like(tensor),
        }
