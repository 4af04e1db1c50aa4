"""The families beside BERT and RoBERTa: against their formulas in numpy, and against transformers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from corpora.errors import InputError
from encoders.architectures.network import Network
from encoders.encoder import load_encoder
from encoders.layouts.families import read_network
from encoders.registry import find_model
from encoders.tokens.batching import batches
from tests.encoders.checkpoints import make_modernbert, make_mpnet, make_multilingual
from tests.encoders.formulas.modernbert import ModernBert
from tests.encoders.formulas.mpnet import FARTHEST, MPNet, bucket
from tests.encoders.layouts.agreement import TEXTS, check_vectors, token_ids
from tests.encoders.oracle import Oracle, pool

MAKERS = {
    "xlm-roberta": make_multilingual,
    "camembert": lambda folder: make_multilingual(folder, "camembert"),
    "mpnet": make_mpnet,
    "modernbert": make_modernbert,
}
FORMULAS = {"mpnet": MPNet, "modernbert": ModernBert}


@pytest.fixture(params=MAKERS)
def folder(request, tmp_path):
    return MAKERS[request.param](tmp_path / request.param)


def encoder_of(folder, tmp_path, runtime="onnx", **card):
    if card:
        (folder / "ses_card.json").write_text(json.dumps(card))
    return load_encoder(str(folder), cache_dir=tmp_path / "cache", runtime=runtime, precision="fp32", threads=1)


def change(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_it_is_what_the_papers_formulas_give(pooling, folder, tmp_path):
    formula = FORMULAS.get(folder.name, Oracle)(folder)
    check_vectors(encoder_of(folder, tmp_path, pooling=pooling), lambda _, ids: pool(formula.hidden(ids), pooling))


@pytest.mark.torch
@pytest.mark.parametrize("runtime", ["onnx", "torch", pytest.param("openvino", marks=pytest.mark.openvino)])
def test_it_equals_transformers_in_padded_batches(runtime, folder, tmp_path):
    import torch
    from transformers import AutoModel

    encoder = encoder_of(folder, tmp_path, runtime)
    (batch,) = batches([token_ids(encoder, text) for text in TEXTS], len(TEXTS))
    padding = json.loads((folder / "config.json").read_text())["pad_token_id"]
    ids, mask = torch.tensor(np.where(batch.mask, batch.ids, padding)), torch.tensor(batch.mask)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.inference_mode():
        expected = model(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0].numpy()
    np.testing.assert_allclose(encoder.encode(TEXTS)[batch.rows], expected, atol=2e-5)


@pytest.mark.slow
def test_the_tokenizer_that_transformers_makes_of_the_folder_is_ours(tmp_path):
    pytest.importorskip("transformers")
    from transformers import AutoTokenizer

    folder = make_multilingual(tmp_path / "m")
    encoder, theirs = encoder_of(folder, tmp_path), AutoTokenizer.from_pretrained(folder)
    for text in ("virus lung", "", "<s> cell </s> gene", "  Zellen 病毒 ", "protein <pad> gene"):
        assert encoder.tokenizer.encode(text).ids == theirs(text)["input_ids"], text
    assert encoder.card.text("T", "A") == "T </s> A"


def test_buckets_of_distances_are_those_of_the_logarithm(tmp_path):
    """At the distances where a bucket begins, rounding decides; ours are whole numbers."""
    from encoders.architectures import mpnet

    assert [mpnet.bucket(one) for one in range(-600, 601)] == [bucket(one) for one in range(-600, 601)]
    assert mpnet.bucket(FARTHEST) == mpnet.BUCKETS - 1 > mpnet.bucket(FARTHEST // 2)


def test_a_masked_language_model_is_read_without_its_head(tmp_path):
    plain, masked = make_modernbert(tmp_path / "a"), make_modernbert(tmp_path / "b", masked=True)
    expected = encoder_of(plain, tmp_path).encode(TEXTS)
    np.testing.assert_array_equal(encoder_of(masked, tmp_path).encode(TEXTS), expected)


def test_a_configuration_of_transformers_5_says_the_same(tmp_path):
    older, newer = make_modernbert(tmp_path / "a"), make_modernbert(tmp_path / "b")
    config = json.loads((newer / "config.json").read_text())
    for key in ("global_attn_every_n_layers", "global_rope_theta", "local_rope_theta"):
        del config[key]
    kinds = ["sliding_attention" if i % 3 else "full_attention" for i in range(7)]
    thetas = {"full_attention": 160_000.0, "sliding_attention": 10_000.0}
    rotations = {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()}
    (newer / "config.json").write_text(json.dumps(config | {"layer_types": kinds, "rope_parameters": rotations}))
    expected = find_model(str(older)).card.network
    assert find_model(str(newer)).card.network == expected
    assert (expected.options["global_layers"], expected.options["reach"]) == ([0, 3, 6], 8)
    change(newer, layer_types=["sliding_attention"] * 6 + ["full_attention"])
    assert find_model(str(newer)).card.network.options["global_layers"] == [6]
    rotations["sliding_attention"]["rope_theta"] = 500.0
    change(newer, rope_parameters=rotations)
    assert find_model(str(newer)).card.network.options["local_theta"] == 500.0


@pytest.mark.parametrize("key", ["reach", "local_theta", "global_theta", "global_layers"])
def test_the_fingerprint_knows_what_modernberts_attention_sees(key, tmp_path):
    before = find_model(str(make_modernbert(tmp_path / "a"))).card.fingerprint
    changed = {
        "reach": {"local_attention": 18},
        "local_theta": {"local_rope_theta": 9e3},
        "global_theta": {"global_rope_theta": 9e3},
        "global_layers": {"global_attn_every_n_layers": 2},
    }
    folder = make_modernbert(tmp_path / "b", **changed[key])
    assert find_model(str(folder)).card.fingerprint != before


SIZES = {
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "hidden_size": 64,
    "vocab_size": 70,
    "max_position_embeddings": 130,
}
MODERN = {"global_layers": [0, 3], "reach": 64, "global_theta": 160_000.0, "local_theta": 10_000.0}


@pytest.mark.parametrize(
    ("config", "changed"),
    [
        ({"model_type": "bert"}, {}),
        ({"model_type": "bert", "layer_norm_eps": 1e-6, "norm_eps": 3, "pad_token_id": 9}, {"epsilon": 1e-6}),
        ({"model_type": "bert", "layer_norm_eps": 1, "hidden_act": "gelu"}, {"epsilon": 1.0}),
        ({"model_type": "roberta"}, {"first_position": 2}),
        ({"model_type": "xlm-roberta", "pad_token_id": 4}, {"first_position": 5}),
        ({"model_type": "camembert", "pad_token_id": 0}, {"first_position": 1}),
        ({"model_type": "mpnet", "pad_token_id": 7}, {"first_position": 2}),
        ({"model_type": "mpnet", "relative_attention_num_buckets": 32}, {"first_position": 2}),
        ({"model_type": "modernbert"}, {"epsilon": 1e-5, "options": MODERN}),
        ({"model_type": "modernbert", "hidden_act": "relu", "norm_eps": 1e-4}, {"epsilon": 1e-4, "options": MODERN}),
        (
            {"model_type": "modernbert", "global_attn_every_n_layers": 2, "local_attention": 7, "global_rope_theta": 5},
            {"epsilon": 1e-5, "options": MODERN | {"global_layers": [0, 2, 4], "reach": 3, "global_theta": 5.0}},
        ),
        (
            {"model_type": "modernbert", "layer_types": ["sliding_attention"] * 5, "local_rope_theta": 6},
            {"epsilon": 1e-5, "options": MODERN | {"global_layers": [], "local_theta": 6.0}},
        ),
        (
            {
                "model_type": "modernbert",
                "rope_parameters": {"full_attention": None, "sliding_attention": {"rope_theta": 7}},
            },
            {"epsilon": 1e-5, "options": MODERN | {"local_theta": 7.0}},
        ),
    ],
)
def test_a_configuration_that_says_little_has_its_familys_values(config, changed):
    expected = Network(5, 4, 64, 70, 130, 0, 1e-12, 5, "mean", normalize=True, options={})
    assert read_network(Path("c"), SIZES | config, "mean", normalize=True) == replace(expected, **changed)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"model_type": "gpt2"},
        {"model_type": "bert", "hidden_act": "relu"},
        {"model_type": "mpnet", "relative_attention_num_buckets": 64},
        {"model_type": "modernbert", "hidden_activation": "silu"},
        *({"model_type": "modernbert", key: True} for key in ("attention_bias", "mlp_bias", "norm_bias")),
        {"model_type": "modernbert", "rope_scaling": {"factor": 2}},
        {"model_type": "modernbert", "layer_types": ["full_attention"] * 4},
        {"model_type": "modernbert", "layer_types": ["full_attention"] * 4 + ["chunked_attention"]},
        {"model_type": "modernbert", "rope_parameters": {"full_attention": {"rope_type": "yarn"}}},
        {"model_type": "modernbert", "rope_parameters": {"sliding_attention": {"rope_type": "yarn"}}},
    ],
)
def test_what_no_family_here_can_run_is_left_to_others(config):
    assert read_network(Path("c"), SIZES | config, "cls", normalize=False) is None


@pytest.mark.parametrize("key", SIZES)
def test_a_size_is_a_whole_number_from_one(key):
    for wrong in (0, -1, 2.0, "2", True, None):
        with pytest.raises(InputError, match=f"{key} in c is not a whole number above 0; fetch the model again"):
            read_network(Path("c"), SIZES | {"model_type": "bert", key: wrong}, "cls", normalize=False)
    assert read_network(Path("c"), SIZES | {"model_type": "bert", key: 1}, "cls", normalize=False)


def test_epsilon_is_a_number():
    for wrong in (True, "1e-12", None):
        with pytest.raises(InputError, match="c gives no number for layer_norm_eps; fetch the model again"):
            read_network(Path("c"), SIZES | {"model_type": "bert", "layer_norm_eps": wrong}, "cls", normalize=False)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda w: {n: a for n, a in w.items() if n != "encoder.relative_attention_bias.weight"}, "lack encoder.rel"),
        (lambda w: w | {"embeddings.token_type_embeddings.weight": w["embeddings.LayerNorm.weight"][None]}, "hold emb"),
        (lambda w: w | {"encoder.layer.0.attention.self.query.weight": w["pooler"]}, "hold encoder.layer.0.attention"),
    ],
)
def test_weights_of_an_mpnet_that_are_missing_or_too_many_are_told(edit, told, tmp_path):
    folder = make_mpnet(tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    weights["pooler"] = weights["encoder.layer.0.attention.attn.q.weight"].copy()
    edited = {name: array for name, array in edit(weights).items() if name != "pooler"}
    save_file(edited, folder / "model.safetensors")
    with pytest.raises(InputError) as refused:
        encoder_of(folder, tmp_path).encode(["virus"])
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("make", "changed", "told"),
    [
        (make_modernbert, {"vocab_size": 80}, "embeddings.tok_embeddings.weight has the shape (75,"),
        (make_modernbert, {"num_hidden_layers": 10**9}, "gives 1e+09 for num_hidden_layers, and no encoder has more"),
        (make_modernbert, {"max_position_embeddings": 10**12}, "gives 1e+12 for max_position_embeddings, and no"),
        (make_modernbert, {"local_attention": 10**300}, "gives 1e+300 for local_attention, and no encoder"),
        (make_modernbert, {"hidden_size": 10**6}, ", and the config.json says (75, 1000000)"),
        (make_modernbert, {"num_attention_heads": 10**7}, "don't fit its config.json"),
        (make_multilingual, {"num_hidden_layers": 10**9}, "gives 1e+09 for num_hidden_layers, and no encoder has more"),
        (make_multilingual, {"num_hidden_layers": 1000}, "they lack encoder.layer."),
        (make_multilingual, {"max_position_embeddings": 9999}, "embeddings.position_embeddings.weight has the shape"),
        (make_modernbert, {"num_hidden_layers": 6}, "they hold layers.6.attn.Wo.weight"),
        (make_modernbert, {"num_attention_heads": 5}, "don't fit its config.json"),
        (make_modernbert, {"global_attn_every_n_layers": 0}, "config.json holds a value of the wrong kind"),
        (make_modernbert, {"local_attention": "wide"}, "config.json holds a value of the wrong kind"),
        (make_modernbert, {"rope_parameters": [1]}, "config.json holds a value of the wrong kind"),
        (make_multilingual, {"pad_token_id": "one"}, "config.json holds a value of the wrong kind"),
        (make_multilingual, {"position_embedding_type": "relative_key"}, "with relative positions, which ses can't"),
    ],
)
def test_what_a_configuration_says_wrongly_is_told(make, changed, told, tmp_path):
    folder = make(tmp_path / "m")
    change(folder, **changed)
    with pytest.raises(InputError) as refused:
        encoder_of(folder, tmp_path).encode(["virus"])
    assert told in str(refused.value)
