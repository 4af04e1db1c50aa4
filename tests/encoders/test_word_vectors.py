"""Vectors of words: their sum has the direction of the vector that the table makes of the whole text."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.projection import VectorProjection
from encoders.query_tables import table_for
from encoders.registry import find_model
from encoders.static import load_static
from encoders.word_vectors import WordVectors, short_decimals, words_of

QUERIES = [
    "masks and the spread of a virus",
    "Effect of naïve T cells on SARS CoV 2 in Århus",
    "immunohistochemistry of zzqxproteins 2019",
    "the",
]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The table that ses ships for all-MiniLM-L6-v2."""
    found = table_for(find_model("all-MiniLM-L6-v2").card.fingerprint)
    assert found is not None
    return load_static(found, tmp_path_factory.mktemp("cache"))


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def added(vectors, query):
    """What a front end does: it adds up the vectors of the words, as they are kept, and scales the sum."""
    kept = [one for one in short_decimals(vectors.of(words_of(query))) if one]
    return unit(np.sum(kept, axis=0))


@pytest.mark.parametrize("query", QUERIES)
def test_the_sum_of_the_words_is_the_vector_of_the_text(shipped, query):
    (wanted,) = shipped.encode([query], Format.QRY)
    assert added(WordVectors(shipped), query) @ wanted > 0.9999


@pytest.mark.parametrize("query", QUERIES)
def test_words_of_a_shorter_index_are_shortened_too(shipped, query):
    vectors = np.random.default_rng(0).normal(size=(400, 384)).astype(np.float32)
    projection = VectorProjection.fitted(vectors, 64, "f" * 16)
    words = WordVectors(shipped, projection=(projection,))
    wanted = projection.shortened(shipped.encode([query], Format.QRY))[0]
    assert added(words, query) @ wanted > 0.9999
    assert words.dimension == 64
    assert words.fingerprint != WordVectors(shipped).fingerprint


def test_the_common_words_are_whole_words_of_the_vocabulary(shipped):
    words = WordVectors(shipped).common(50_000)
    assert {"virus", "the", "2019", "protein"} <= set(words)
    assert len(words) > 20_000
    assert all(words_of(word) == [word] for word in words)
    assert WordVectors(shipped).common(3) == words[:3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("The naïve T-cell, IL-2.", ["the", "naive", "t", "-", "cell", ",", "il", "-", "2", "."]),
        ("ÉCOLE under_score", ["ecole", "under", "_", "score"]),
        ("İstanbul ½ Ⅷ ДΣ", ["istanbul", "½", "ⅷ", "д\u03c3"]),
        ("β-carotene ±5\u200b", ["β", "-", "carotene", "±5"]),
        ("病毒\t\x0bx", ["病", "毒", "x"]),
    ],
)
def test_words_are_those_between_spaces_and_signs(text, words):
    assert words_of(text) == words


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_words_are_those_of_the_tokenizer(shipped, text):
    """For the characters of Unicode 3.2; the tokenizer takes some newer marks for letters, and signs for symbols."""
    changed = "\u166d\u1734\u1885\u1886"  # they have had another category since
    known = "".join(one for one in text if unicodedata.ucd_3_2_0.category(one) != "Cn" and one not in changed)
    normal = shipped.tokenizer.normalizer.normalize_str(known)
    assert words_of(known) == [word for word, _ in shipped.tokenizer.pre_tokenizer.pre_tokenize_str(normal)]


def test_pieces_are_those_that_a_word_of_a_text_can_have(shipped):
    vectors = WordVectors(shipped)
    assert {"virus", "##ing", "-", "[UNK]", "##°"} <= set(vectors.pieces)
    assert not {"[PAD]", "[unused7]", "##.", "[MASK]"} & set(vectors.pieces)
    (whole,) = vectors.of(["immunohistochemistry"])
    tokens = shipped.tokenizer.encode("immunohistochemistry", add_special_tokens=False).tokens
    assert len(tokens) > 2
    assert vectors.of(tokens).sum(axis=0) == pytest.approx(whole, abs=1e-5)


def test_a_table_that_skips_unknown_words_adds_nothing_for_them(shipped):
    skipping = WordVectors(replace(shipped, ignored=frozenset([shipped.tokenizer.token_to_id("[UNK]")])))
    weights = np.ones_like(shipped.table.weights)
    whole = WordVectors(replace(shipped, table=replace(shipped.table, weights=weights)))
    assert not skipping.of(["[UNK]"]).any()
    assert whole.of(["[UNK]"]).any()


@given(st.integers(0, 9), st.integers(1, 64), st.floats(1e-6, 1e6))
def test_a_vector_of_few_decimals_is_near_to_the_whole_one(seed, dimension, size):
    vectors = size * np.random.default_rng(seed).normal(size=(3, dimension))
    vectors[1] = 0
    kept = short_decimals(vectors)
    assert kept[1] == []
    for one in (0, 2):
        assert np.linalg.norm(np.array(kept[one]) - vectors[one]) <= 1e-3 * np.linalg.norm(vectors[one])
    assert len(json.dumps(short_decimals(np.full((1, 100), 1 / 3)))) < 800


def test_a_table_that_reads_capital_letters_is_refused(tmp_path):
    """Its words are not those that front ends split a query into."""
    from tokenizers import BertWordPieceTokenizer

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", "T"]
    folder = tmp_path / "cased"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
    tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=False)
    tokenizer.save(str(folder / "tokenizer.json"))
    rows = np.random.default_rng(0).normal(size=(len(tokens), 8)).astype(np.float32)
    save_file({"rows": rows}, folder / "model.safetensors")
    stands = {"model": "some-model", "fingerprint": "0123456789abcdef"}
    card = {"architecture": "static", "stands_in_for": stands}
    (folder / "ses_card.json").write_text(json.dumps(card), encoding="utf-8")
    cased = load_static(find_model(str(folder)), tmp_path)
    assert load_encoder(str(folder), cache_dir=tmp_path).encode(["a"], Format.QRY).shape == (1, 8)
    with pytest.raises(InputError, match="does not add up the words of a text, in small letters without accents"):
        WordVectors(cased)
