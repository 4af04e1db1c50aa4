"""The graph against formulas written twice elsewhere: in numpy (oracle.py) and in transformers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.registry import find_model
from tests.encoders.oracle import Oracle
from tests.tiny import WORDS, make_model

# Padded together in one batch: nothing, a word, a sentence, and one cut at the tiny model's 128 tokens.
TEXTS = ["", "virus", " ".join(WORDS[:17]), " ".join(WORDS * 4), "unknownword, cells."]


def encoder_of(folder, tmp_path, precision="fp32", **card):
    if card:
        (folder / "ses_card.json").write_text(json.dumps(card))
    return load_encoder(str(folder), cache_dir=tmp_path / "cache", precision=precision, threads=1)


def token_ids(encoder, texts):
    prompts = [encoder.card.prompt(text, encoder.card.formats[0]) for text in texts]
    rows = [encoding.ids for encoding in encoder.tokenizer.encode_batch(prompts)]
    # The papers keep the start of a long text, and its last special token.
    limit = encoder.card.max_tokens
    return [row if len(row) <= limit else [*row[: limit - 1], row[-1]] for row in rows]


def cosine(a, b):
    return (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("pooling", ["cls", "mean", "code"])
@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_fp32_is_what_the_papers_formulas_give(architecture, pooling, normalize, tmp_path):
    folder = make_model(tmp_path / "m", codes=pooling == "code", architecture=architecture)
    encoder = encoder_of(folder, tmp_path, pooling=pooling, normalize=normalize)
    oracle = Oracle(folder)
    ids = token_ids(encoder, TEXTS)
    assert max(map(len, ids)) == encoder.card.max_tokens == (126 if architecture == "roberta" else 128)
    expected = [oracle.vector(row, pooling, normalize=normalize) for row in ids]
    np.testing.assert_allclose(encoder.encode(TEXTS, encoder.card.formats[0]), expected, atol=1e-5)


def test_names_of_task_heads_and_of_old_layer_norms_are_understood(tmp_path):
    plain, headed = make_model(tmp_path / "plain"), make_model(tmp_path / "headed")
    weights = {
        "bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): array
        for name, array in load_file(plain / "model.safetensors").items()
    }
    others = {"bert.embeddings.position_ids": np.arange(128)[None], "cls.predictions.bias": np.zeros(3, np.float32)}
    save_file(weights | others, headed / "model.safetensors")
    expected = encoder_of(plain, tmp_path).encode(TEXTS)
    np.testing.assert_array_equal(encoder_of(headed, tmp_path).encode(TEXTS), expected)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_int8_stays_close_to_fp32_on_a_random_model(pooling, tmp_path):
    folder = make_model(tmp_path / "m")
    fp32, int8 = (encoder_of(folder, tmp_path, kind, pooling=pooling).encode(TEXTS) for kind in ("fp32", "int8"))
    assert not np.array_equal(fp32, int8)
    assert cosine(fp32, int8).mean() >= 0.99


@pytest.mark.slow
def test_int8_stays_close_to_fp32_on_the_real_model(minilm, sentences):
    fp32, int8 = (minilm("onnx", precision).encode(sentences) for precision in ("fp32", "int8"))
    assert not np.array_equal(fp32, int8)
    assert cosine(fp32, int8).mean() >= 0.99


@pytest.mark.torch
@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_fp32_equals_transformers(architecture, tmp_path):
    import torch
    from transformers import AutoModel

    folder = make_model(tmp_path / "m", architecture=architecture)
    encoder = encoder_of(folder, tmp_path, pooling="cls", normalize=False)
    ids = [torch.tensor(row) for row in token_ids(encoder, TEXTS)]
    pad = 1 if architecture == "roberta" else 0
    padded = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=pad)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in ids], batch_first=True)
    with torch.inference_mode():
        expected = AutoModel.from_pretrained(folder)(input_ids=padded, attention_mask=mask).last_hidden_state[:, 0]
    np.testing.assert_allclose(encoder.encode(TEXTS), expected.numpy(), atol=1e-4)


@pytest.mark.parametrize(
    ("runtime", "precision"),
    [("onnx", "fp32"), ("onnx", "int8"), pytest.param("openvino", "fp32", marks=pytest.mark.openvino)],
)
def test_weights_lie_in_a_file_that_sessions_map(runtime, precision, tmp_path):
    folder = make_model(tmp_path / "m")
    load_encoder(str(folder), cache_dir=tmp_path / "c", runtime=runtime, precision=precision, threads=1).encode(TEXTS)
    files = {file.name: file.stat().st_size for file in (tmp_path / "c").rglob("*") if file.is_file()}
    kept = {"onnx": {"model.onnx", "model.onnx.data"}, "openvino": {"model.xml", "model.bin"}}
    assert files.keys() == kept[runtime]
    if runtime == "onnx":
        words = load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"]
        assert files["model.onnx.data"] > words.nbytes


@pytest.mark.torch
def test_a_folder_that_transformers_wrote_is_read(tmp_path):
    import torch
    from transformers import BertConfig, BertModel

    folder = make_model(tmp_path / "m")
    torch.manual_seed(0)
    config = json.loads((folder / "config.json").read_text())
    model = BertModel(BertConfig(**{key: config[key] for key in ("hidden_size", "num_attention_heads", "vocab_size")}))
    model.eval().save_pretrained(folder)  # 12 layers of BERT's own size and 512 positions, by default
    encoder = encoder_of(folder, tmp_path)
    with torch.inference_mode():
        rows = [model(torch.tensor([row])).last_hidden_state[0, 0].numpy() for row in token_ids(encoder, TEXTS)]
    np.testing.assert_allclose(encoder.encode(TEXTS), rows, atol=1e-4)


@pytest.mark.torch
def test_the_real_model_equals_transformers_up_to_its_256_tokens(minilm, sentences):
    from transformers import AutoModel, AutoTokenizer

    folder = find_model("all-MiniLM-L6-v2").folder
    tokenizer = AutoTokenizer.from_pretrained(folder)
    encoded = tokenizer(sentences, padding=True, truncation=True, max_length=256, return_tensors="pt")
    lengths = encoded["attention_mask"].sum(dim=1)
    assert lengths.max() == 256 > 20 > lengths.min()
    hidden = AutoModel.from_pretrained(folder).eval()(**encoded).last_hidden_state.detach().numpy()
    mask = encoded["attention_mask"].numpy()[:, :, None]
    mean = (hidden * mask).sum(axis=1) / mask.sum(axis=1)
    expected = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    np.testing.assert_allclose(minilm("onnx", "fp32").encode(sentences), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"position_embedding_type": "relative_key"}, "bert model with relative positions, which ses can't run"),
        ({"num_hidden_layers": 3}, "fit its config.json: they lack encoder.layer.2.attention.output.LayerNorm.bias, "),
        ({"num_hidden_layers": 1}, "they hold encoder.layer.1.attention.output.LayerNorm.bias, "),
        ({"hidden_size": 32}, "don't fit its config.json"),
        ({"num_attention_heads": 5}, "don't fit its config.json"),
        ({"max_position_embeddings": 512}, "has the shape (128, 64), and the config.json says (512, 64)"),
        ({"layer_norm_eps": "small"}, "gives no number for layer_norm_eps; fetch the model again"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(changed, message, tmp_path):
    folder = make_model(tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changed))
    with pytest.raises(InputError) as refused:
        encoder_of(folder, tmp_path).encode(["virus"])
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
