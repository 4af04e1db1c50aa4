"""Order, duplicates, caches and graphs make no difference to vectors, only to the work done."""

from __future__ import annotations

import gc
import json
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from corpora.errors import InputError, UnavailableError
from encoders.cache import EmbeddingCache
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.runtimes.registry import RUNTIMES, Session
from tests.tiny import make_model, papers

TEXTS = [f"{paper.title} [SEP] {paper.abstract}" for paper in papers(20)]


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def plain(tmp_path_factory, cache_dir):
    return load_encoder(str(make_model(tmp_path_factory.mktemp("plain"))), cache_dir=cache_dir, precision="fp32")


@pytest.fixture(scope="module")
def coded(tmp_path_factory, cache_dir):
    model = make_model(tmp_path_factory.mktemp("coded"), codes=True)
    return load_encoder(str(model), cache_dir=cache_dir, precision="fp32")


def counting(encoder, **changes):
    """The encoder, and the number of texts in each batch that its session is given."""
    sizes = []

    def counted(heads):
        session = encoder.sessions(heads)

        def run(ids, mask):
            sizes.append(len(ids))
            return session(ids, mask)

        return Session(run)

    return replace(encoder, sessions=counted, **changes), sizes


def used(model, tmp_path, **options):
    """An encoder that has encoded: what it runs is built and loaded when it is first needed."""
    encoder = load_encoder(str(model), cache_dir=tmp_path, **options)
    encoder.encode(["virus"])
    return encoder


def graph_folders(cache_dir):
    return sorted(path.name for path in (cache_dir / "graphs").iterdir())


@given(st.permutations(range(len(TEXTS))))
@settings(max_examples=15)
def test_a_text_has_the_same_vector_in_any_company(plain, order):
    shuffled = plain.encode([TEXTS[row] for row in order])
    np.testing.assert_allclose(shuffled, plain.encode(TEXTS)[list(order)], atol=1e-5)
    np.testing.assert_allclose(plain.encode([TEXTS[order[0]]])[0], shuffled[0], atol=1e-5)


def test_different_texts_have_different_vectors(plain):
    assert len(np.unique(plain.encode(TEXTS).round(3), axis=0)) == len(TEXTS)


def test_no_texts_give_no_vectors(plain, coded):
    for encoder in (plain, coded):
        assert encoder.encode([]).shape == (0, 64)
        assert encoder.encode([]).dtype == np.float32
        assert {key: vectors.shape for key, vectors in encoder.encode_formats([], list(Format)).items()} == (
            dict.fromkeys(Format, (0, 64))
        )


def test_duplicates_are_encoded_once(plain):
    encoder, sizes = counting(plain)
    vectors = encoder.encode([TEXTS[0], TEXTS[1], TEXTS[0], TEXTS[0]])
    assert sizes == [2]
    np.testing.assert_array_equal(vectors[[2, 3]], vectors[[0, 0]])
    np.testing.assert_allclose(vectors[:2], plain.encode(TEXTS[:2]), atol=1e-5)


def test_cached_vectors_are_those_that_were_made(plain, tmp_path):
    encoder, sizes = counting(plain, cache=EmbeddingCache(tmp_path / "cache.db"))
    fresh = encoder.encode(TEXTS)
    assert sum(sizes) == len(TEXTS)
    np.testing.assert_array_equal(encoder.encode(TEXTS[::-1])[::-1], fresh)
    assert sum(sizes) == len(TEXTS)
    np.testing.assert_array_equal(encoder.encode([*TEXTS, "virus"])[:-1], fresh)
    assert sum(sizes) == len(TEXTS) + 1
    np.testing.assert_array_equal(fresh, plain.encode(TEXTS))


@pytest.mark.parametrize("long_text", ["start", "passages"])
def test_vectors_are_float32_before_they_are_kept(long_text, plain):
    kept = {}
    cache = SimpleNamespace(get=lambda keys: {}, put=kept.update)
    replace(plain, cache=cache, long_text=long_text).encode(["virus", "lung " * 200])
    assert [(vector.shape, vector.dtype) for vector in kept.values()] == [((64,), np.float32)] * 2


