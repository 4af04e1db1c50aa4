"""The folder of a network: what its configuration, its own card and its tokenizer's settings say."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file

from encoders.layouts.network_writing import card_of, write_network
from encoders.models.folder import bert_config
from encoders.models.formats import Format
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer
from tests.tiny import make_model


@pytest.mark.parametrize(("architecture", "padding", "types"), [("bert", 0, 2), ("roberta", 1, 1)])
def test_the_configuration_is_that_of_the_folder_it_came_from(architecture, padding, types, tmp_path):
    model = find_model(str(make_model(tmp_path / "m", architecture=architecture, width=32, layers=3)))
    weights = model.read()
    given = json.loads((tmp_path / "m" / "config.json").read_text())
    assert (given["pad_token_id"], given["type_vocab_size"]) == (padding, types)
    training = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02}
    assert bert_config(model.card, weights) == given | training


def test_its_own_card_says_how_vectors_are_made_and_compared(tmp_path):
    card = find_model(str(make_model(tmp_path / "m"))).card
    network = replace(card.network, pooling="mean", normalize=True)
    card = replace(
        card, network=network, similarity="dot", separator="|", empty_parts="kept", max_tokens=77, prompts={}
    )
    told = {"pooling": "mean", "normalize": True, "similarity": "dot", "separator": "|", "empty_parts": "kept"}
    told |= {"max_tokens": 77}
    assert card_of(card) == told | {"prompts": {}}
    assert card_of(replace(card, prompts={Format.QRY: "find: "})) == told | {"prompts": {"qry": "find: "}}


@pytest.mark.parametrize("added", [(), ("[PRX]", "[QRY]")])
def test_all_files_are_written(added, tmp_path):
    folder = make_model(tmp_path / "m")
    settings = {"sep_token": "[SEP]", "additional_special_tokens": ["[X]"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "vocab.txt").write_text("words")
    (folder / "notes.txt").write_text("not of the tokenizer")
    model, out = find_model(str(folder)), tmp_path / "deep" / "out"
    tokenizer = load_tokenizer(folder, model.card)
    write_network(out, {"a": np.ones((2, 3))}, {"model_type": "bert"}, {"pooling": "cls"}, folder, tokenizer, added)
    files = {
        "config.json",
        "model.safetensors",
        "ses_card.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    }
    assert {path.name for path in out.iterdir()} == files
    assert json.loads((out / "config.json").read_text()) == {"model_type": "bert"}
    assert json.loads((out / "ses_card.json").read_text()) == {"pooling": "cls"}
    words = json.loads((out / "tokenizer_config.json").read_text())
    assert words == settings | {"additional_special_tokens": ["[X]", *added]}
    assert (out / "vocab.txt").read_text() == "words"
    assert load_tokenizer(out, model.card).get_vocab() == tokenizer.get_vocab()
    (array,) = load_file(out / "model.safetensors").values()
    assert (array.tolist(), array.dtype) == (np.ones((2, 3)).tolist(), np.float32)
