"""Linear layers after pooling: against the formula, against the library, written and read again, and refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.layouts.sentence_modules import read_modules, write_modules
from encoders.models.model import read_checked
from encoders.registry import find_model
from tests.encoders.checkpoints import make_sentence_transformers
from tests.encoders.checkpoints.huggingface import add_dense
from tests.encoders.layouts.agreement import TEXTS, token_ids
from tests.encoders.oracle import Oracle, gelu

ACTIVATIONS = {
    "": lambda x: x,
    "Tanh": np.tanh,
    "GELU": gelu,
    "ReLU": lambda x: np.maximum(x, 0),
    "SiLU": lambda x: x / (1 + np.exp(-x)),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def leaf(folder, *, pooling="mean", normalize=True, activation="", bias=True):
    """A folder in the form of mdbr-leaf-ir: 64 values become 96."""
    make_sentence_transformers(folder, seed=3, pooling=pooling, normalize=normalize)
    return folder, add_dense(folder, 96, activation=activation, bias=bias)


def edit(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def order(folder, *numbers):
    path = folder / "modules.json"
    modules = json.loads(path.read_text())
    path.write_text(json.dumps([modules[number] for number in numbers]))


@pytest.mark.parametrize(
    ("activation", "pooling", "normalize", "bias"),
    [("", "cls", False, False), *((activation, "mean", True, True) for activation in ACTIVATIONS)],
)
def test_vectors_are_the_formulas(activation, pooling, normalize, bias, tmp_path):
    folder, weights = leaf(tmp_path / "m", pooling=pooling, normalize=normalize, activation=activation, bias=bias)
    encoder = load_encoder(str(folder), cache_dir=tmp_path, precision="fp32")
    assert (encoder.card.dimension, encoder.card.network.width, encoder.card.similarity) == (96, 64, "cosine")
    oracle = Oracle(folder)
    vectors = encoder.encode(TEXTS)
    for text, vector in zip(TEXTS, vectors, strict=True):
        ids = token_ids(encoder, text)[:64]
        ids[-1] = token_ids(encoder, text)[-1]
        pooled = oracle.vector(ids, pooling, normalize=False)
        expected = ACTIVATIONS[activation](pooled @ weights["linear.weight"].T + weights.get("linear.bias", 0))
        expected = expected / math.sqrt(expected @ expected) if normalize else expected
        np.testing.assert_allclose(vector, expected, atol=1e-4)


def test_two_layers_follow_each_other(tmp_path):
    folder, first = leaf(tmp_path / "m", activation="Tanh")
    second = add_dense(folder, 32)
    encoder = load_encoder(str(folder), cache_dir=tmp_path, precision="fp32")
    pooled = Oracle(folder).vector(token_ids(encoder, "quantum"), "mean", normalize=False)
    inner = np.tanh(pooled @ first["linear.weight"].T + first["linear.bias"])
    expected = inner @ second["linear.weight"].T + second["linear.bias"]
    np.testing.assert_allclose(encoder.encode(["quantum"])[0], expected / np.linalg.norm(expected), atol=1e-4)


def test_int8_is_near_to_fp32(tmp_path):
    folder, _ = leaf(tmp_path / "m")
    exact, rounded = (load_encoder(str(folder), cache_dir=tmp_path, precision=one) for one in ("fp32", "int8"))
    cosines = (exact.encode(TEXTS) * rounded.encode(TEXTS)).sum(axis=1)
    assert cosines.min() > 0.99


@pytest.mark.mteb
def test_vectors_are_the_librarys(tmp_path):
    from sentence_transformers import SentenceTransformer

    folder, _ = leaf(tmp_path / "m", activation="Tanh")
    texts = [text for text in TEXTS if text.isascii()]
    expected = SentenceTransformer(str(folder), device="cpu").encode(texts)
    vectors = load_encoder(str(folder), cache_dir=tmp_path, precision="fp32").encode(texts)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize("normalize", [True, False])
def test_what_is_written_is_read_again(normalize, tmp_path):
    folder, _ = leaf(tmp_path / "m", normalize=normalize, activation="GELU", bias=False)
    model = find_model(str(folder))
    weights = read_checked(model, tuple(dict.fromkeys(model.card.heads.values())))
    (tmp_path / "again").mkdir()
    write_modules(tmp_path / "again", model.card, weights)
    found, before = read_modules(tmp_path / "again"), read_modules(folder)
    assert (found.pooling, found.normalize, found.options) == (before.pooling, before.normalize, before.options)
    written = (tmp_path / "again" / "2_Dense" / "model.safetensors").read_bytes()
    assert np.frombuffer(written[-96 * 64 * 4 :], np.float32).tolist() == weights["dense.0.weight"].ravel().tolist()
    edit(tmp_path / "again" / "2_Dense" / "config.json", activation_function="torch.nn.modules.linear.Identity")
    assert read_modules(tmp_path / "again").options == {"dense": [""]}


def test_a_layer_that_names_no_activation_has_that_of_the_library(tmp_path):
    folder, _ = leaf(tmp_path / "m", activation="Tanh")
    path, before = folder / "2_Dense" / "config.json", find_model(str(folder)).card.fingerprint
    path.write_text(json.dumps({"out_features": 96, "in_features": 64, "bias": True}))
    assert find_model(str(folder)).card.fingerprint == before


def test_the_fingerprint_covers_the_layer(tmp_path):
    folder, _ = leaf(tmp_path / "m")
    with_layer = find_model(str(folder)).card
    edit(folder / "2_Dense" / "config.json", activation_function="torch.nn.modules.activation.Tanh")
    assert find_model(str(folder)).card.fingerprint != with_layer.fingerprint
    plain = make_sentence_transformers(tmp_path / "plain", seed=3)
    assert find_model(str(plain)).card.network.options == {}


@pytest.mark.parametrize(
    "values",
    [
        {"activation_function": "torch.nn.modules.activation.Softmax"},
        {"use_residual": True},
        {"module_input_name": "token_embeddings"},
        {"module_output_name": "token_embeddings"},
        {"module_output_name": ["sentence_embedding"]},
    ],
)
def test_other_layers_are_refused(values, tmp_path):
    folder, _ = leaf(tmp_path / "m")
    edit(folder / "2_Dense" / "config.json", **values)
    with pytest.raises(InputError) as refused:
        find_model(str(folder))
    assert str(refused.value).startswith(f"{folder} has a linear layer that ses can't run (2_Dense): it knows those of")


@pytest.mark.parametrize("numbers", [(0, 1, 3, 2), (0, 2, 1, 3), (0, 2)])
def test_another_order_is_refused(numbers, tmp_path):
    folder, _ = leaf(tmp_path / "m")
    order(folder, *numbers)
    with pytest.raises(InputError, match="ses runs linear layers directly after pooling"):
        find_model(str(folder))


@pytest.mark.parametrize("outputs", ["96", 0, None])
def test_a_damaged_length_is_refused(outputs, tmp_path):
    folder, _ = leaf(tmp_path / "m")
    edit(folder / "2_Dense" / "config.json", out_features=outputs)
    with pytest.raises(InputError, match=r"out_features in .*config.json is not a whole number above 0"):
        find_model(str(folder))


def test_weights_that_do_not_fit_are_told(tmp_path):
    folder, _ = leaf(tmp_path / "m")
    edit(folder / "2_Dense" / "config.json", out_features=128)
    with pytest.raises(InputError, match=r"don't fit its config.json"):
        load_encoder(str(folder), cache_dir=tmp_path, precision="fp32").encode(["quantum"])
    (folder / "2_Dense" / "model.safetensors").unlink()
    with pytest.raises(InputError, match="2_Dense holds no weights"):
        find_model(str(folder))


def test_a_layer_outside_of_the_folder_is_refused(tmp_path):
    folder, _ = leaf(tmp_path / "m")
    modules = json.loads((folder / "modules.json").read_text())
    modules[2]["path"] = "../other"
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(InputError, match="which is outside of it"):
        find_model(str(folder))


def test_adapters_are_not_put_on_such_a_network(tmp_path):
    leaf(tmp_path / "m")
    (tmp_path / "codes").mkdir()
    (tmp_path / "codes" / "ses_card.json").write_text(json.dumps({"architecture": "shared-codes", "base": "../m"}))
    with pytest.raises(InputError, match="has linear layers after pooling; name a network without as its base"):
        find_model(str(tmp_path / "codes"))
