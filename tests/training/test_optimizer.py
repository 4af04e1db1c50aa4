"""The groups of the optimizer: which share of the rate and which decay each weight gets."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from training.optimizer import make_optimizer

pytestmark = pytest.mark.torch

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
    made = make_optimizer(recipe, 2, module, head, rows)
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
