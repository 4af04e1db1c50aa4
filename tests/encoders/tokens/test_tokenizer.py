"""What the tokenizer makes of files and of any text at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from encoders.layouts.huggingface import read_card
from encoders.tokens.tokenizer import AddedToken, load_tokenizer, read_added, well_formed
from tests.encoders.checkpoints import make_multilingual
from tests.tiny import CODES, SPECIAL, WORDS, make_model

VOCABULARY = [*SPECIAL, *WORDS, "##s", "[", "]", "."]
ADDED = {"[PRX]": len(VOCABULARY), "[CLF]": len(VOCABULARY) + 1, "[RGN]": len(VOCABULARY) + 2}
ADDED["[QRY]"] = len(VOCABULARY) + 3
FLAGS = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
AS_SAVED = {
    "ids": {"added_tokens.json": ADDED},
    "ids and what is special": {
        "added_tokens.json": ADDED,
        "special_tokens_map.json": {"additional_special_tokens": list(CODES), "sep_token": "[SEP]"},
    },
    "ids, and what is special in the configuration": {
        "added_tokens.json": ADDED,
        "tokenizer_config.json": {"do_lower_case": True, "additional_special_tokens": list(CODES)},
    },
    "all in the configuration": {
        "tokenizer_config.json": {
            "do_lower_case": True,
            "tokenizer_class": "BertTokenizer",
            "added_tokens_decoder": {str(number): {"content": code} | FLAGS for code, number in ADDED.items()},
        }
    },
    "names alone": {"special_tokens_map.json": {"additional_special_tokens": list(ADDED)}},
}
"""Ways that releases of transformers saved control codes beside a `vocab.txt`."""


def tokenizer_of(folder):
    return load_tokenizer(folder, read_card(folder, "tiny", ""))


@pytest.fixture
def folder(tmp_path):
    return make_model(tmp_path / "m")


def only_vocabulary(folder, words):
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")


def saved(folder, files):
    only_vocabulary(folder, VOCABULARY)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": len(VOCABULARY) + len(CODES)}))
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize("how", AS_SAVED)
def test_tokens_added_to_a_vocabulary_have_their_ids(how, folder):
    tokenizer = tokenizer_of(saved(folder, AS_SAVED[how]))
    ids = tokenizer.encode("[PRX] Virus cells[QRY] [SEP] lung").ids
    tokens = ["[CLS]", "[PRX]", "virus", "cell", "##s", "[QRY]", "[SEP]", "lung", "[SEP]"]
    assert ids == [ADDED[token] if token in ADDED else VOCABULARY.index(token) for token in tokens]


READ = {
    "none": ({}, ()),
    "ids, out of order, and names without one": (
        {
            "added_tokens.json": {"<b>": 9, "<a>": 0, "<c>": 4},
            "special_tokens_map.json": {
                "extra_special_tokens": {"x": {"content": "<c>"}, "y": "<z>"},
                "sep_token": "|",
            },
            "tokenizer_config.json": {"additional_special_tokens": ["<y>", "<z>", "", None, {}]},
        },
        (
            AddedToken("<a>", 0, special=False),
            AddedToken("<c>", 4, special=True),
            AddedToken("<b>", 9, special=False),
            AddedToken("<y>", None, special=True),
            AddedToken("<z>", None, special=True),
        ),
    ),
    "the decoder wins": (
        {
            "added_tokens.json": {"<b>": 9},
            "tokenizer_config.json": {
                "extra_special_tokens": ["<a>", "<d>"],
                "additional_special_tokens": 7,
                "added_tokens_decoder": {
                    "12": {"content": "<a>", "special": True, "lstrip": True, "normalized": False, "rstrip": 1},
                    "999999999": {"content": "<c>", "special": "yes", "single_word": True},
                    "3": {"content": "<b>"},
                },
            },
        },
        (
            AddedToken("<b>", 3, special=False),
            AddedToken("<a>", 12, special=True, flags=(("lstrip", True), ("normalized", False))),
            AddedToken("<c>", 999_999_999, special=False, flags=(("single_word", True),)),
            AddedToken("<d>", None, special=True),
        ),
    ),
}


@pytest.mark.parametrize("how", READ)
def test_added_tokens_are_read_by_id_with_all_that_is_told_of_them(how, tmp_path):
    files, expected = READ[how]
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    assert read_added(tmp_path) == expected


@pytest.mark.parametrize(
    "decoder",
    [
        {"1000000000": {"content": "<a>"}},
        {"": {"content": "<a>"}},
        {"-1": {"content": "<a>"}},
        {"1": {"content": ""}},
        {"1": {}},
    ],
)
def test_a_decoder_without_ids_or_tokens_is_told(decoder, tmp_path):
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    with pytest.raises(InputError, match=r"tokenizer_config\.json doesn't tell its added tokens by id"):
        read_added(tmp_path)


@pytest.mark.parametrize("ids", [{"": 3}, {"<a>": True}, {"<a>": 1.0}])
def test_added_tokens_without_whole_ids_are_told(ids, tmp_path):
    (tmp_path / "added_tokens.json").write_text(json.dumps(ids))
    with pytest.raises(InputError, match=r"added_tokens\.json doesn't tell its added tokens by id"):
        read_added(tmp_path)


@pytest.mark.torch
@pytest.mark.parametrize("how", AS_SAVED)
@pytest.mark.parametrize("text", ["[CLF] Virus, cells.", "VIRUS[QRY]lung [SEP] b", "x  [RGN]  y", "[PRX]", ""])
def test_added_tokens_are_those_of_transformers(how, text, folder):
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(saved(folder, AS_SAVED[how]))
    assert tokenizer_of(folder).encode(text).ids == theirs(text)["input_ids"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"added_tokens.json": {"[PRX]": 99}}, "gives its token [PRX] the id 99, and its vocabulary ends elsewhere;"),
        ({"added_tokens.json": {"[PRX]": "99"}}, "added_tokens.json doesn't tell its added tokens by id; fetch"),
        ({"added_tokens.json": ["[PRX]"]}, "added_tokens.json doesn't hold what a model folder's added_tokens.json"),
        (
            {"tokenizer_config.json": {"added_tokens_decoder": ["[PRX]"]}},
            "tokenizer_config.json doesn't tell its added",
        ),
        ({"tokenizer_config.json": {"added_tokens_decoder": {"9": "[PRX]"}}}, "tokenizer_config.json doesn't tell its"),
    ],
)
def test_added_tokens_that_can_not_be_are_told(files, message, folder):
    with pytest.raises(InputError) as refused:
        tokenizer_of(saved(folder, files))
    assert message in str(refused.value)


@pytest.mark.parametrize(("fold", "word"), [(True, "virus"), (False, "[UNK]")])
def test_sentence_transformers_folds_case_before_a_tokenizer_that_keeps_it(fold, word, folder):
    file = json.loads((folder / "tokenizer.json").read_text())
    file["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(file))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"do_lower_case": fold}))
    assert tokenizer_of(folder).encode("VIRUS [SEP] lung").tokens == ["[CLS]", word, "[SEP]", "lung", "[SEP]"]


@pytest.mark.parametrize(("lowercase", "word"), [(True, "virus"), (False, "[UNK]")])
def test_a_vocabulary_alone_is_enough(lowercase, word, folder):
    only_vocabulary(folder, [*SPECIAL, *WORDS, "##s", "."])
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lowercase}))
    tokens = tokenizer_of(folder).encode("VIRUS cells. [SEP] lung").tokens
    assert tokens == ["[CLS]", word, "cell", "##s", ".", "[SEP]", "lung", "[SEP]"]


def test_cutting_and_padding_that_the_file_presets_are_overridden(folder):
    file = json.loads((folder / "tokenizer.json").read_text())
    file["truncation"] = {"max_length": 5, "strategy": "LongestFirst", "stride": 2, "direction": "Left"}
    pad = {"strategy": {"Fixed": 200}, "direction": "Left", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    file["padding"] = pad | {"pad_to_multiple_of": 8}
    (folder / "tokenizer.json").write_text(json.dumps(file))
    tokenizer = tokenizer_of(folder)
    short, long = tokenizer.encode_batch(["virus lung cell protein gene", "virus " + "lung " * 300])
    assert short.tokens == ["[CLS]", "virus", "lung", "cell", "protein", "gene", "[SEP]"]
    assert long.tokens == ["[CLS]", "virus", *["lung"] * 300, "[SEP]"]


def test_separators_and_control_codes_in_a_text_are_special_tokens(tmp_path):
    tokenizer = tokenizer_of(make_model(tmp_path / "m", codes=True))
    assert tokenizer.encode("[PRX] virus [SEP] lung [CLF]").tokens == (
        ["[CLS]", "[PRX]", "virus", "[SEP]", "lung", "[CLF]", "[SEP]"]
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\n",
        "病毒 感染",
        "فيروس الرئة",
        "\u202evirus\u202c",
        "\0\x01\x7f",
        "e\u0301",
        "\U0001f9ec\u200d",
        "\ufffd" * 9,
    ],
)
def test_odd_texts_keep_their_ends(text, folder):
    tokens = tokenizer_of(folder).encode(text).tokens
    assert (tokens[0], tokens[-1]) == ("[CLS]", "[SEP]")
    assert not text.strip("\ufffd \t\n\0\x01\x7f") or len(tokens) > 2


@pytest.mark.parametrize(
    ("text", "tokens"), [("virus " * 16_667, 16_669), ("x" * 100_000, 3), ("病" * 100_000, 100_002)]
)
def test_a_text_of_100_000_characters_is_not_cut_here(text, tokens, folder):
    assert len(tokenizer_of(folder).encode(text).ids) == tokens


def test_lone_surrogates_are_replaced_and_pairs_are_joined(folder):
    assert well_formed("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert well_formed(json.loads(r'"\ud83e\uddec"') + "\ud83e" + "\uddec") == "🧬🧬"
    assert tokenizer_of(folder).encode(well_formed("virus \ud800")).tokens == ["[CLS]", "virus", "[SEP]"]


@given(st.text(st.characters(exclude_categories=[])))
def test_well_formed_text_is_valid_unicode_and_valid_unicode_stays(text):
    well_formed(text).encode("utf-8")
    assert well_formed(well_formed(text)) == well_formed(text)
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert well_formed(text) == text


def test_a_folder_without_tokenizer_files_is_told(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError) as refused:
        tokenizer_of(folder)
    assert str(refused.value) == f"{folder} has no tokenizer.json: fetch the complete model."


def test_a_roberta_vocabulary_alone_is_not_enough(tmp_path):
    folder = make_model(tmp_path / "m", architecture="roberta")
    only_vocabulary(folder, WORDS)
    with pytest.raises(InputError, match=r"has no tokenizer\.json"):
        tokenizer_of(folder)


def test_a_vocabulary_of_sentencepiece_says_how_to_get_a_tokenizer(tmp_path):
    folder = make_multilingual(tmp_path / "m")
    (folder / "tokenizer.json").rename(folder / "sentencepiece.bpe.model")
    with pytest.raises(InputError) as refused:
        tokenizer_of(folder)
    assert str(refused.value) == (
        f"{folder} has no tokenizer.json, only sentencepiece.bpe.model: let transformers write one, with `pip install "
        "transformers sentencepiece` and AutoTokenizer.from_pretrained(folder).save_pretrained(folder)."
    )


@pytest.mark.parametrize("content", ["{}", '{"version": "1.0", "model": 3}', '{"added_tokens": 3}'])
def test_a_damaged_tokenizer_is_told(content, folder):
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match=r"The tokenizer in .* can't be read \(.*\); fetch the model again\."):
        tokenizer_of(folder)


def test_a_vocabulary_without_special_tokens_is_told(folder):
    only_vocabulary(folder, WORDS)
    with pytest.raises(InputError, match=r"The tokenizer in .* can't be read \(.*\); fetch the model again\."):
        tokenizer_of(folder)


def test_a_tokenizer_that_adds_no_special_tokens_is_told(folder):
    file = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(file | {"post_processor": None}))
    with pytest.raises(InputError, match="adds no special tokens, which encoders need"):
        tokenizer_of(folder)


def test_a_file_at_which_the_library_panics_is_told(folder):
    file = json.loads((folder / "tokenizer.json").read_text())
    file["post_processor"]["single"][0]["SpecialToken"]["id"] = "[NONE]"
    (folder / "tokenizer.json").write_text(json.dumps(file))
    with pytest.raises(InputError, match=r"The tokenizer in .* can't be read \(.*\); fetch the model again\."):
        tokenizer_of(folder)
