"""Control codes: tokens and rows that are added, and a folder that transformers reads as ses does."""

from __future__ import annotations

import json

import numpy as np
import pytest

from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer
from tests.encoders.checkpoints.files import save
from tests.tiny import make_model
from training.trainables.codes import CODES

WORDS = "embeddings.word_embeddings.weight"
TEXTS = ["virus lung cell [SEP] protein gene", "galaxy star", ""]
SORTED = [Format.CLF, Format.PRX, Format.QRY, Format.RGN]
"""By their codes, the order in which SciRepEval's training adds them."""


def written(base, folder, formats=tuple(Format)):
    model = find_model(str(base))
    CODES.write(model, formats, {**model.read(), **CODES.start(model, formats, {"frozen": 0}, 7)}, folder)
    return folder


def test_codes_are_tokens_with_rows_after_those_of_the_base(tmp_path):
    base = make_model(tmp_path / "base")
    model = find_model(str(written(base, tmp_path / "codes")))
    plain, tokenizer = find_model(str(base)), load_tokenizer(model.folder, model.card)
    words, before = model.read()[WORDS], plain.read()[WORDS]
    first = len(before)
    np.testing.assert_array_equal(words[:first], before)
    assert [tokenizer.encode(f"{one.code} virus").ids[1] for one in SORTED] == [first + i for i in range(4)]
    assert model.card.network.vocabulary == len(words) == first + 4
    assert (model.card.network.pooling, model.card.prompts[Format.RGN]) == ("code", "[RGN] ")
    # N(0, 0.02), a row its own.
    assert 0.01 < words[first:].std() < 0.04
    assert len(np.unique(words[first:], axis=0)) == 4


def test_only_the_codes_of_the_tasks_are_added(tmp_path):
    model = find_model(str(written(make_model(tmp_path / "base"), tmp_path / "codes", (Format.CLF, Format.PRX))))
    assert model.card.formats == (Format.CLF, Format.PRX)
    assert list(model.card.prompts.values()) == ["[CLF] ", "[PRX] "]
    assert CODES.trained(model.card, {"frozen": 1}, model.read()) == {WORDS: model.card.network.vocabulary - 2}


def test_rows_that_no_token_names_fall_away(tmp_path):
    base = make_model(tmp_path / "base")
    config, weights = json.loads((base / "config.json").read_text()), dict(find_model(str(base)).read())
    words = weights[WORDS]
    (base / "config.json").write_text(json.dumps(config | {"vocab_size": len(words) + 9}))
    save(base / "model.safetensors", weights | {WORDS: np.concatenate([words, np.ones_like(words[:9])])})
    model = find_model(str(written(base, tmp_path / "codes")))
    np.testing.assert_array_equal(model.read()[WORDS][:-4], words)
    assert load_tokenizer(model.folder, model.card).encode("[CLF]").ids[1] == len(words)


def test_a_base_of_older_files_keeps_its_tokenizer(tmp_path):
    base = make_model(tmp_path / "base")
    vocabulary = json.loads((base / "tokenizer.json").read_text())["model"]["vocab"]
    (base / "tokenizer.json").unlink()
    (base / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.__getitem__)))
    (base / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32, "do_lower_case": True}))
    (base / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    plain, model = find_model(str(base)), find_model(str(written(base, tmp_path / "codes")))
    theirs, ours = (load_tokenizer(one.folder, one.card) for one in (plain, model))
    assert ours.encode("[PRX] Virus Lung").tokens == ["[CLS]", "[PRX]", *theirs.encode("Virus Lung").tokens[1:]]
    assert "virus" in ours.encode("Virus").tokens
    assert model.card.max_tokens == 32


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_transformers_reads_the_same_vectors(tmp_path):
    import torch
    from transformers import AutoModel, AutoTokenizer

    base = make_model(tmp_path / "base")
    (base / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "pad_token": "[PAD]"}))
    folder = written(base, tmp_path / "codes")
    made = load_encoder(str(folder), cache_dir=tmp_path / "cache", precision="fp32").encode_formats(TEXTS, SORTED)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    assert set(tokenizer.all_special_tokens) >= {one.code for one in Format}
    for task_format, vectors in made.items():
        # As SciRepEval's evaluation does: the code before the text, and the state at index 1.
        batch = tokenizer([f"{task_format.code} {text}" for text in TEXTS], padding=True, return_tensors="pt")
        with torch.no_grad():
            states = model(batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
        np.testing.assert_allclose(vectors, states[:, 1].numpy(), atol=1e-5)
