"""One step of a learner."""

from __future__ import annotations

import pytest

from encoders.registry import find_model
from tests.training.recipes import write_recipe
from training.data.packed import pack
from training.learner import make_learner
from training.recipe import read_recipe
from training.train import train

pytestmark = pytest.mark.torch


def test_rows_that_are_not_trained_stay(tmp_path):
    recipe = read_recipe(write_recipe(tmp_path, ("triplet",), trains="shared-codes", steps=1, weight_decay=0.5))
    train(recipe, tmp_path / "run")
    start, (task,) = find_model(str(tmp_path / "run" / "start")), recipe.tasks
    data = pack(task, task.train, (), start, recipe.max_tokens, tmp_path / "packs")
    learner = make_learner(recipe, start, {}, [data])
    before = {name: array.copy() for name, array in learner.weights().items()}
    sum(learner.losses([(0, example) for example in range(4)], [data]).values()).backward()
    learner.optimizer.step()
    changed = {name: (array != before[name]) for name, array in learner.weights().items()}
    words = changed.pop("embeddings.word_embeddings.weight").any(axis=1)
    assert not any(one.any() for one in changed.values())
    assert words.tolist() == [False] * (len(words) - 1) + [True]
