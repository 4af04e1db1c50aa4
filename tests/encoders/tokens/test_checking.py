"""Tokenizers of others: what takes time or memory without end is refused in a sentence, without a crash."""

import base64
import json
import struct

import pytest

from corpora.errors import InputError
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer, tokenized
from tests.tiny import make_model


def model_with(folder, **changes):
    """Return a tiny model whose `tokenizer.json` is changed."""
    model = find_model(str(make_model(folder / "model")))
    path = model.folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return model


def loaded(model, cache_dir=None):
    return load_tokenizer(model.folder, model.card, cache_dir)


def replacing(pattern, content, times=1):
    steps = [{"type": "Replace", "pattern": pattern, "content": content}] * times
    return {"type": "Sequence", "normalizers": steps}


def splitting(expression):
    return {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}


def charsmap(longest):
    # An empty trie, and the replacements that one of sentencepiece would point to.
    return base64.b64encode(struct.pack("<I", 4) + bytes(4) + b"a\0" + b"x" * longest + b"\0").decode()


@pytest.mark.parametrize(
    "normalizer",
    [
        replacing({"String": "a"}, "a" * 10, 10),
        replacing({"String": "ab"}, "ab" * 5000),
        replacing({"Regex": "(?=\u0416)"}, "\u0416", 40),
        {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 40},
        {"type": "Prepend", "prepend": "a" * 5000},
        {"type": "Precompiled", "precompiled_charsmap": charsmap(5000)},
    ],
)
def test_what_makes_texts_without_end_is_refused(tmp_path, normalizer):
    with pytest.raises(InputError, match="can make texts so long that they take all memory; fetch the model from a"):
        loaded(model_with(tmp_path, normalizer=normalizer))


def test_added_tokens_that_grow_are_refused(tmp_path):
    token = {"id": 9, "content": "a" * 200_000, "special": False, "normalized": True}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    normalizer = replacing({"String": "a"}, "a" * 2000)
    with pytest.raises(InputError, match="take all memory"):
        loaded(model_with(tmp_path, normalizer=normalizer, added_tokens=[token | flags]))


@pytest.mark.parametrize("expression", ["(a|aa)+$", r"(\w|\w\w)+$", "(xyz|xyzxyz)+$"])
def test_an_expression_that_takes_too_long_is_refused(tmp_path, capfd, expression):
    with pytest.raises(InputError, match=r"fails on texts that are hard for its patterns \(.*retry-limit"):
        loaded(model_with(tmp_path, pre_tokenizer=splitting(expression)))
    assert capfd.readouterr() == ("", "")


def test_usual_expressions_are_tried_once(tmp_path, monkeypatch):
    model = model_with(tmp_path, pre_tokenizer=splitting(r"'s|'t| ?\w+| ?[^\s\w]+|\s+(?!\S)|\s+"))
    ids = loaded(model, tmp_path / "cache").encode("a b").ids
    monkeypatch.setattr("subprocess.run", None)
    assert loaded(model, tmp_path / "cache").encode("a b").ids == ids
    with pytest.raises(TypeError):
        loaded(model)
    path = model.folder / "tokenizer.json"
    path.write_text(path.read_text() + " ")
    with pytest.raises(TypeError):
        loaded(model, tmp_path / "cache")


def test_a_tokenizer_without_expressions_is_not_tried(tmp_path, monkeypatch):
    monkeypatch.setattr("subprocess.run", None)
    steps = [{"type": "NFKD"}, {"type": "Precompiled", "precompiled_charsmap": charsmap(18)}]
    loaded(model_with(tmp_path, normalizer={"type": "Sequence", "normalizers": steps[:1]}))
    loaded(model_with(tmp_path / "plain"))


def test_a_text_on_which_a_tokenizer_fails_is_told(tmp_path):
    # The rare letter is written as a number, so that no trial has it.
    tokenizer = loaded(model_with(tmp_path, pre_tokenizer=splitting(r"(\u0436|\u0436\u0436)+$")))
    assert len(tokenized(tokenizer, ["a", "b"])) == 2
    with pytest.raises(InputError, match=r"The model's tokenizer fails on a text \(.*retry-limit"):
        tokenized(tokenizer, ["\u0436" * 2000 + "!"])


def test_padding_without_end_is_not_done(tmp_path):
    pad = {"direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]", "pad_to_multiple_of": None}
    model = model_with(tmp_path, padding=pad | {"strategy": {"Fixed": 1 << 40}})
    assert len(loaded(model).encode("").ids) == 2


def test_more_special_tokens_than_a_text_has_are_refused(tmp_path):
    model = model_with(tmp_path)
    path = model.folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["post_processor"]["single"] *= 40
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="special tokens to each text; fetch the model again"):
        loaded(model)
