"""A few steps of a learner, and the folder that is written of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from encoders.encoder import load_encoder
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer
from tests.training.recipes import read_recipe, write_recipe
from training.batches import parts_of
from training.data.examples import read_labels
from training.data.packed import pack
from training.learner import Learner, make_learner
from training.preparing import write_model
from training.train import train

TEXTS = ["virus lung cell [SEP] protein gene", "galaxy star", "climate ocean water soil"]


@dataclass(frozen=True)
class Stepped:
    """A learner after some steps.

    Attributes:
        learner: Its weights are changed.
        before: Its weights at the start.
        start: Folder of the untrained model.
        folder: Of the trained one.
    """

    learner: Learner
    before: dict[str, np.ndarray]
    start: Path
    folder: Path

    def changed(self) -> set[str]:
        """Names of the weights that are no longer what they were, bit for bit."""
        after = self.learner.weights()
        return {name for name, array in self.before.items() if not np.array_equal(array, after[name])}

    def vectors(self, task_format) -> np.ndarray:
        """What the module in memory makes of `TEXTS`, one by one."""
        import torch

        tokenizer, card = load_tokenizer(self.start, self.learner.card), self.learner.card
        self.learner.module.eval()
        rows = []
        for text in TEXTS:
            ids = torch.tensor([tokenizer.encode(text).ids])
            with torch.no_grad():
                rows.append(self.learner.module(ids, torch.ones_like(ids), [card.head(task_format)])[0][0].numpy())
        return np.array(rows)


def stepped(tmp_path, trains, steps, objectives=("cross-entropy", "triplet"), **values: Any) -> Stepped:
    """Take steps on the named tasks, one a step, and write the model."""
    recipe = read_recipe(
        write_recipe(tmp_path, objectives, trains=trains, learning_rate=0.01, dropout=0.0, steps=1, **values)
    )
    train(recipe, tmp_path / "run")
    start = find_model(str(tmp_path / "run" / "start"))
    labels = {task.name: read_labels(task) for task in recipe.tasks}
    data = [
        pack(task, task.train, labels[task.name], start, recipe.max_tokens, tmp_path / "packs") for task in recipe.tasks
    ]
    learner = make_learner(recipe, start, {name: max(1, len(found)) for name, found in labels.items()}, data)
    before = {name: array.copy() for name, array in learner.weights().items()}
    names = [task.name for task in recipe.tasks]
    for name in steps:
        learner.optimizer.zero_grad(set_to_none=True)
        parts = parts_of(recipe, learner.card, [(names.index(name), example) for example in range(8)], data)
        sum(learner.losses(parts).values()).backward()
        learner.optimizer.step()
    folder = tmp_path / "written"
    write_model(recipe, find_model(recipe.base), learner.weights(), folder, ())
    return Stepped(learner, before, Path(start.folder), folder)


def encoded(folder, tmp_path, task_format) -> np.ndarray:
    """What the encoder makes of `TEXTS` with a model folder."""
    return load_encoder(str(folder), cache_dir=tmp_path / "cache", precision="fp32").encode(TEXTS, task_format)


def card_of(folder) -> dict[str, Any]:
    """The folder's own card."""
    return json.loads((folder / "ses_card.json").read_text())
