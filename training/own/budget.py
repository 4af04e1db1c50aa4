"""How many papers and steps fit a time limit: a short run measures the speed first."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from training.preparing import Say
from training.recipe import Recipe
from training.train import train

_STEPS = 8
_LEAST_PAPERS, _LEAST_STEPS = 500, 20
"""As many are taken in any case, even if the time is too short."""

_OF_READING = 0.5
"""Share of the time in which texts may be read before the first step and after the last one."""

_MORE = 2.0
"""Encoding a text for the report, relative to computing its states: all layers instead of the first ones."""


@dataclass(frozen=True, slots=True)
class TrainingSpeed:
    """Seconds that parts of a run take: the states of a text, a step, a validation."""

    text: float
    step: float
    validation: float

    def fitting(self, papers: int, others: int, seconds: float, passes: float) -> int:
        """Return how many of the papers can be read in the time, beside others that are only encoded.

        For the report, each text is encoded by `passes` of the whole network.
        """
        encoding = passes * _MORE * self.text
        return min(
            papers, max(_LEAST_PAPERS, int((_OF_READING * seconds - others * encoding) / (self.text + encoding)))
        )

    def reading(self, papers: int, others: int, passes: float) -> float:
        """Return the seconds in which these papers and others are read, before the first step and for the report."""
        return self.text * (papers + (papers + others) * passes * _MORE)

    def steps(self, seconds: float, validations: int) -> int:
        """Return how many steps of a run can be taken in the time."""
        return max(_LEAST_STEPS, int((seconds - validations * self.validation) / self.step))


def measured_speed(recipe: Recipe, folder: Path, say: Say) -> TrainingSpeed:
    """Train a few steps in a folder that is deleted afterwards; the states of texts stay for the whole run.

    `say` receives what training reports, except for the steps.
    """
    task = recipe.tasks[0].model_copy(update={"limit": recipe.batch_size * _STEPS})
    trial = recipe.model_copy(update={"tasks": (task,), "steps": _STEPS, "validate_every": _STEPS, "patience": 0})
    seen: list[tuple[float, Mapping[str, Any]]] = []

    def note(entry: Mapping[str, Any]) -> None:
        seen.append((time.monotonic(), entry))
        if "step" not in entry:
            say(entry)

    train(trial, folder, say=note)
    shutil.rmtree(folder)
    steps = [entry["seconds"] for _, entry in seen if "step" in entry]
    # The first step compiles, and the last one validates.
    step = median(steps[1:-1] or steps)
    begun = next(((at, entry["states"]["new"]) for at, entry in seen if "states" in entry), None)
    first = next(at for at, entry in seen if "step" in entry) - steps[0]
    text = (first - begun[0]) / begun[1] if begun and begun[1] else 0.0
    return TrainingSpeed(max(text, 1e-6), step, max(0.0, steps[-1] - step))