@pytest.mark.parametrize(
    "other", [{"runtime": "onnx-int8"}, {"card": lambda card: replace(card, weights_sha256="other weights")}]
)
def test_a_cache_is_not_shared_between_runtimes_or_models(other, plain, tmp_path):
    cache = EmbeddingCache(tmp_path / "cache.db")
    replace(plain, cache=cache).encode(TEXTS)
    other = {key: value(plain.card) if callable(value) else value for key, value in other.items()}
    encoder, sizes = counting(plain, cache=cache, **other)
    encoder.encode(TEXTS)
    assert sum(sizes) == len(TEXTS)


def test_a_model_without_codes_runs_once_for_all_formats(plain):
    encoder, sizes = counting(plain)
    vectors = encoder.encode_formats(TEXTS[:5], list(Format))
    assert sizes == [5]
    assert list(vectors) == list(Format)
    for task_format in Format:
        np.testing.assert_array_equal(vectors[task_format], plain.encode(TEXTS[:5], task_format))


def test_a_model_with_codes_makes_a_vector_a_format(coded):
    vectors = coded.encode_formats(TEXTS[:5], list(Format))
    stacked = np.stack([vectors[task_format] for task_format in Format])
    assert np.abs(stacked[:, None] - stacked[None]).max(axis=(2, 3))[~np.eye(4, dtype=bool)].min() > 0.1
    np.testing.assert_allclose(vectors[Format.QRY], coded.encode(TEXTS[:5], Format.QRY), atol=1e-5)


def test_any_text_gets_a_vector(plain, coded):
    odd = ["", "[SEP]", "[PRX] [CLS]", "x" * 100_000, "virus " * 20_000, "病毒", "فيروس", "\0", "\ud800", "a\udfff b"]
    for encoder in (plain, coded):
        assert np.isfinite(encoder.encode(odd)).all()
    np.testing.assert_allclose(plain.encode(["virus \ud800"]), plain.encode(["virus"]), atol=1e-5)


def test_threads_may_share_an_encoder(plain, tmp_path):
    encoder = replace(plain, cache=EmbeddingCache(tmp_path / "cache.db"))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda start: encoder.encode(TEXTS[start : start + 8]), [0, 4, 8, 12, 0, 4, 8, 12]))
    whole = plain.encode(TEXTS)
    for start, vectors in zip([0, 4, 8, 12] * 2, results, strict=True):
        np.testing.assert_allclose(vectors, whole[start : start + 8], atol=1e-5)


def test_a_graph_is_built_once(tmp_path, monkeypatch):
    model = str(make_model(tmp_path / "m"))
    first = load_encoder(model, cache_dir=tmp_path, precision="fp32").encode(TEXTS)
    monkeypatch.setattr("encoders.runtimes.sessions.read_checked", None)
    np.testing.assert_array_equal(load_encoder(model, cache_dir=tmp_path, precision="fp32").encode(TEXTS), first)
    assert len(graph_folders(tmp_path)) == 1


def test_a_graph_of_other_settings_or_precision_is_not_used(tmp_path):
    folder = make_model(tmp_path / "m")
    before = load_encoder(str(folder), cache_dir=tmp_path, precision="fp32").encode(TEXTS)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_attention_heads": 8}))
    assert np.abs(load_encoder(str(folder), cache_dir=tmp_path, precision="fp32").encode(TEXTS) - before).max() > 0.01
    used(folder, tmp_path, precision="int8")
    assert len(graph_folders(tmp_path)) == 3


def broken(monkeypatch, prepare):
    monkeypatch.setitem(RUNTIMES, "onnx", replace(RUNTIMES["onnx"], prepare=prepare))


@pytest.mark.parametrize(
    ("crash", "raised"), [(KeyboardInterrupt(), KeyboardInterrupt), (OSError(28, "No space left"), UnavailableError)]
)
def test_a_graph_left_half_written_is_not_used(crash, raised, tmp_path, monkeypatch):
    def die(source, precision, folder):
        (folder / "model.onnx").write_bytes(b"half")
        raise crash

    model = str(make_model(tmp_path / "m"))
    with monkeypatch.context() as patched:
        broken(patched, die)
        with pytest.raises(raised):
            used(model, tmp_path)
    assert graph_folders(tmp_path) == []
    # A process that is killed can't tidy up: its scratch folder stays, and is no graph either.
    (tmp_path / "graphs" / "tmpkilled" / "graph").mkdir(parents=True)
    (tmp_path / "graphs" / "tmpkilled" / "graph" / "model.onnx").write_bytes(b"half")
    assert np.isfinite(load_encoder(model, cache_dir=tmp_path).encode(TEXTS)).all()


