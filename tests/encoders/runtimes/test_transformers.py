"""Encoders that transformers runs: its own vectors in padded batches, and what is refused."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from corpora.errors import InputError, UnavailableError
from encoders.architectures.network import Network
from encoders.encoder import load_encoder
from encoders.layouts.exported import export_model
from encoders.models.model import read_checked
from encoders.models.module import as_module
from encoders.registry import find_model
from encoders.tokens.batching import batches
from encoders.tokens.tokenizer import well_formed
from tests.encoders.checkpoints.foreign import make_foreign
from tests.encoders.layouts.agreement import TEXTS
from tests.tiny import make_model

pytestmark = pytest.mark.torch

FAMILIES = {
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 16},
    "electra": {"embedding_size": 32},
    "distilbert": {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 96},
    "albert": {"embedding_size": 32},
    "bert": {"hidden_act": "relu"},
    "mpnet": {"relative_attention_num_buckets": 40},
    "modernbert": {"norm_bias": True, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3},
}


@pytest.fixture(scope="module")
def electra(tmp_path_factory):
    return make_foreign(tmp_path_factory.mktemp("m") / "electra", "electra", **FAMILIES["electra"])


@pytest.fixture
def copy(electra, tmp_path):
    """A folder to change."""
    import shutil

    return shutil.copytree(electra, tmp_path / "electra")


def encoder_of(folder, tmp_path, **options):
    options = {"threads": 1, **options}
    return load_encoder(str(folder), cache_dir=tmp_path / "cache", **options)


def theirs(folder, encoder, pooling):
    """What transformers gives for all texts in one padded batch, with its own padding."""
    import torch
    from transformers import AutoModel

    limit = encoder.card.max_tokens
    rows = [row.ids for row in encoder.tokenizer.encode_batch([well_formed(text) for text in TEXTS])]
    (batch,) = batches([row if len(row) <= limit else [*row[: limit - 1], row[-1]] for row in rows], len(rows))
    model = AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        states = model(torch.tensor(batch.ids), attention_mask=torch.tensor(batch.mask))[0].numpy()
    kept = batch.mask[:, :, None]
    vectors = states[:, 0] if pooling == "cls" else (states * kept).sum(axis=1) / kept.sum(axis=1)
    return vectors[batch.rows.argsort()]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("family", FAMILIES)
def test_its_vectors_are_those_of_transformers(family, pooling, tmp_path):
    folder = make_foreign(tmp_path / "m", family, **FAMILIES[family])
    # Two of MPNet's positions are for padding.
    (folder / "ses_card.json").write_text(json.dumps({"pooling": pooling, "max_tokens": 126}))
    encoder = encoder_of(folder, tmp_path)
    assert (encoder.runtime, encoder.card.architecture) == ("transformers-fp32", "transformers")
    expected = theirs(folder, encoder, pooling)
    assert expected.std(axis=0).min() > 1e-4  # texts differ
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-5)


def test_its_network_is_known_by_its_sizes_alone(copy):
    network = find_model(str(copy)).card.network
    config = network.options["config"]
    assert network == Network(
        2, 4, 64, config["vocab_size"], 128, 0, 0.0, 2, "cls", normalize=False, options=network.options
    )
    (copy / "tokenizer_config.json").write_text('{"model_max_length": 99}')
    assert find_model(str(copy)).card.network == replace(network, positions=99)


def test_bf16_and_unit_length(copy, tmp_path):
    (copy / "ses_card.json").write_text(json.dumps({"pooling": "mean", "normalize": True}))
    exact, rounded = (encoder_of(copy, tmp_path, precision=kind).encode(TEXTS) for kind in ("fp32", "bf16"))
    np.testing.assert_allclose(np.linalg.norm(exact, axis=1), 1, atol=1e-6)
    assert np.abs(exact - rounded).max() > 1e-5
    assert (exact * rounded).sum(axis=1).min() > 0.99


def test_a_masked_language_model_is_read_without_its_head(tmp_path):
    folder = make_foreign(tmp_path / "m", "distilbert", masked=True, **FAMILIES["distilbert"])
    encoder = encoder_of(folder, tmp_path)
    np.testing.assert_allclose(encoder.encode(TEXTS), theirs(folder, encoder, "cls"), atol=1e-5)


def test_a_layer_too_many_below_a_head_is_told(tmp_path):
    folder = make_foreign(tmp_path / "m", "electra", masked=True, embedding_size=32)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 1}))
    with pytest.raises(InputError, match=r"fit its config.json: they hold (electra\.)?encoder\.layer\.1\."):
        encoder_of(folder, tmp_path).encode(["virus"])


def test_an_encoder_decoder_is_told(copy, tmp_path):
    (copy / "config.json").write_text(json.dumps({"model_type": "bart"}))
    with pytest.raises(InputError, match="has the model type bart, which is an encoder-decoder; ses needs an encoder"):
        find_model(str(copy))


def test_an_export_runs_from_its_own_files(electra, tmp_path):
    model = find_model(str(electra))
    export_model(model, tmp_path / "out", runtime="transformers")
    exported = load_encoder(str(tmp_path / "out"), cache_dir=tmp_path / "unused")
    assert exported.card.fingerprint == model.card.fingerprint
    np.testing.assert_allclose(exported.encode(TEXTS), encoder_of(electra, tmp_path).encode(TEXTS), atol=1e-6)


def test_no_code_that_a_configuration_names_is_run(copy, tmp_path):
    (copy / "modeling_evil.py").write_text("raise SystemExit('code of the model was run')\n")
    config = json.loads((copy / "config.json").read_text())
    evil = {"AutoConfig": "modeling_evil.C", "AutoModel": "modeling_evil.M"}
    more = {"auto_map": evil, "_attn_implementation": "evil/kernel", "attn_implementation": "evil/kernel"}
    more["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    expected = encoder_of(copy, tmp_path).encode(TEXTS)
    (copy / "config.json").write_text(json.dumps(config | more))
    encoder = encoder_of(copy, tmp_path)
    assert not {"auto_map", "quantization_config"} & set(encoder.card.network.options["config"])
    np.testing.assert_array_equal(encoder.encode(TEXTS), expected)


def test_the_fingerprint_knows_the_configuration(copy):
    before = find_model(str(copy)).card.fingerprint
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"hidden_act": "relu"}))
    assert find_model(str(copy)).card.fingerprint != before


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"model_type": "gpt2"}, "has the model type gpt2, which is no encoder of texts; ses needs an encoder."),
        ({"model_type": "vit"}, "has the model type vit, which is no encoder of texts"),
        ({"model_type": "t5"}, "has the model type t5, which is an encoder-decoder; ses needs an encoder."),
        ({"model_type": "nonesuch"}, "which neither ses nor this version of transformers knows"),
        ({"is_decoder": True}, "has the model type electra, which is no encoder of texts"),
        ({"hidden_size": "wide"}, "is not a configuration of electra"),
        ({"num_hidden_layers": 3}, "fit its config.json: they lack encoder.layer.2."),
        ({"num_hidden_layers": 1}, "fit its config.json: they hold encoder.layer.1."),
        ({"num_hidden_layers": 10**9}, "gives 1e+09 for num_hidden_layers, and no encoder has more than 1,000"),
        ({"num_hidden_layers": 900}, "gives 900 for num_hidden_layers, and its weights don't fit: there are"),
        ({"embedding_size": 10**7}, "gives 10,000,000 for embedding_size, and its weights don't fit: their largest"),
        ({"max_position_embeddings": 10**9}, "gives 1e+09 for max_position_embeddings, and no encoder has more"),
        ({"vocab_size": 80}, "transformers can't load the model"),
        ({"max_position_embeddings": 256}, "transformers can't load the model"),
    ],
)
def test_what_it_can_not_run_is_told(config, told, copy, tmp_path):
    (copy / "config.json").write_text(json.dumps(json.loads((copy / "config.json").read_text()) | config))
    with pytest.raises(InputError) as refused:
        encoder_of(copy, tmp_path).encode(["virus"])
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_network_without_a_mask_for_padding_is_refused(tmp_path):
    folder = make_foreign(tmp_path / "m", "fnet")
    with pytest.raises(InputError, match="gives a text other vectors beside longer texts than alone: fnet models"):
        encoder_of(folder, tmp_path).encode(["virus"])
    with pytest.raises(InputError, match=r"transformers can't run .* at bf16"):  # it has no such Fourier transform
        encoder_of(folder, tmp_path, precision="bf16").encode(["virus"])


def test_rows_that_are_kept_for_padding_are_not_taken_for_texts(tmp_path):
    folder = make_foreign(tmp_path / "m", "data2vec-text", pad_token_id=1)
    with pytest.raises(InputError, match=r'takes 126 tokens, not 128; put \{"max_tokens": 126\} into a ses_card.json'):
        encoder_of(folder, tmp_path).encode(["virus"])
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": 126}))
    encoder = encoder_of(folder, tmp_path)
    assert encoder.card.max_tokens == 126
    encoder.encode(["virus " * 300])


def test_weights_that_are_not_numbers_are_told(copy, tmp_path):
    weights = load_file(copy / "model.safetensors")
    name = next(name for name in weights if name.endswith("LayerNorm.weight"))
    save_file(weights | {name: weights[name] * np.nan}, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="hold values that are not numbers"):
        encoder_of(copy, tmp_path).encode(["virus"])


@pytest.mark.parametrize("runtime", ["onnx", "torch"])
def test_another_runtime_is_refused(runtime, electra, tmp_path):
    with pytest.raises(InputError, match="choose runtime=transformers"):
        encoder_of(electra, tmp_path, runtime=runtime).encode(["virus"])
    with pytest.raises(InputError, match="choose runtime=transformers"):
        export_model(find_model(str(electra)), tmp_path / "out", runtime=runtime)


def test_it_runs_none_that_ses_runs(tmp_path):
    with pytest.raises(InputError, match="is a bert model, which ses runs itself; leave out runtime"):
        encoder_of(make_model(tmp_path / "m"), tmp_path, runtime="transformers").encode(["virus"])


def test_training_it_is_refused(electra):
    import torch

    model = find_model(str(electra))
    module = as_module(read_checked(model, ("vector",)), model.card)
    with pytest.raises(InputError, match="ses can't train it"):
        module(torch.zeros((1, 3), dtype=torch.int64), torch.ones((1, 3), dtype=torch.int64), ("vector",))


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_missing_package_is_told(package, electra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnavailableError, match=r"by transformers; run `pip install '.+\[train\]'`"):
        find_model(str(electra))


def test_damaged_files_of_its_own_are_told(electra, tmp_path):
    encoder_of(electra, tmp_path).encode(["virus"])
    (folder,) = (tmp_path / "cache" / "graphs").iterdir()
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="transformers can't load the model"):
        encoder_of(electra, tmp_path).encode(["lung"])
    (folder / "pooling.json").write_text("{}")
    with pytest.raises(InputError, match="holds an incomplete model of transformers; delete it"):
        encoder_of(electra, tmp_path).encode(["lung"])
