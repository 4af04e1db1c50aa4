"""One step of a learner."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.registry import find_model
from tests.training.recipes import read_recipe, write_recipe
from training.data.packed import pack
from training.feed import parts_of
from training.learner import make_learner
from training.train import train

pytestmark = pytest.mark.torch


def test_rows_that_are_not_trained_stay(tmp_path):
    recipe = read_recipe(write_recipe(tmp_path, ("triplet",), trains="shared-codes", steps=1, weight_decay=0.5))
    train(recipe, tmp_path / "run")
    start, (task,) = find_model(str(tmp_path / "run" / "start")), recipe.tasks
    data = pack(task, task.train, (), start, recipe.max_tokens, tmp_path / "packs")
    learner = make_learner(recipe, start, {}, [data])
    before = {name: array.copy() for name, array in learner.weights().items()}
    items = [(0, example) for example in range(4)]
    sum(learner.losses(parts_of(recipe, learner.card, items, [data])).values()).backward()
    learner.optimizer.step()
    changed = {name: (array != before[name]) for name, array in learner.weights().items()}
    words = changed.pop("embeddings.word_embeddings.weight").any(axis=1)
    assert not any(one.any() for one in changed.values())
    assert words.tolist() == [False] * (len(words) - 1) + [True]


def test_lower_layers_take_smaller_steps(tmp_path):
    """The shares are those of get_layer_lrs(0.8, 2) of yuzhimanhua/SciMult (models/optimization.py)."""
    recipe = read_recipe(write_recipe(tmp_path, ("mse",), trains="all", steps=1, layer_decay=0.8, weight_decay=0.1))
    train(recipe, tmp_path / "run")
    start, (task,) = find_model(str(tmp_path / "run" / "start")), recipe.tasks
    data = pack(task, task.train, (), start, recipe.max_tokens, tmp_path / "packs")
    learner = make_learner(recipe, start, {"mse": 1}, [data])
    groups = {id(one): group for group in learner.optimizer.param_groups for one in group["params"]}
    told = {
        "embeddings.word_embeddings.weight": (0.4096, 0.1),
        "embeddings.LayerNorm.weight": (0.4096, 0.0),
        "encoder.layer.0.output.dense.weight": (0.512, 0.1),
        "encoder.layer.1.output.dense.weight": (0.64, 0.1),
        "encoder.layer.1.output.dense.bias": (0.64, 0.0),
        "heads.mse.weight": (1.0, 0.1),
        "heads.mse.bias": (1.0, 0.0),
    }
    tensors = {name.removeprefix("module."): tensor for name, tensor in learner.trained().items()}
    assert len(groups) == len(tensors)
    for name, expected in told.items():
        group = groups[id(tensors[name])]
        assert (group["share"], group["weight_decay"]) == pytest.approx(expected)


def test_a_step_is_as_long_as_its_layers_share_of_the_rate(tmp_path):
    values = {"trains": "all", "steps": 1, "schedule": "constant", "clip": 0.0, "dropout": 0.0}
    moved = {}
    for decay in (1.0, 0.5):
        recipe = read_recipe(write_recipe(tmp_path, ("triplet",), layer_decay=decay, **values))
        done = train(recipe, tmp_path / f"run-{decay}")
        start, after = (find_model(str(path)).read() for path in (tmp_path / f"run-{decay}" / "start", done.folder))
        moved[decay] = {name: after[name] - start[name] for name in start}
    for name, share in (("embeddings.word_embeddings.weight", 1 / 16), ("encoder.layer.1.output.dense.weight", 1 / 4)):
        np.testing.assert_allclose(moved[0.5][name], share * moved[1.0][name], atol=1e-6)
        assert np.abs(moved[1.0][name]).max() > 1e-3
