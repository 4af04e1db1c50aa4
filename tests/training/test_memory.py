"""Chunks and activation checkpointing: the gradients of a whole batch, from fewer activations kept."""

from __future__ import annotations

import pytest

from tests.training.learners import gradients, make
from tests.training.recipes import TASKS
from training.batches import part_of, parts_of

pytestmark = pytest.mark.torch

EXAMPLES = range(12)


def same(ours, theirs):
    import torch

    (loss, found), (wanted_loss, wanted) = ours, theirs
    assert loss == pytest.approx(wanted_loss, rel=1e-6)
    assert found.keys() == wanted.keys()
    largest = max(float(gradient.abs().max()) for gradient in wanted.values())
    assert largest > 1e-3
    for name, gradient in found.items():
        # Of float32's sums in another order.
        torch.testing.assert_close(gradient, wanted[name], rtol=1e-6, atol=1e-5 * largest)


def kept_bytes(learner, data):
    """Return what a forward pass keeps for its gradients."""
    import torch

    kept = []

    def keep(tensor):
        kept.append(tensor.numel() * tensor.element_size())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        learner.losses(parts_of(learner.recipe, learner.card, [(0, example) for example in EXAMPLES], data))
    return sum(kept)


@pytest.mark.parametrize(("trains", "objective"), [("adapters", "contrastive"), *(("all", one) for one in TASKS)])
def test_chunks_give_the_gradients_of_the_whole_batch(tmp_path, objective, trains):
    values = {"trains": trains, "dropout": 0.0}
    whole = gradients(*make(tmp_path, (objective,), **values), EXAMPLES)
    same(gradients(*make(tmp_path, (objective,), **values, chunk=5), EXAMPLES), whole)


@pytest.mark.parametrize("extra", [{"activation_checkpointing": True}, {"chunk": 99}])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_what_is_computed_again_has_the_same_dropout_and_precision(tmp_path, extra, precision):
    import torch

    # Texts of one length, as chunks sort the others, which moves what is dropped.
    values = {"trains": "all", "dropout": 0.3, "max_tokens": 8, "precision": precision}
    learner, data = make(tmp_path, ("mse",), **values)
    (packed,) = data
    alike = [example for example in range(len(packed)) if len(packed.text(example, 0)) == 8]
    assert len(alike) > 5
    loss, wanted = gradients(learner, data, alike)
    again, found = gradients(*make(tmp_path, ("mse",), **values, **extra), alike)
    assert again == loss
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_chunks_and_checkpointing_keep_less(tmp_path):
    plain, layers, chunks = (
        kept_bytes(*make(tmp_path, ("contrastive",), trains="all", **extra))
        for extra in ({}, {"activation_checkpointing": True}, {"chunk": 4})
    )
    assert layers < 0.4 * plain
    assert chunks < 0.1 * plain


def test_validation_goes_through_at_once(tmp_path):
    learner, data = make(tmp_path, ("mse",), chunk=1)
    learner.module.eval()
    lengths = []
    learner.module.register_forward_pre_hook(lambda _, given: lengths.append(len(given[0])))
    learner.encode(part_of(learner.recipe, learner.card, 0, EXAMPLES, data[0]))
    assert lengths == [len(EXAMPLES)]
