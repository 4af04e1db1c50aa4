"""The runs of the findings: each variant of a recipe is trained once, and its cost is stored with its model."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from encoders.models.formats import Format
from encoders.models.model import Model
from encoders.registry import find_model
from training.preparing import MODEL
from training.recipe import Recipe, read_variants
from training.train import train
from training.trainables.registry import TRAINABLES

RECIPES = Path(__file__).parents[2] / "recipes"
BASE = "all-MiniLM-L6-v2"
"""Of the recipes."""
_COST = "cost.json"


@dataclass(frozen=True, slots=True)
class Run:
    """A trained variant, or the base.

    Attributes:
        name: Name of the variant.
        model: The trained model.
        cpu_seconds: Median CPU seconds of a step.
        trained: Numbers that training changed.
        added: Numbers that the model has beyond the base.
    """

    name: str
    model: Model
    cpu_seconds: float = 0.0
    trained: int = 0
    added: int = 0

    def vector(self, task_format: Format) -> str:
        """Return what decides a format's vector: its head and its prompt. Formats with equal ones share a vector."""
        return self.model.card.head(task_format) + self.model.card.prompts.get(task_format, "")


def base_run() -> Run:
    """Return the untrained base."""
    return Run(BASE, find_model(BASE))


def runs_of(name: str, folder: Path, data: Path) -> list[Run]:
    """Train the variants of `recipes/findings-NAME.toml` that have no model yet; return all."""
    variants = read_variants(RECIPES / f"findings-{name}.toml", (), data)
    place = folder / name
    return [_run(recipe, variant, place / variant) for variant, recipe in variants.items()]


def _run(recipe: Recipe, name: str, folder: Path) -> Run:
    if not (folder / _COST).is_file():
        ends: list[float] = []

        def say(entry: Mapping[str, Any]) -> None:
            if "step" in entry:
                ends.append(time.process_time())
                if entry["step"] % 10 == 0:
                    print(f"{name}: step {entry['step']}, loss {entry['loss']:.3f}, {entry['losses']}", flush=True)

        train(recipe, folder, resume=True, say=say)
        taken = statistics.median(after - before for before, after in pairwise(ends))
        model = find_model(str(folder / MODEL))
        sizes = {"trained": _trained(recipe, model), "added": _size(model) - _size(base_run().model)}
        (folder / _COST).write_text(json.dumps({"cpu_seconds": taken, **sizes}), encoding="utf-8")
    return Run(name, find_model(str(folder / MODEL)), **json.loads((folder / _COST).read_text(encoding="utf-8")))


def _trained(recipe: Recipe, model: Model) -> int:
    """Return how many numbers of the network training changes."""
    trainable, weights = TRAINABLES[recipe.trains], model.read()
    rows = trainable.trained(model.card, {**trainable.options, **recipe.options}, weights)
    return sum((len(weights[name]) - first) * weights[name][0].size for name, first in rows.items())


def _size(model: Model) -> int:
    return sum(array.size for array in model.read().values())
