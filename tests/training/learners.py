"""A learner over a recipe's packed data, to look at single steps."""

from __future__ import annotations

from encoders.registry import find_model
from tests.training.recipes import read_recipe, write_recipe
from training.batches import parts_of
from training.data.examples import read_labels
from training.data.packed import pack
from training.learner import make_learner
from training.trainables.registry import TRAINABLES


def make(folder, objectives, **values):
    """Return a learner in its untrained state, and the data of its tasks."""
    recipe = read_recipe(write_recipe(folder, objectives, **values))
    base, trainable = find_model(recipe.base), TRAINABLES[recipe.trains]
    options = {**trainable.options, **recipe.options}
    added = trainable.start(base, recipe.formats, options, recipe.seed)
    trainable.write(base, recipe.formats, {**base.read(), **added}, folder / "start")
    start = find_model(str(folder / "start"))
    labels = {task.name: read_labels(task) for task in recipe.tasks}
    packs = folder / "packs"
    data = [pack(task, task.train, labels[task.name], start, recipe.max_tokens, packs) for task in recipe.tasks]
    return make_learner(recipe, start, {name: max(1, len(found)) for name, found in labels.items()}, data), data


def gradients(learner, data, examples):
    """Return the loss of some examples of every task, and the gradient of every trained tensor."""
    import torch

    torch.manual_seed(1)
    learner.optimizer.zero_grad()
    items = [(task, example) for task in range(len(data)) for example in examples]
    loss = sum(learner.losses(parts_of(learner.recipe, learner.card, items, data)).values())
    loss.backward()
    return float(loss.detach()), {name: tensor.grad.clone() for name, tensor in learner.trained().items()}
