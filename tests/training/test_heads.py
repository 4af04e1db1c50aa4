"""Where the heads of tasks start, and what they are given."""

from __future__ import annotations

import math

import numpy as np
import pytest

from encoders.registry import find_model
from tests.training.recipes import write_recipe
from training.data.examples import read_labels
from training.data.packed import pack
from training.heads import make_heads, scores
from training.recipe import read_recipe
from training.train import train

pytestmark = pytest.mark.torch


def test_labels_start_at_their_log_odds(tmp_path):
    import torch

    path = write_recipe(tmp_path, ("bce",), steps=1)
    recipe = read_recipe(path)
    (task,) = recipe.tasks
    train(recipe, tmp_path / "run")
    start, labels = find_model(str(tmp_path / "run" / "start")), read_labels(task)
    packed = pack(task, task.train, labels, start, recipe.max_tokens, tmp_path / "packs")
    heads = make_heads(recipe, start.card.dimension, {task.name: len(labels)}, [packed])
    found = [packed.numbers(example) for example in range(len(packed))]
    for label in range(len(labels)):
        share = (sum(label in one for one in found) + 1) / (len(found) + 2)
        assert heads[task.name].bias[label].item() == pytest.approx(math.log(share / (1 - share)), abs=1e-5)
    vectors = torch.randn(2, start.card.dimension)
    given = scores(heads[task.name], vectors, start.card, training=False).detach().numpy()
    weight, bias = (one.detach().numpy() for one in (heads[task.name].weight, heads[task.name].bias))
    length = math.sqrt(start.card.dimension) if start.card.network.normalize else 1.0
    np.testing.assert_allclose(given, length * vectors.numpy() @ weight.T + bias, atol=1e-5)