def test_two_processes_may_build_a_graph_at_once(tmp_path, monkeypatch):
    model = str(make_model(tmp_path / "m"))
    prepare = RUNTIMES["onnx"].prepare
    first = load_encoder(model, cache_dir=tmp_path / "first").encode(TEXTS)
    (name,) = graph_folders(tmp_path / "first")

    def overtaken(source, precision, folder):
        prepare(source, precision, folder)
        shutil.copytree(tmp_path / "first" / "graphs" / name, tmp_path / "graphs" / name)

    broken(monkeypatch, overtaken)
    np.testing.assert_array_equal(load_encoder(model, cache_dir=tmp_path).encode(TEXTS), first)
    assert graph_folders(tmp_path) == [name]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["cache", "cache/graphs"])
def test_in_a_folder_that_can_not_be_written_graphs_are_built_for_now(place, tmp_path, monkeypatch, caplog):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).touch()  # a file in the folder's place stops even root
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    model = str(make_model(tmp_path / "m"))
    expected = load_encoder(model, cache_dir=tmp_path / "other").encode(TEXTS)
    encoder = load_encoder(model, cache_dir=tmp_path / "cache")
    for _ in range(2):
        np.testing.assert_array_equal(encoder.encode(TEXTS), expected)
    (told,) = caplog.messages
    assert told.startswith(f"The model's graph can't be kept in {tmp_path / 'cache' / 'graphs'} (")
    assert told.endswith("; free some disk, or set SES_CACHE_DIR to a folder that can be written.")
    del encoder
    gc.collect()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_weights_that_are_no_numbers_are_told(tmp_path):
    folder = make_model(tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.1.output.dense.bias"][3] = np.nan
    save_file(weights, folder / "model.safetensors")
    cache = EmbeddingCache(tmp_path / "cache.db")
    encoder = load_encoder(str(folder), cache_dir=tmp_path, precision="fp32", cache=cache)
    for _ in range(2):  # and nothing of it is cached
        with pytest.raises(
            InputError, match=r"are damaged: encoder\.layer\.1\.output\.dense\.bias hold values that are"
        ):
            encoder.encode(["virus"])


def test_vectors_that_are_no_numbers_are_told(plain, tmp_path):
    encoder = replace(plain, sessions=lambda heads: Session(lambda ids, mask: [np.full((len(ids), 64), np.inf)]))
    with pytest.raises(InputError, match="gave vectors that are not numbers: its weights are damaged"):
        encoder.encode(["virus"])


def test_a_vector_of_zeros_is_told_where_cosines_are_wanted(plain):
    made = replace(plain, sessions=lambda heads: Session(lambda ids, mask: [np.zeros((len(ids), 64), np.float32)]))
    assert not replace(made, card=replace(plain.card, similarity="l2")).encode(["virus"]).any()
    with pytest.raises(InputError, match="gave a vector of zeros, which has no cosine to another"):
        replace(made, card=replace(plain.card, similarity="cosine")).encode(["virus"])


def test_a_tokenizer_of_another_model_is_told(tmp_path):
    folder = make_model(tmp_path / "m")
    file = json.loads((folder / "tokenizer.json").read_text())
    file["model"]["vocab"] |= {"extra": len(file["model"]["vocab"])}
    (folder / "tokenizer.json").write_text(json.dumps(file))
    with pytest.raises(InputError) as refused:
        used(folder, tmp_path)
    assert str(refused.value).startswith(f"The tokenizer in {folder} knows tokens that the model doesn't;")


def test_an_unknown_runtime_is_told(tmp_path):
    with pytest.raises(InputError) as refused:
        load_encoder(str(make_model(tmp_path / "m")), cache_dir=tmp_path, runtime="tpu")
    assert str(refused.value) == f"There is no runtime 'tpu'; choose one of {', '.join(RUNTIMES)}."


@pytest.mark.parametrize("name", ["model.onnx", "model.onnx.data"])
def test_a_damaged_graph_file_is_told_in_one_sentence(tmp_path, name, capfd):
    model = str(make_model(tmp_path / "m"))
    used(model, tmp_path)
    (folder,) = (tmp_path / "graphs").iterdir()
    (folder / name).write_bytes(b"damaged")
    with pytest.raises(InputError) as refused:
        used(model, tmp_path)
    assert str(refused.value) == f"{folder} holds an incomplete ONNX file; delete it, and it is created again."
    assert capfd.readouterr().err == ""
