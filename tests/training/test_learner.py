"""One step of a learner."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from encoders.encoder import load_encoder
from encoders.heads import read_heads
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.training.recipes import LABELS, read_recipe, write_recipe
from training.batches import parts_of
from training.data.examples import read_labels
from training.data.packed import pack
from training.learner import kept_heads, make_heads, make_learner, make_optimizer, scores
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


def test_kept_heads_give_the_labels_of_the_models_own_vectors(tmp_path):
    path = write_recipe(tmp_path, ("bce", "mse"), epochs=30)
    path.write_text(path.read_text().replace("[[tasks]]\n", "[[tasks]]\nkeep_head = true\n"))
    trained = train(read_recipe(path), tmp_path / "run")
    found = read_heads(trained.folder)
    assert [(head.name, head.format, head.several, head.labels) for head in found.values()] == [
        ("bce", Format.CLF, True, LABELS),
        ("mse", Format.RGN, False, ()),
    ]
    encoder = load_encoder(str(trained.folder), cache_dir=tmp_path / "cache", precision="fp32")
    papers = [json.loads(line) for line in (tmp_path / "papers.jsonl").read_text().splitlines()]
    texts = [f"{one['title']} {encoder.card.separator} {one['abstract']}".strip() for one in papers]
    chances = found["bce"].predict(encoder.encode(texts, Format.CLF))
    own = [chances[row, LABELS.index(one["label"])] for row, one in enumerate(papers)]
    others = [
        chances[row, LABELS.index(one["label"]) - 1] for row, one in enumerate(papers) if one["label"] != LABELS[1]
    ]
    assert np.mean(own) > np.mean(others) + 0.2
    numbers = found["mse"].predict(encoder.encode(texts, Format.RGN))[:, 0]
    assert np.corrcoef(numbers, [one["value"] for one in papers])[0, 1] > 0.5


def test_where_heads_start(tmp_path):
    import torch

    recipe = read_recipe(write_recipe(tmp_path, ("mse", "triplet", "cross-entropy")))
    numbers = SimpleNamespace(targets=np.array([7.0, 1.0, 2.0, 100.0]))
    made = make_heads(recipe, 500, {"mse": 1, "cross-entropy": 3}, [numbers, None, None])
    assert sorted(made) == ["cross-entropy", "mse"]
    assert made["mse"].bias.tolist() == [4.5], "the median"
    assert made["cross-entropy"].bias.tolist() == [0, 0, 0]
    weight = made["cross-entropy"].weight
    assert weight.shape == (3, 500)
    assert 0.0185 < weight.std().item() < 0.0215
    again = make_heads(recipe, 500, {"mse": 1, "cross-entropy": 3}, [numbers, None, None])
    assert torch.equal(again["mse"].weight, made["mse"].weight)
    other = make_heads(
        recipe.model_copy(update={"seed": 7}), 500, {"mse": 1, "cross-entropy": 3}, [numbers, None, None]
    )
    assert not torch.equal(other["mse"].weight, made["mse"].weight)


@pytest.mark.parametrize("normalize", [True, False])
def test_unit_vectors_are_scaled_and_some_values_are_dropped_in_training(normalize):
    import torch

    card = SimpleNamespace(dimension=400, network=SimpleNamespace(normalize=normalize))
    vectors, length = torch.full((50, 400), 0.05), 20 if normalize else 1
    kept = scores(torch.nn.Identity(), vectors, card, training=False)
    np.testing.assert_allclose(kept.numpy(), 0.05 * length, rtol=1e-6)
    dropped = scores(torch.nn.Identity(), vectors, card, training=True).numpy()
    assert 0.18 < (dropped == 0).mean() < 0.22
    np.testing.assert_allclose(dropped[dropped != 0], 0.05 * length / 0.8, rtol=1e-5)
    head = torch.nn.Linear(400, 2)
    task = SimpleNamespace(name="t", keep_head=True, format=Format.CLF, multi_label=True)
    other = SimpleNamespace(name="o", keep_head=False)
    (found,) = kept_heads(SimpleNamespace(tasks=[other, task]), {"t": head}, card, {"t": ("a", "b")})
    assert (found.name, found.format, found.labels, found.several) == ("t", Format.CLF, ("a", "b"), True)
    np.testing.assert_allclose(found.weight, head.weight.detach().numpy() * length, rtol=1e-6)
    np.testing.assert_array_equal(found.bias, head.bias.detach().numpy())


NAMES = {
    "embeddings.words": 0,
    "encoder.layer.0.output": 1,
    "layer.1.output": 2,
    "encoder.layers.1.bias": 2,
    "player.0.output": 4,
    "pooler.dense": 4,
}
"""Names of weights, and how high they are in a network of two layers: what is above counts as two more."""


def test_weights_by_layer_kind_and_first_row():
    import torch

    tensors = {name: torch.nn.Parameter(torch.zeros(3, 2)) for name in NAMES}
    tensors["encoder.layers.1.bias"] = torch.nn.Parameter(torch.zeros(3))
    tensors["still"] = torch.nn.Parameter(torch.zeros(3, 2))
    head = torch.nn.Linear(2, 1)
    recipe = SimpleNamespace(weight_decay=0.3, layer_decay=0.5, learning_rate=0.7)
    module = SimpleNamespace(named_parameters=lambda: tensors.items())
    rows = dict.fromkeys(NAMES, 0) | {"pooler.dense": 1}
    made = make_optimizer(recipe, 2, module, {"t": head}, rows)
    assert made.defaults["lr"] == 0.7
    assert made.defaults["eps"] == 1e-8
    found = {id(one): (group["share"], group["weight_decay"]) for group in made.param_groups for one in group["params"]}
    wanted = {id(tensors[name]): (0.5 ** (4 - height), 0.3) for name, height in NAMES.items()}
    wanted[id(tensors["encoder.layers.1.bias"])] = (0.25, 0.0)
    # Decay would change the rows before the first trained one.
    wanted[id(tensors["pooler.dense"])] = (1.0, 0.0)
    wanted |= {id(head.weight): (1.0, 0.3), id(head.bias): (1.0, 0.0)}
    assert found == wanted
    assert len(made.param_groups) == len(set(found.values()))
