"""What each file of a model folder says, which of it wins, and what it says wrongly."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from corpora.errors import InputError
from encoders.layouts.huggingface import read_card
from encoders.layouts.own_card import CARD_FILE, with_own_card
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.tiny import make_model


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def change(path, **values):
    write(path, json.loads(path.read_text()) | values)


def card_of(folder):
    return with_own_card(read_card(folder, "tiny", "00ff"), folder)


@pytest.fixture
def folder(tmp_path):
    return make_model(tmp_path / "m")


def modules(folder, *kinds, **pooling):
    paths = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    rows = [{"type": f"sentence_transformers.models.{kind}", "path": paths.get(kind, kind)} for kind in kinds]
    write(folder / "modules.json", rows)
    write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 64} | pooling)


PARTS = [("T", "A"), ("T", ""), ("", "A"), ("", ""), ("T", None)]


def test_a_plain_folder_is_read_as_specter_is(folder):
    card = card_of(folder)
    assert (card.name, card.family, card.dimension, card.max_tokens) == ("tiny", "bert", 64, 128)
    assert (card.network.pooling, card.network.normalize, card.similarity) == ("cls", False, "l2")
    assert (card.separator, card.lowercase, card.licence, card.weights_sha256) == ("[SEP]", True, "", "00ff")
    assert card.formats == tuple(Format)
    assert card.passes(Format) == [tuple(Format)]
    assert card.text("T", "A") == "T [SEP] A"
    assert (card.text("T", ""), card.text("", "A"), card.text("", "")) == ("T", "A", "")
    assert card.prompt("T", Format.CLF) == "T"


def test_formats_that_have_the_same_vector_count_once(folder):
    plain = card_of(folder)
    assert plain.distinct(Format) == (Format.CLF,)
    assert plain.distinct([Format.PRX, Format.CLF]) == (Format.PRX,)
    prompted = replace(plain, prompts={Format.CLF: "Label: "})
    assert prompted.distinct([Format.PRX, Format.CLF, Format.RGN, Format.QRY]) == (Format.PRX, Format.CLF)
    headed = replace(plain, heads={Format.PRX: "base", Format.RGN: "numbers"})
    assert headed.distinct([Format.CLF, Format.PRX, Format.RGN]) == (Format.PRX, Format.RGN)
    assert headed.origin(Format.RGN) == ("numbers", "")
    with pytest.raises(InputError, match="has no clf vectors, only prx, rgn"):
        headed.origin(Format.CLF)


def test_a_roberta_folder_has_fewer_positions_and_another_separator(tmp_path):
    card = card_of(make_model(tmp_path / "m", architecture="roberta"))
    assert (card.family, card.max_tokens, card.text("T", "A")) == ("roberta", 126, "T </s> A")
    write(tmp_path / "m" / CARD_FILE, {"max_tokens": 126})
    assert card_of(tmp_path / "m").max_tokens == 126
    write(tmp_path / "m" / CARD_FILE, {"max_tokens": 127})
    with pytest.raises(InputError, match="asks for max_tokens 127; choose 4 to 126"):
        card_of(tmp_path / "m")


def test_control_codes_in_the_tokenizer_make_a_vector_a_format(tmp_path):
    card = card_of(make_model(tmp_path / "m", codes=True))
    assert (card.network.pooling, card.formats) == ("code", tuple(Format))
    assert card.text("T", "A") == "T [SEP] A"
    prompts = [card.prompt(card.text("T", "A"), task_format) for task_format in Format]
    assert card.passes(Format) == [(task_format,) for task_format in Format]
    assert prompts == [f"[{name}] T [SEP] A" for name in ("CLF", "RGN", "PRX", "QRY")]


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_max_tokens": False}, "cls"),
        ({"pooling_mode": "mean"}, "mean"),
        ({"pooling_mode": ["cls"]}, "cls"),
    ],
)
@pytest.mark.parametrize("normalize", [False, True])
def test_sentence_transformers_modules_say_pooling_and_normalization(pooling, expected, normalize, folder):
    modules(folder, "Transformer", "Pooling", *(["Normalize"] if normalize else []), **pooling)
    write(folder / "sentence_bert_config.json", {"max_seq_length": 100})
    card = card_of(folder)
    assert (card.network.pooling, card.network.normalize, card.similarity) == (expected, normalize, "cosine")
    assert card.max_tokens == 100


@pytest.mark.parametrize(
    ("settings", "similarity"),
    [
        ({}, "cosine"),
        ({"similarity_fn_name": None}, "cosine"),
        ({"similarity_fn_name": "cosine"}, "cosine"),
        ({"similarity_fn_name": "dot"}, "dot"),
        ({"similarity_fn_name": "euclidean"}, "l2"),
    ],
)
def test_sentence_transformers_says_how_vectors_are_compared(settings, similarity, folder):
    modules(folder, "Transformer", "Pooling", pooling_mode="mean")
    write(folder / "config_sentence_transformers.json", settings)
    assert (card_of(folder).network.normalize, card_of(folder).similarity) == (False, similarity)


def test_a_similarity_that_there_is_not_is_refused_unless_its_own_card_sets_another(folder):
    modules(folder, "Transformer", "Pooling", pooling_mode="mean")
    write(folder / "config_sentence_transformers.json", {"similarity_fn_name": "manhattan"})
    with pytest.raises(InputError) as refused:
        card_of(folder)
    assert str(refused.value) == (
        f"{folder} compares vectors by 'manhattan', which ses can't; if cosine, dot or l2 serves as well, set it as "
        f"similarity in {folder / CARD_FILE}."
    )
    write(folder / CARD_FILE, {"similarity": "l2"})
    assert card_of(folder).similarity == "l2"


@pytest.mark.parametrize("file", ["sentence_bert_config.json", "sentence_xlm-roberta_config.json"])
def test_folding_case_and_the_length_are_in_the_settings_of_the_transformer(file, folder):
    before = card_of(folder).fingerprint
    write(folder / file, {"max_seq_length": None, "do_lower_case": False})
    assert card_of(folder).fingerprint == before
    write(folder / file, {"max_seq_length": None, "do_lower_case": True})
    assert card_of(folder).fingerprint != before
    write(folder / file, {"max_seq_length": 99})
    assert card_of(folder).max_tokens == 99


def test_an_empty_part_takes_its_separator_with_it_or_leaves_it(folder):
    dropped = card_of(folder)
    assert [dropped.text(*parts) for parts in PARTS] == ["T [SEP] A", "T", "A", "", "T"]
    write(folder / CARD_FILE, {"empty_parts": "kept"})
    kept = card_of(folder)
    # SciMult's and UniPR's own: ' '.join([title, '[SEP]', abstract]); a query is none of it.
    assert [kept.text(*parts) for parts in PARTS] == ["T [SEP] A", "T [SEP] ", " [SEP] A", " [SEP] ", "T"]
    assert kept.fingerprint != dropped.fingerprint


@pytest.mark.parametrize("wanted", [None, 0, 4096, "many"])
def test_a_length_the_model_does_not_have_is_not_taken(wanted, folder):
    write(folder / "sentence_bert_config.json", {"max_seq_length": wanted})
    assert card_of(folder).max_tokens == 128


@pytest.mark.parametrize(
    "pooling",
    [
        {"pooling_mode_max_tokens": True},
        {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
        {"pooling_mode": ["mean", "cls"]},
        {"pooling_mode": "lasttoken"},
        {},
    ],
)
def test_other_poolings_are_refused(pooling, folder):
    modules(folder, "Transformer", "Pooling", **pooling)
    with pytest.raises(InputError) as refused:
        card_of(folder)
    assert str(refused.value).startswith(f"{folder} pools its tokens in a way that ses can't; it knows first-token and")


def test_other_modules_are_refused(folder):
    modules(folder, "Transformer", "Pooling", "LSTM", "CNN", pooling_mode="mean")
    with pytest.raises(InputError) as refused:
        card_of(folder)
    assert str(refused.value) == f"{folder} has sentence-transformers modules that ses can't run: CNN, LSTM."


def test_its_own_card_wins_over_all_other_files(tmp_path):
    folder = make_model(tmp_path / "m", codes=True)
    modules(folder, "Transformer", "Pooling", pooling_mode="cls")
    own = {"pooling": "mean", "normalize": True, "similarity": "dot", "separator": "|"}
    own |= {"max_tokens": 64, "licence": "MIT"}
    before = card_of(folder)
    write(folder / CARD_FILE, own)
    network = replace(before.network, pooling=own.pop("pooling"), normalize=own.pop("normalize"))
    assert card_of(folder) == replace(before, network=network, prompts={}, **own)


CODES = {Format.CLF: "[CLF] ", Format.RGN: "[RGN] ", Format.PRX: "[PRX] ", Format.QRY: "[QRY] "}


@pytest.mark.parametrize(
    ("codes", "own", "pooling", "prompts"),
    [
        (False, {"pooling": "code"}, "code", CODES),
        (False, {"pooling": "code", "prompts": {"prx": "p"}}, "code", {Format.PRX: "p"}),
        (False, {"prompts": {"qry": "q", "rgn": ""}}, "cls", {Format.QRY: "q", Format.RGN: ""}),
        (False, {"pooling": "mean"}, "mean", {}),
        (True, {"pooling": "code"}, "code", CODES),
        (True, {"normalize": True}, "code", CODES),
        (True, {"pooling": "cls"}, "cls", {}),
        (True, {"pooling": "mean", "prompts": {"clf": "c"}}, "mean", {Format.CLF: "c"}),
    ],
)
def test_pooling_at_the_code_goes_with_codes_as_prompts(codes, own, pooling, prompts, tmp_path):
    write(make_model(tmp_path / "m", codes=codes) / CARD_FILE, own)
    card = card_of(tmp_path / "m")
    assert (card.network.pooling, card.prompts) == (pooling, prompts)


@pytest.mark.parametrize("own", [{"similarity": one} for one in ("cosine", "dot", "l2")] + [{"max_tokens": 4}])
def test_its_own_card_may_set(own, folder):
    write(folder / CARD_FILE, own)
    assert card_of(folder) == replace(read_card(folder, "tiny", "00ff"), **own)


@pytest.mark.parametrize(
    ("prompts", "default", "query", "paper"),
    [
        ({"query": "q", "document": "d"}, None, "q", "d"),
        ({"search_query": "q", "passage": "d", "other": "x"}, "other", "q", "d"),
        ({"query": "q", "search_query": "x", "search_document": "d"}, None, "q", "d"),
        ({"document": "d", "passage": "x"}, "document", "d", "d"),
        ({"query": "q", "other": "x"}, "other", "q", "x"),
        ({"query": "q"}, None, "q", None),
        ({"query": "", "document": 3}, None, None, None),
        ({"query": "q"}, "none such", "q", None),
    ],
)
def test_prompts_of_sentence_transformers(prompts, default, query, paper, folder):
    write(folder / "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": default})
    wanted = {one: query if one is Format.QRY else paper for one in Format}
    assert card_of(folder).prompts == {one: text for one, text in wanted.items() if text is not None}


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"dimension": 3, "colour": "red"}, "sets colour, dimension; it may set only adapters, architecture, base, "),
        ({"pooling": "max"}, "asks for pooling 'max'; choose cls, mean or code."),
        ({"similarity": "l1"}, "asks for similarity 'l1'; choose cosine, dot or l2."),
        ({"empty_parts": "left"}, "asks for empty_parts 'left'; choose dropped or kept."),
        ({"max_tokens": 129}, "asks for max_tokens 129; choose 4 to 128."),
        ({"max_tokens": 3}, "asks for max_tokens 3; choose 4 to 128."),
        ({"max_tokens": -1}, "asks for max_tokens -1; choose 4 to 128."),
        ({"max_tokens": "64"}, "sets max_tokens to '64', which is not a whole number."),
        ({"normalize": "no"}, "sets normalize to 'no', which is not true or false."),
        ({"pooling": ["cls"]}, "sets pooling to ['cls'], which is not a string."),
        ([], "doesn't hold what a model folder's ses_card.json does; fetch the model again."),
    ],
)
def test_what_its_own_card_may_not_say(own, message, folder):
    write(folder / CARD_FILE, own)
    with pytest.raises(InputError) as refused:
        card_of(folder)
    assert str(refused.value).startswith(f"{folder / CARD_FILE} {message}")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", None, "is not a model folder: it has no config.json."),
        ("config.json", "{", "config.json can't be read as JSON ("),
        ("config.json", "\ufeff{}", "names no model_type; fetch the complete model."),
        ("config.json", "[" * 100_000, "config.json can't be read as JSON ("),
        ("config.json", "[]", "config.json doesn't hold what a model folder's config.json does"),
        ("config.json", "{}", "names no model_type; fetch the complete model."),
        ("config.json", '{"model_type": "bert"}', "config.json is not a whole number above 0;"),
        ("tokenizer.json", "[1]", "tokenizer.json doesn't hold what a model folder's tokenizer.json does"),
        ("tokenizer_config.json", "no", "tokenizer_config.json can't be read as JSON ("),
        ("modules.json", "{}", "modules.json doesn't hold what a model folder's modules.json does"),
    ],
)
def test_damaged_files_are_told_by_name(file, content, message, folder):
    (folder / file).unlink() if content is None else write(folder / file, content)
    with pytest.raises(InputError) as refused:
        card_of(folder)
    assert message in str(refused.value)


def test_a_card_hashes_itself_once_and_a_changed_one_again(folder):
    card = card_of(folder)
    assert card.fingerprint is card.fingerprint
    assert replace(card, separator="<>").fingerprint != card.fingerprint


def test_the_fingerprint_is_the_same_for_the_same_model_elsewhere(folder, tmp_path):
    assert card_of(folder) == card_of(make_model(tmp_path / "other"))


def test_the_fingerprint_ignores_what_changes_no_vector(folder):
    before = card_of(folder)
    assert replace(before, name="other", licence="MIT").fingerprint == before.fingerprint
    change(folder / "config.json", transformers_version="9", torch_dtype="float32")
    change(folder / "tokenizer.json", truncation={"max_length": 3}, padding={"strategy": {"Fixed": 9}})
    (folder / "README.md").write_text("A model.")
    (folder / "vocab.txt").write_text("tokenizer.json goes before it")
    assert card_of(folder).fingerprint == before.fingerprint


def test_the_fingerprint_changes_with_every_attribute_that_changes_a_vector(folder):
    card = card_of(folder)
    other = {int: 7, str: "other", float: 0.5, dict: {"a": "b"}}

    def changed(facts):
        for name in {field.name for field in fields(facts)} - {"name", "licence", "network", "papers_by"}:
            value = getattr(facts, name)
            yield replace(facts, **{name: not value if isinstance(value, bool) else other[type(value)]})

    changes = [*changed(card), *(replace(card, network=network) for network in changed(card.network))]
    assert len({card.fingerprint} | {change.fingerprint for change in changes}) == 1 + len(changes) > 20


@pytest.mark.parametrize("setting", ["num_attention_heads", "layer_norm_eps", "num_hidden_layers"])
def test_the_fingerprint_changes_with_what_the_graph_is_built_from(setting, folder):
    before = card_of(folder).fingerprint
    change(folder / "config.json", **{setting: 1})
    assert card_of(folder).fingerprint != before


@pytest.mark.parametrize("file", ["tokenizer.json", "vocab.txt"])
def test_the_fingerprint_changes_with_the_vocabulary(file, folder):
    (folder / "vocab.txt").write_text("virus\nlung\n")
    if file == "vocab.txt":
        (folder / "tokenizer.json").unlink()
    before = card_of(folder).fingerprint
    text = (folder / file).read_text()
    (folder / file).write_text(text.replace("virus", "lungs"))
    assert card_of(folder).fingerprint != before


@pytest.mark.parametrize("edit", [{"[PRX]": 8}, {"[PRX]": 7, "[NEW]": 8}, {}])
def test_the_fingerprint_changes_with_the_tokens_added_to_a_vocabulary(edit, folder):
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("virus\nlung\n")
    write(folder / "added_tokens.json", {"[PRX]": 7})
    before = card_of(folder).fingerprint
    write(folder / "added_tokens.json", edit)
    assert card_of(folder).fingerprint != before


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            {"architecture": "adaptors"},
            "asks for the architecture 'adaptors'; it may ask for one of adapters, fusion, ",
        ),
        ({"architecture": ["adapters"]}, "asks for the architecture ['adapters']; it may ask for one of"),
        ({"experts": {"prx": 1}, "base": "x"}, "sets base, experts, which a model of the architecture plain does not"),
    ],
)
def test_a_card_sets_nothing_that_is_not_read(own, message, folder):
    write(folder / CARD_FILE, own)
    with pytest.raises(InputError) as refused:
        find_model(str(folder))
    assert message in str(refused.value)
