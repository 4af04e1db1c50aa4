"""Learned sparse vectors: the formula, sentence-transformers' SparseEncoder, the folders, pruning and rounding."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from corpora.errors import InputError
from encoders.cache import EmbeddingCache
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from encoders.sparse import as_entries, as_weights, load_sparse_encoder, pruned, rounded
from tests.encoders.checkpoints.sparse import make_document_only, make_masked, make_opensearch, make_splade, table_of
from tests.encoders.formulas.sparse import sparse_weights
from tests.encoders.oracle import Oracle
from tests.tiny import papers

TEXTS = ["virus", *(f"{paper.title} {paper.abstract}" for paper in papers(6)), "lung virus zzz " * 60]
FAMILIES = ("bert", "distilbert", "roberta")


def encoder_of(folder, tmp_path, **options):
    return load_sparse_encoder(
        str(folder), **{"cache_dir": tmp_path / "c", "precision": "fp32", "threads": 1} | options
    )


def dense(encoder, task_format=Format.PRX):
    return np.array([as_weights(one, encoder.card.dimension) for one in encoder.encode(TEXTS, task_format)])


def edit(path, change):
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


@pytest.mark.parametrize("activation", ["relu", "log1p_relu"])
def test_weights_are_those_of_the_formula(tmp_path, activation):
    folder = make_splade(tmp_path / "m", activation=activation)
    encoder, model = encoder_of(folder, tmp_path), Oracle(folder)
    ids = [encoding.ids for encoding in encoder.tokenizer.encode_batch(TEXTS)]
    count = {"relu": 1, "log1p_relu": 2}[activation]
    expected = [sparse_weights(model, row[:127] + row[-1:] if len(row) > 128 else row, logarithms=count) for row in ids]
    np.testing.assert_allclose(dense(encoder), expected, atol=1e-5)
    assert 0.1 < (np.array(expected) > 0).mean() < 0.9


@pytest.mark.mteb  # whose extra brings the library
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("make", [make_splade, make_document_only])
def test_they_are_those_of_sentence_transformers(tmp_path, make, family):
    from sentence_transformers.sparse_encoder import SparseEncoder

    folder = make(tmp_path / "m", family=family, activation="log1p_relu")
    encoder, theirs = encoder_of(folder, tmp_path), SparseEncoder(str(folder), device="cpu")
    theirs.max_seq_length = encoder.card.max_tokens
    for task_format, encode in ((Format.PRX, theirs.encode_document), (Format.QRY, theirs.encode_query)):
        expected = encode(TEXTS, convert_to_sparse_tensor=False).numpy()
        if make is make_document_only:  # OpenSearch excludes special tokens
            special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "<pad>", "</s>", "<unk>", "<mask>"]
            known = [encoder.tokenizer.token_to_id(token) for token in special]
            expected[:, [number for number in known if number is not None]] = 0
        np.testing.assert_allclose(dense(encoder, task_format), expected, atol=1e-5)


@pytest.mark.torch
def test_torch_and_onnx_agree_and_int8_is_close(tmp_path):
    folder = make_splade(tmp_path / "m")
    expected = dense(encoder_of(folder, tmp_path))
    np.testing.assert_allclose(dense(encoder_of(folder, tmp_path, runtime="torch")), expected, atol=1e-5)
    close = dense(encoder_of(folder, tmp_path, precision="int8"))
    cosines = (close * expected).sum(axis=1) / np.linalg.norm(close, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosines.min() > 0.98


@pytest.mark.parametrize("table", ["idf.json", "query_token_weights.txt"])
def test_queries_of_a_document_only_model_are_looked_up(tmp_path, table):
    folder = make_opensearch(tmp_path / "m", table=table)
    encoder = encoder_of(folder, tmp_path)
    weights, ids = table_of(folder, 0), encoder.tokenizer.token_to_id
    (found,) = encoder.encode(["virus lung virus [SEP] 灵"], Format.QRY)
    held = sorted([ids("virus"), ids("lung")])
    np.testing.assert_array_equal(found, np.stack([np.float32(held), weights[held]], axis=1))
    assert encoder.tokens(held) == [encoder.tokenizer.id_to_token(one) for one in held]
    special = [ids(token) for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    assert not dense(encoder)[:, special].any()
    assert dense(encoder_of(make_splade(tmp_path / "whole"), tmp_path))[:, special].any()


@pytest.mark.parametrize("named", ["of/words.json", "words.txt", "", 7, "lost.json"])
def test_the_settings_of_the_table_may_name_its_file(tmp_path, named):
    """The table beside them is for those that name none."""
    folder = make_document_only(tmp_path / "m")
    encoder = encoder_of(folder, tmp_path)
    static, ids = folder / "query_0_SparseStaticEmbedding", encoder.tokenizer.token_to_id
    before = float(table_of(folder / "document_0_Transformer", 0)[ids("virus")])
    (folder / "of").mkdir()
    (folder / "of" / "words.json").write_text('{"virus": 2.5}')
    (folder / "words.txt").write_text("virus\t3.5\nlung\t0.5\n")
    (static / "config.json").write_text(json.dumps({"frozen": True, "path": named}))
    ((number, weight),) = encoder_of(folder, tmp_path).encode(["virus"], Format.QRY)[0].tolist()
    assert number == ids("virus")
    assert weight == pytest.approx({"of/words.json": 2.5, "words.txt": 3.5}.get(named, before), rel=0.01)


def test_a_table_that_is_named_outside_the_folder_is_refused(tmp_path):
    folder = make_document_only(tmp_path / "m")
    (folder / "query_0_SparseStaticEmbedding" / "config.json").write_text('{"path": "../words.json"}')
    (tmp_path / "words.json").write_text('{"virus": 2.5}')
    with pytest.raises(InputError, match=r"words\.json"):
        encoder_of(folder, tmp_path)


def test_a_masked_language_model_is_sparse_where_its_card_says_so(tmp_path):
    folder = make_masked(tmp_path / "m")
    assert find_model(str(folder)).card.architecture == "plain"
    with pytest.raises(InputError, match="makes no sparse vectors"):
        encoder_of(folder, tmp_path)
    (folder / "ses_card.json").write_text('{"architecture": "sparse", "separator": "[SEP]"}')
    card = find_model(str(folder)).card
    assert (card.architecture, card.similarity, card.text("a", "b")) == ("sparse", "dot", "a [SEP] b")
    assert encoder_of(folder, tmp_path).encode(["virus"])[0].shape[1] == 2
    with pytest.raises(InputError, match="makes sparse vectors"):
        load_encoder(str(folder), cache_dir=tmp_path / "c")


def test_fingerprints_tell_models_tables_and_logarithms_apart(tmp_path):
    makers = [
        lambda path: make_splade(path),
        lambda path: make_splade(path, seed=1),
        lambda path: make_splade(path, activation="log1p_relu"),
        lambda path: make_opensearch(path, family="bert"),
    ]
    cards = [find_model(str(make(tmp_path / str(number)))).card for number, make in enumerate(makers)]
    edit(tmp_path / "3" / "idf.json", lambda weights: weights | {"virus": 9.0})
    cards.append(find_model(str(tmp_path / "3")).card)
    assert len({card.fingerprint for card in cards}) == len(cards)
    assert cards[0].text("a title", "an abstract") == "a title an abstract"


def test_a_table_of_its_own_is_used_in_place_of_the_words(tmp_path):
    folder = make_splade(tmp_path / "m")
    before = dense(encoder_of(folder, tmp_path))
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.decoder.weight"] = np.roll(weights["embeddings.word_embeddings.weight"], 1, axis=0)
    weights["cls.predictions.bias"] = np.roll(weights["cls.predictions.bias"], 1)
    save_file(weights, folder / "model.safetensors")
    np.testing.assert_allclose(dense(encoder_of(folder, tmp_path)), np.roll(before, 1, axis=1), atol=1e-5)


def test_the_cache_and_repeated_texts(tmp_path):
    folder = make_splade(tmp_path / "m")
    cache, seen = EmbeddingCache(tmp_path / "cache.sqlite"), []
    first = encoder_of(folder, tmp_path, cache=cache).encode(["virus", "lung", "virus"])
    again = encoder_of(folder, tmp_path, cache=cache)
    second = again.encode(["virus", "lung", "virus"], done=lambda texts, *, block=0.0: seen.append((texts, block)))
    assert seen == [(3, 3)]
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_passages_of_a_long_text_count_by_their_largest_weights(tmp_path):
    folder = make_splade(tmp_path / "m")
    text = " ".join(["virus lung cell"] * 100)
    whole = encoder_of(folder, tmp_path, long_text="passages")
    (found,) = whole.encode([text])
    ids = whole.tokenizer.encode(text).ids
    room, model = 126, Oracle(folder)
    step = room - room // 4
    starts = range(0, len(ids) - 2 - room + step, step)
    passages = [[ids[0], *ids[1:-1][start : start + room], ids[-1]] for start in starts]
    expected = np.max([sparse_weights(model, passage) for passage in passages], axis=0)
    np.testing.assert_allclose(as_weights(found, whole.card.dimension), expected, atol=1e-5)


def _damage(name, content):
    def change(folder):
        path = folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_damage("router_config.json", {"types": {}, "structure": {}}), "no routes"),
        (_damage("document_1_SpladePooling/config.json", {"pooling_strategy": "sum"}), "pools by sum of relu"),
        (_damage("document_1_SpladePooling/config.json", {"activation_function": "gelu"}), "pools by max of gelu"),
        (lambda folder: (folder / "query_0_SparseStaticEmbedding/model.safetensors").unlink(), "lacks the weights"),
        (
            lambda folder: save_file(
                {"weight": np.ones(3, np.float32)}, folder / "query_0_SparseStaticEmbedding/model.safetensors"
            ),
            "does not hold a weight for each",
        ),
        (
            lambda folder: edit(
                folder / "router_config.json",
                lambda told: told | {"structure": told["structure"] | {"query": ["document_0_Transformer"]}},
            ),
            "another network for queries",
        ),
        (
            lambda folder: edit(
                folder / "router_config.json",
                lambda told: told | {"structure": told["structure"] | {"document": ["document_1_SpladePooling"]}},
            ),
            "modules that ses can't run",
        ),
        (
            lambda folder: edit(
                folder / "document_0_Transformer/config.json", lambda c: c | {"sinusoidal_pos_embds": True}
            ),
            "positions that are computed",
        ),
    ],
)
def test_folders_that_ses_cannot_run_are_refused_in_a_sentence(tmp_path, damage, message):
    folder = make_document_only(tmp_path / "m")
    damage(folder)
    with pytest.raises(InputError, match=message):
        encoder_of(folder, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [('{"virus": "a"}', "gives a token no weight"), ('{"virus": 1e9}', "does not hold a weight"), ("[]", "idf.json")],
)
def test_damaged_tables_are_refused(tmp_path, content, message):
    folder = make_opensearch(tmp_path / "m")
    (folder / "idf.json").write_text(content)
    with pytest.raises(InputError, match=message):
        encoder_of(folder, tmp_path)


def test_weights_that_are_no_numbers_are_told(tmp_path):
    folder = make_splade(tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.bias"][:] = 3e38
    weights["cls.predictions.transform.LayerNorm.bias"][:] = 3e38
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(InputError, match="not numbers"):
        encoder_of(folder, tmp_path).encode(["virus"])


entries = st.dictionaries(
    st.integers(0, 300_000), st.floats(2.0**-100, 2.0**100, width=32), min_size=0, max_size=30
).map(lambda found: np.array(sorted(found.items()), np.float32).reshape(-1, 2))


@given(entries, st.integers(1, 40), st.floats(0, 1))
def test_pruning_keeps_the_heaviest(vector, most, ratio):
    kept = pruned(vector, most, ratio)
    heaviest = sorted(vector.tolist(), key=lambda one: (-one[1], one[0]))[:most]
    least = np.float32(ratio) * vector[:, 1].max(initial=0)
    assert kept.tolist() == sorted(one for one in heaviest if np.float32(one[1]) >= least)


@given(entries)
def test_rounded_weights_have_nine_bits_and_are_the_nearest(vector):
    found = rounded(vector)
    assert found[:, 0].tolist() == vector[:, 0].tolist()
    for (_, weight), (_, given_weight) in zip(found.tolist(), vector.tolist(), strict=True):
        (bits,) = struct.unpack("<I", struct.pack("<f", weight))
        assert bits % (1 << 15) == 0  # what Lucene's FeatureField drops
        assert abs(weight - given_weight) <= given_weight * 2**-9 * (1 + 1e-6)
    assert rounded(found).tolist() == found.tolist()


def test_entries_are_the_weights_above_zero():
    weights = np.array([0, 2, -1, 0.5, 0], np.float32)
    assert as_entries(weights).tolist() == [[1, 2], [3, 0.5]]
    assert as_weights(as_entries(weights), 5).tolist() == [0, 2, 0, 0.5, 0]
    assert rounded(np.array([[7, 1e-40]], np.float32)).shape == (0, 2)
