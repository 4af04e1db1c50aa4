"""Tables in place of networks: ours, and those of two libraries, against the vectors of a library."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.layouts.registry import read_model
from encoders.models.formats import Format
from encoders.query_tables import table_for
from encoders.registry import find_model

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "mask", "##s", "virus", "the", "and", "spread", "of", "a"]
TEXTS = ["Masks and the spread of a virus", "the virus", "masks masks masks", "spread, of zebras"]


def tokenizer(folder):
    from tokenizers import BertWordPieceTokenizer

    (folder / "words.txt").write_text("\n".join(TOKENS), encoding="utf-8")
    return BertWordPieceTokenizer(str(folder / "words.txt"), lowercase=True)._tokenizer


def rows(count=13):
    return np.random.default_rng(0).normal(size=(count, 8)).astype(np.float32)


@pytest.fixture
def own(tmp_path):
    """A product-quantised table of ours: 13 tokens, 8 numbers in 4 parts of 256 centroids."""
    folder, draw = tmp_path / "own", np.random.default_rng(1)
    folder.mkdir()
    arrays = {
        "codes": draw.integers(0, 256, (len(TOKENS), 4)).astype(np.uint8),
        "centroids": draw.normal(size=(4, 256, 2)).astype(np.float16),
        "weights": np.array([0] * 5 + [1, 0.5, 2, 0.1, 0.1, 1, 0.1, 0.1], np.float16),
    }
    save_file(arrays, folder / "model.safetensors")
    (folder / "vocab.txt").write_text("\n".join(TOKENS), encoding="utf-8")
    stands = {"model": "some-model", "fingerprint": "0123456789abcdef"}
    card = {"architecture": "static", "stands_in_for": stands, "separator": "[SEP]", "licence": "MIT"}
    (folder / "ses_card.json").write_text(json.dumps(card), encoding="utf-8")
    return folder, arrays


def test_a_table_without_a_tokenizer_has_that_of_the_model_it_stands_in_for(tmp_path, own):
    folder, _ = own
    wanted = encoded(folder)
    whole = find_model(str(folder))
    (folder / "vocab.txt").rename(tmp_path / "vocab.txt")

    def named(fingerprint):
        card = SimpleNamespace(fingerprint=fingerprint)
        return {"some-model": replace(whole, folder=tmp_path, card=card)}.__getitem__

    found = read_model(folder, str(folder), named("0123456789abcdef"))
    assert found.card == whole.card
    np.testing.assert_array_equal(load_encoder(found, cache_dir=tmp_path).encode(TEXTS, Format.QRY), wanted)
    with pytest.raises(InputError, match=r"needs the tokenizer of the model some-model \(0123456789abcdef\)"):
        read_model(folder, str(folder), named("fedcba9876543210"))


def encoded(folder, texts=TEXTS, task_format=Format.QRY):
    return load_encoder(str(folder), cache_dir=folder / "cache").encode(texts, task_format)


@pytest.mark.slow
@pytest.mark.parametrize("normalized", [False, True])
def test_a_table_of_sentence_transformers_has_its_vectors(tmp_path, normalized):
    library = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

    modules = [StaticEmbedding(tokenizer(tmp_path), embedding_weights=rows()), *([Normalize()] if normalized else [])]
    model = library.SentenceTransformer(modules=modules, device="cpu")
    model.save(str(tmp_path / "model"))
    np.testing.assert_allclose(encoded(tmp_path / "model"), model.encode(TEXTS), atol=1e-6)
    assert find_model(str(tmp_path / "model")).card.similarity == "cosine"


@pytest.mark.slow
@pytest.mark.parametrize("folded", [False, True])
def test_a_table_of_model2vec_has_the_vectors_of_the_library(tmp_path, folded):
    """sentence-transformers reads the same files; it counts unknown words, which model2vec leaves out."""
    pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    tokenizer(tmp_path).save(str(tmp_path / "tokenizer.json"))
    arrays = {"embeddings": rows()}
    if folded:
        mapping = np.array([0, 0, 0, 0, 0, 1, 2, 3, 4, 4, 5, 4, 4], np.int64)
        arrays = {"embeddings": rows(count=6), "mapping": mapping, "weights": rows()[:, 0].astype(np.float64)}
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}), encoding="utf-8")
    theirs = StaticEmbedding.load(str(tmp_path))
    known = TEXTS[:3]
    made = theirs(theirs.preprocess(known))["sentence_embedding"].detach().numpy()
    found = encoded(tmp_path)
    np.testing.assert_allclose(found[:3], made / np.linalg.norm(made, axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(found[3], encoded(tmp_path, ["spread of"])[0], atol=1e-6)  # `,` and `zebras` are unknown


def test_a_quantised_table_sums_the_weighted_rows_of_its_tokens(own):
    folder, arrays = own
    centroids, codes, weights = (arrays[name].astype(np.float64) for name in ("centroids", "codes", "weights"))
    row = [np.concatenate([centroids[part, int(codes[token, part])] for part in range(4)]) for token in range(13)]
    wanted = sum(weights[token] * row[token] for token in (5, 6, 9, 8, 10, 11, 12, 7))
    np.testing.assert_allclose(encoded(folder, TEXTS[:1])[0], wanted / np.linalg.norm(wanted), atol=1e-5)


def test_one_text_has_the_same_vector_among_others(own):
    together = encoded(own[0])
    np.testing.assert_allclose(together, np.concatenate([encoded(own[0], [text]) for text in TEXTS]), atol=1e-6)
    assert together.dtype == np.float32


@pytest.mark.parametrize("text", ["", "zebra", "[SEP]", " "])
def test_a_text_of_no_known_token_still_has_a_vector_of_length_one(own, text):
    (vector,) = encoded(own[0], [text])
    assert np.linalg.norm(vector) == pytest.approx(1)


def test_a_table_makes_vectors_of_queries_alone(own):
    with pytest.raises(InputError, match="no prx vectors"):
        encoded(own[0], task_format=Format.PRX)


def test_a_table_knows_whose_indexes_it_asks(own):
    folder, _ = own
    card = find_model(str(folder)).card
    assert (card.papers_by, card.licence) == ("0123456789abcdef", "MIT")
    assert card.fingerprint != card.papers_by
    found = table_for("0123456789abcdef", folder.parent)
    assert found is not None
    assert found.card.fingerprint == card.fingerprint
    assert table_for("f" * 16, folder.parent) is None


def test_a_table_that_says_no_model_is_refused(own):
    folder, _ = own
    (folder / "ses_card.json").write_text('{"architecture": "static"}', encoding="utf-8")
    with pytest.raises(InputError, match="must say whose vectors the table imitates"):
        find_model(str(folder))


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("codes", np.zeros((12, 4), np.uint8), "don't fit each other"),
        ("weights", np.ones(12, np.float16), "don't fit each other"),
        ("weights", np.full(13, np.nan, np.float16), "not numbers"),
        ("centroids", np.zeros((4, 9, 2), np.float16), "don't fit each other"),
        ("centroids", np.zeros((3, 256, 2), np.float16), "don't fit each other"),
    ],
)
def test_a_damaged_table_is_one_sentence(own, name, array, said):
    folder, arrays = own
    save_file({**arrays, name: array}, folder / "model.safetensors")
    with pytest.raises(InputError, match=said):
        encoded(folder)


def test_a_file_without_a_table_is_one_sentence(own):
    folder, _ = own
    save_file({"other": np.zeros(3, np.float32)}, folder / "model.safetensors")
    with pytest.raises(InputError, match="holds no table"):
        find_model(str(folder))
