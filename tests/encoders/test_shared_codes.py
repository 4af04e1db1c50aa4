"""Shared-trunk codes against their formula, and the one pass that makes every format."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.exact import encoder_of
from tests.encoders.formulas.shared_codes import code_vector
from tests.encoders.oracle import Oracle
from tests.tiny import WORDS, make_model

TEXTS = ["", "virus", " ".join(WORDS[:17]), " ".join(WORDS * 3)]


def write_codes(folder, codes, **card):
    folder.mkdir(exist_ok=True)
    save_file({f"codes.{name}": row.astype(np.float32) for name, row in codes.items()}, folder / "codes.safetensors")
    (folder / "ses_card.json").write_text(json.dumps({"architecture": "shared-codes"} | card))
    return folder


def drawn(formats=Format, width=64):
    draw = np.random.default_rng(5)
    return {task_format.value: draw.standard_normal(width) for task_format in formats}


def ids_of(encoder, texts):
    rows = [encoding.ids for encoding in encoder.tokenizer.encode_batch(texts)]
    return [row if len(row) <= 128 else [*row[:127], row[-1]] for row in rows]


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_all_formats_come_from_one_pass_and_are_what_the_formula_gives(family, tmp_path):
    base = make_model(tmp_path / "base", layers=3, architecture=family)
    codes = drawn()
    encoder = encoder_of(write_codes(tmp_path / "codes", codes, base="../base"), tmp_path)
    asked = []

    def sessions(heads):
        asked.append(heads)
        return encoder.sessions(heads)

    vectors = replace(encoder, sessions=sessions).encode_formats(TEXTS[:3], list(Format))
    assert asked == [("clf", "rgn", "prx", "qry")]
    oracle = Oracle(base)
    for task_format in Format:
        expected = [code_vector(oracle, codes[task_format], ids) for ids in ids_of(encoder, TEXTS[:3])]
        np.testing.assert_allclose(vectors[task_format], expected, atol=1e-4)
        alone = encoder.encode(TEXTS[:3], task_format)
        np.testing.assert_allclose(alone, vectors[task_format], atol=1e-5)


def test_a_code_that_starts_as_the_first_token_gives_its_vector(tmp_path):
    folder = make_model(tmp_path / "m", layers=3)
    plain = encoder_of(folder, tmp_path).encode(TEXTS)
    first = load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"][2]  # [CLS]
    write_codes(folder, {"prx": first, "qry": first})
    encoder = encoder_of(folder, tmp_path)
    for task_format in (Format.PRX, Format.QRY):
        np.testing.assert_allclose(encoder.encode(TEXTS, task_format), plain, atol=1e-5)


def test_its_fingerprint_is_its_own_and_follows_its_codes(tmp_path):
    make_model(tmp_path / "base")
    codes = drawn()
    before = find_model(str(write_codes(tmp_path / "codes", codes, base="../base"))).card.fingerprint
    codes["prx"][3] += 1
    after = find_model(str(write_codes(tmp_path / "codes", codes, base="../base"))).card.fingerprint
    assert len({before, after, find_model(str(tmp_path / "base")).card.fingerprint}) == 3


def test_a_format_without_a_code_is_told(tmp_path):
    make_model(tmp_path / "base")
    encoder = encoder_of(write_codes(tmp_path / "c", drawn([Format.PRX, Format.QRY]), base="../base"), tmp_path)
    assert encoder.card.formats == (Format.PRX, Format.QRY)
    with pytest.raises(InputError) as refused:
        encoder.encode(["virus"], Format.CLF)
    assert f"The model {tmp_path / 'c'} has no clf vectors, only prx, qry; " in str(refused.value)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (drawn(width=32), "holds codes.clf of shape (32,); the network "),
        ({"prx": np.zeros(64), "xyz": np.zeros(64)}, "must hold some of codes.clf, codes.rgn, codes.prx, codes.qry"),
    ],
)
def test_codes_that_do_not_fit_are_told(codes, message, tmp_path):
    make_model(tmp_path / "base")
    with pytest.raises(InputError) as refused:
        find_model(str(write_codes(tmp_path / "c", codes, base="../base")))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("../no/where", "There is no model '../no/where'"),
        (3, "sets base to 3, which is not the name of a model"),
        ("../c", "is made of itself"),
        ("../d", "whose architecture is shared-codes; name a plain network as its base"),
        (None, "sets base to None, which is not"),
    ],
)
def test_a_base_that_is_no_network_is_told(base, message, tmp_path):
    make_model(tmp_path / "d")
    write_codes(tmp_path / "d", drawn())
    with pytest.raises(InputError) as refused:
        find_model(str(write_codes(tmp_path / "c", drawn(), base=base)))
    assert message in str(refused.value)


def test_codes_without_a_network_are_told(tmp_path):
    with pytest.raises(InputError, match=r"ses_card\.json names no base, and there is no network in the folder either"):
        find_model(str(write_codes(tmp_path / "c", drawn())))


def test_codes_that_are_no_numbers_are_told(tmp_path):
    make_model(tmp_path / "base")
    codes = drawn() | {"prx": np.full(64, np.nan)}
    encoder = encoder_of(write_codes(tmp_path / "c", codes, base="../base"), tmp_path)
    with pytest.raises(InputError, match=r"are damaged: embeddings\.word_embeddings\.weight hold values"):
        encoder.encode(["virus"])
