"""Folders that are no reranker, and damaged ones: one sentence that says why."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from corpora.errors import InputError, UnavailableError
from encoders.rerankers.registry import load_reranker
from tests.encoders.checkpoints import make_cross_encoder
from tests.tiny import make_model


@pytest.fixture
def folder(tmp_path):
    return make_cross_encoder(tmp_path / "bert")


def refused(folder, tmp_path, said, **given):
    with pytest.raises(InputError) as caught:
        load_reranker(str(folder), cache_dir=tmp_path / "cache", **given)
    assert said in str(caught.value)


def configure(path, **values):
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | values))


def test_an_encoder_has_no_head(tmp_path):
    refused(make_model(tmp_path / "model"), tmp_path, "is no reranker: its weights lack the head")


@pytest.mark.parametrize(("family", "labels"), [("bert", 2), ("roberta", 3), ("modernbert", 2)])
def test_several_labels(family, labels, tmp_path):
    folder = make_cross_encoder(tmp_path / "several", family, labels=labels)
    refused(folder, tmp_path, f"gives a pair {labels} labels, and a reranker has one")


def test_a_head_without_its_bias(folder, tmp_path):
    weights = load_file(folder / "model.safetensors")
    del weights["classifier.bias"]
    save_file(weights, folder / "model.safetensors")
    refused(folder, tmp_path, "they lack classifier.bias")


def test_a_head_of_another_width(folder, tmp_path):
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"] = np.ones((1, 7), np.float32)
    save_file(weights, folder / "model.safetensors")
    refused(folder, tmp_path, "don't fit its config.json")


def test_weights_that_are_not_numbers(folder, tmp_path):
    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"][:] = np.nan
    save_file(weights, folder / "model.safetensors")
    refused(folder, tmp_path, "hold values that are not numbers")


def test_scores_that_are_not_numbers(folder, tmp_path):
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"][:] = 3e38
    save_file(weights, folder / "model.safetensors")
    configure(folder / "config.json", sbert_ce_default_activation_function="torch.nn.Identity")
    scorer = load_reranker(str(folder), cache_dir=tmp_path / "cache", precision="fp32")
    with pytest.raises(InputError, match="gave scores that are not numbers"):
        scorer.scores("virus", ["lung", "cell protein"])


@pytest.mark.parametrize("damage", ["cut", "nothing"])
def test_damaged_weights(damage, folder, tmp_path):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100] if damage == "cut" else b"")
    refused(folder, tmp_path, "incomplete safetensors file")


def test_no_weights(folder, tmp_path):
    (folder / "model.safetensors").unlink()
    refused(folder, tmp_path, "holds no weights")


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("config.json", {"model_type": "t5"}, "of the family 't5', which ses can't run as a reranker"),
        ("config.json", {"model_type": ["bert"]}, "of the family ['bert'], which ses can't run"),
        ("config.json", {"hidden_act": "relu"}, "has settings that ses can't run as a reranker"),
        ("config.json", {"num_hidden_layers": 10**6}, "no encoder has more than"),
        ("config.json", {"sentence_transformers": {"activation_fn": "torch.nn.ReLU"}}, "applies torch.nn.ReLU"),
        ("tokenizer_config.json", {"model_max_length": 6}, "reads 6 tokens, too few for a pair"),
    ],
)
def test_what_ses_cannot_run(name, values, said, folder, tmp_path):
    configure(folder / name, **values)
    refused(folder, tmp_path, said)


def test_modules_beside_the_network(folder, tmp_path):
    modules = [{"path": "", "type": "sentence_transformers.models.Transformer"}, {"path": "1", "type": "a.LogitScore"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    refused(folder, tmp_path, "modules that ses can't run: LogitScore")


@pytest.mark.parametrize("value", ["max", "gelu_new"])
def test_modernberts_other_heads(value, tmp_path):
    key = "classifier_pooling" if value == "max" else "classifier_activation"
    folder = make_cross_encoder(tmp_path / "m", "modernbert", **{key: value})
    refused(folder, tmp_path, "asks for a head of another kind than ses computes")


def test_a_tokenizer_without_a_form_for_pairs(folder, tmp_path):
    make_model(tmp_path / "plain")
    (folder / "tokenizer.json").write_text((tmp_path / "plain" / "tokenizer.json").read_text())
    refused(folder, tmp_path, "has no form for pairs of texts")


def test_names_that_name_nothing(folder, tmp_path):
    refused("magic", tmp_path, "There is no reranker 'magic'; give rerank=complete, the folder of a cross-encoder")
    refused(folder, tmp_path, "The runtime optimum can't run a reranker", runtime="optimum")
    with pytest.raises(UnavailableError, match="The model org/model can't be fetched from the hub"):
        load_reranker("org/model", cache_dir=tmp_path / "cache")


@pytest.mark.torch
def test_a_torch_file_is_read_without_running_code(folder, tmp_path):
    import torch

    weights = load_file(folder / "model.safetensors")
    given = {"cache_dir": tmp_path / "cache", "precision": "fp32"}
    expected = load_reranker(str(folder), **given).scores("virus", ["lung"])
    (folder / "model.safetensors").unlink()
    torch.save({name: torch.tensor(array) for name, array in weights.items()}, folder / "pytorch_model.bin")
    np.testing.assert_allclose(load_reranker(str(folder), **given).scores("virus", ["lung"]), expected, atol=1e-6)
