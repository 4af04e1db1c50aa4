"""The torch form of a model: it learns, forgets nothing of its names, and is the network that inference runs."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from encoders.encoder import load_encoder
from encoders.models.model import read_checked
from encoders.models.module import as_module
from encoders.registry import find_model
from encoders.tokens.batching import batches
from encoders.tokens.tokenizer import load_tokenizer
from tests.encoders.every import MAKERS
from tests.encoders.runtimes.kinds import KINDS, PADDED_TOGETHER, adapters, make_all
from tests.tiny import make_model

pytestmark = pytest.mark.torch


ADDING = ("adapters of every kind", "instruction encoder")
LEARNING = ("shared-codes", "modernbert", *ADDING)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return make_all(folder) | {
        kind: find_model(str(MAKERS[kind](folder / kind))) for kind in LEARNING if kind not in KINDS
    }


def weights_of(model):
    return read_checked(model, tuple(dict.fromkeys(model.card.heads.values())))


def module_of(model, **options):
    return as_module(weights_of(model), model.card, **options)


def batch_of(model, texts=PADDED_TOGETHER):
    import torch

    encodings = load_tokenizer(model.folder, model.card).encode_batch(texts)
    limit = model.card.max_tokens
    ids = [row if len(row) <= limit else [*row[: limit - 1], row[-1]] for row in (one.ids for one in encodings)]
    (batch,) = batches(ids, len(texts))
    order = batch.rows.argsort()
    return torch.tensor(batch.ids[order]), torch.tensor(batch.mask[order])


def heads_of(model):
    return tuple(dict.fromkeys(model.card.heads.values()))


def step(module, model, optimizer):
    """One step of pulling each text's vector towards a fixed one; returns the loss before it."""
    import torch

    generator = torch.Generator().manual_seed(0)
    vectors = torch.stack(module(*batch_of(model), heads_of(model)))
    loss = (vectors - torch.randn(vectors.shape, generator=generator)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def test_it_is_the_network_that_inference_runs(models, tmp_path):
    """The runtime torch has the same operators; tests/encoders/test_every_architecture.py compares them all."""
    model = models["adapters of every kind"]
    ids, mask = batch_of(model)
    vectors = module_of(model).eval()(ids, mask, heads_of(model))
    encoder = load_encoder(model, cache_dir=tmp_path, precision="fp32")
    expected = encoder.encode_formats(PADDED_TOGETHER, list(model.card.heads))
    for head, found in zip(heads_of(model), vectors, strict=True):
        task_format = next(one for one, name in model.card.heads.items() if name == head)
        np.testing.assert_allclose(found.detach().numpy(), expected[task_format], atol=1e-4)


@pytest.mark.parametrize("kind", LEARNING)
def test_it_learns(kind, models):
    import torch

    torch.manual_seed(0)
    model = models[kind]
    module = module_of(model, dropout=0.0)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    losses = [step(module, model, optimizer) for _ in range(4)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.97 * losses[0]


def test_it_learns_in_bf16_too(models):
    import torch

    model = models["adapters"]
    module = module_of(model)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = [step(module, model, optimizer) for _ in range(4)]
    assert losses[-1] < losses[0]
    assert {parameter.dtype for parameter in module.parameters()} == {torch.float32}


def test_its_state_has_the_names_and_values_of_the_checkpoint(models):
    weights = weights_of(models["adapters"])
    state = module_of(models["adapters"]).state_dict()
    assert list(state) == list(weights)
    for name, array in weights.items():
        np.testing.assert_array_equal(state[name].numpy(), array)


def test_what_it_learnt_is_saved_as_a_model_that_loads(tmp_path):
    import torch
    from safetensors.torch import save_file

    model = find_model(str(make_model(tmp_path / "m")))
    module = module_of(model)
    step(module, model, torch.optim.SGD(module.parameters(), lr=0.1))
    save_file(module.state_dict(), tmp_path / "m" / "model.safetensors")
    again = find_model(str(tmp_path / "m"))
    assert again.card.fingerprint != model.card.fingerprint
    expected = module.eval()(*batch_of(model), heads_of(model))[0].detach().numpy()
    found = load_encoder(again, cache_dir=tmp_path, precision="fp32").encode(PADDED_TOGETHER)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    other = module_of(again)
    assert other.load_state_dict(module.state_dict()) == ([], [])


def test_the_weights_it_was_made_from_are_copied(models):
    import torch

    weights = {name: array.copy() for name, array in weights_of(models["plain"]).items()}
    before = {name: array.copy() for name, array in weights.items()}
    module = as_module(weights, models["plain"].card)
    step(module, models["plain"], torch.optim.SGD(module.parameters(), lr=0.1))
    for name, array in weights.items():
        np.testing.assert_array_equal(array, before[name])


def freeze(module, names):
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name not in names)


def test_only_what_is_not_frozen_gets_gradients(tmp_path):
    import torch

    model = adapters(tmp_path / "m")
    module = module_of(model)
    names = list(module.state_dict())
    frozen = [name for name in names if ".adapters." not in name]
    freeze(module, frozen)
    assert set(names) - set(frozen) == {name for name in names if "layer.2.output.adapters." in name}
    before = {name: parameter.detach().clone() for name, parameter in module.named_parameters()}
    step(module, model, torch.optim.SGD([one for one in module.parameters() if one.requires_grad], lr=1.0))
    for name, parameter in module.named_parameters():
        assert (parameter.grad is None) == (name in frozen), name
        assert torch.equal(parameter, before[name]) == (name in frozen), name


@pytest.mark.parametrize("kind", ADDING)
def test_all_that_a_kind_adds_gets_gradients(kind, models):
    """Of LoRA, scales, prefixes, gates and the instructions' encoder; the rest may be frozen."""
    model = models[kind]
    module = module_of(model)
    added = ("loras", "prefix_tuning", "adapters", "instructor")
    names = [name for name in module.state_dict() if not set(added) & set(name.split("."))]
    freeze(module, names)
    sum(vectors.square().sum() for vectors in module(*batch_of(model), heads_of(model))).backward()
    without = {name for name, parameter in module.named_parameters() if parameter.grad is None}
    assert without == set(names)
    # Words and positions that no text or instruction has get none, and biases of keys change no softmax.
    still = [
        name
        for name, parameter in module.named_parameters()
        if parameter.grad is not None and not parameter.grad.any() and not name.endswith("key.bias")
    ]
    assert not still


def test_values_are_dropped_in_training_only(models):
    import torch

    model = models["plain"]
    module, given = module_of(model, dropout=0.3), (*batch_of(model), heads_of(model))
    torch.manual_seed(0)
    assert not torch.equal(module(*given)[0], module(*given)[0])
    module.eval()
    assert torch.equal(module(*given)[0], module(*given)[0])
    whole = module_of(model, dropout=0.0)
    assert torch.equal(whole(*given)[0], module(*given)[0])


def test_a_name_that_torch_can_not_have_is_told(models):
    model = models["plain"]
    for name in ("encoder.layer.0.output.adapters.half.adapter_up.weight", "encoder..weight"):
        with pytest.raises(InputError) as told:
            as_module(weights_of(model) | {name: np.zeros(3, np.float32)}, model.card)
        assert str(told.value).startswith(f"The weight {name} can't be trained: ")


def test_a_missing_torch_is_told(models, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(UnavailableError, match=r"pip install '.+\[train\]'"):
        as_module({}, models["plain"].card)
