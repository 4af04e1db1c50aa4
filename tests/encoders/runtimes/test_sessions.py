"""What is built, loaded, picked and checked for a set of heads, with runtimes made of functions."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.model import Exported
from encoders.registry import find_model
from encoders.runtimes.registry import RUNTIMES, Runtime, Session
from encoders.runtimes.sessions import make_sessions, make_source, run_texts, sample_texts
from encoders.tokens.batching import batches
from encoders.tokens.tokenizer import load_tokenizer
from tests.tiny import make_model

TEXTS = ["virus lung cell", "virus", "lung cell", "gene"]


@pytest.fixture
def model(tmp_path):
    return find_model(str(make_model(tmp_path / "m")))


@pytest.fixture
def tokenizer(model):
    return load_tokenizer(model.folder, model.card)


def row_of(ids, mask):
    """A vector that tells the token ids of each text."""
    return np.stack([(ids * mask).sum(axis=1), mask.sum(axis=1)], axis=1).astype(np.float32)


@pytest.fixture
def fake(monkeypatch):
    """A runtime that notes what is asked of it; its vectors are a head's number, and what the text has."""
    calls = []

    def prepare(source, precision, folder):
        calls.append(("prepare", source.heads, precision, source.threads))
        (folder / "heads").write_text(",".join(source.heads))

    def load(folder, threads):
        heads = (folder / "heads").read_text().split(",")
        calls.append(("load", tuple(heads), threads))
        return Session(lambda ids, mask: [np.full((len(ids), 1), int(head), np.float32) for head in heads])

    runtime = Runtime("fake", ("bf16", "fp32"), (), prepare, load, version=lambda precision, threads: f"t{threads}")
    monkeypatch.setitem(RUNTIMES, "fake", runtime)
    return calls


def test_each_set_of_heads_is_built_and_loaded_once(fake, model, tokenizer, tmp_path):
    made_by, sessions = make_sessions(model, tokenizer, tmp_path, "fake", None, 3)
    assert made_by == "fake-bf16"
    first = sessions(("1", "2"))
    assert sessions(("1", "2")) is first
    sessions(("2", "1"))
    make_sessions(model, tokenizer, tmp_path, "fake", "bf16", 3)[1](("1", "2"))
    built = [call for head in (("1", "2"), ("2", "1")) for call in (("prepare", head, "bf16", 3), ("load", head, 3))]
    assert fake == [*built, ("load", ("1", "2"), 3)]
    folders = sorted(path.name for path in (tmp_path / "graphs").iterdir())
    assert len(folders) == 2
    assert all(name.startswith(f"{model.card.fingerprint}-fake-bf16-t3-") for name in folders)


@pytest.mark.parametrize(
    ("runtime", "precision", "made_by"),
    [
        (None, None, "onnx-int8"),
        (None, "fp32", "onnx-fp32"),
        ("fake", "fp32", "fake-fp32"),
        ("fake", None, "fake-bf16"),
    ],
)
def test_the_default_is_the_fastest_of_onnx(runtime, precision, made_by, fake, model, tokenizer, tmp_path):
    assert make_sessions(model, tokenizer, tmp_path, runtime, precision, 0)[0] == made_by
    assert not (tmp_path / "graphs").exists()


def exported(model, tmp_path, graphs, vectors, texts=TEXTS):
    folders = {}
    for number, heads in enumerate(graphs):
        folders[heads] = tmp_path / f"graph{number}"
        folders[heads].mkdir()
        (folders[heads] / "heads").write_text(",".join(heads))
    return replace(model, exported=Exported("fake", "fp32", folders, texts, vectors))


ONES = {head: [[1.0]] * len(TEXTS) for head in "123"}


def test_an_export_runs_the_smallest_graph_that_has_all_heads_or_several(fake, model, tokenizer, tmp_path):
    whole = exported(model, tmp_path, [("3", "1", "2"), ("1",), ("2", "1")], ONES)
    made_by, sessions = make_sessions(whole, tokenizer, tmp_path, None, None, 5)
    assert made_by == "fake-fp32"
    ids = np.ones((2, 4), np.int64)
    for heads, graph in {
        ("1",): "1",
        ("1", "2"): "21",
        ("2",): "21",
        ("3", "1"): "312",
        ("3", "2", "1"): "312",
    }.items():
        found = sessions(heads)(ids, ids)
        assert [part.tolist() for part in found] == [[[float(head)]] * 2 for head in heads]
        assert ("load", tuple(graph), 5) in fake
    assert len(fake) == 3
    apart = exported(model, tmp_path / "m", [("1",), ("3",)], ONES)
    sessions = make_sessions(apart, tokenizer, tmp_path, "fake", "fp32", 0)[1]
    assert [part.tolist() for part in sessions(("3", "1"))(ids, ids)] == [[[3.0]] * 2, [[1.0]] * 2]
    with pytest.raises(InputError) as refused:
        sessions(("1", "2"))
    assert str(refused.value) == f"{model.folder} was exported without 2; export the model again."


@pytest.mark.parametrize(
    ("options", "made"), [({"runtime": "onnx"}, False), ({"precision": "bf16"}, False), ({"precision": "fp32"}, True)]
)
def test_an_export_is_for_one_runtime_and_precision(options, made, fake, model, tokenizer, tmp_path):
    given = {"runtime": None, "precision": None} | options
    export = exported(model, tmp_path, [("1",)], ONES)
    if made:
        assert make_sessions(export, tokenizer, tmp_path, threads=0, **given)[0] == "fake-fp32"
    else:
        with pytest.raises(InputError, match="was exported for fake at fp32; leave out runtime and precision"):
            make_sessions(export, tokenizer, tmp_path, threads=0, **given)


@pytest.mark.parametrize(
    ("vector", "told"),
    [
        ([30.0, 40.0], None),  # the length does not count
        ([0.6 * 0.985 - 0.8 * 0.1726, 0.8 * 0.985 + 0.6 * 0.1726], None),
        ([0.6 * 0.975 - 0.8 * 0.2222, 0.8 * 0.975 + 0.6 * 0.2222], "a cosine of 0.975 to those"),
        ([-6.0, -8.0], "a cosine of -1.000 to those"),
        ([0.0, 0.0], "a cosine of 0.000 to those"),
        ([0.6, 0.8, 0.0], "of another shape"),
    ],
)
def test_an_export_gives_nearly_the_vectors_of_where_it_was_made(vector, told, fake, model, tokenizer, tmp_path):
    made = np.array([3.0, 4.0], np.float32)
    load = lambda folder, threads: Session(lambda ids, mask: [np.tile(made, (len(ids), 1))])  # noqa: E731
    RUNTIMES["fake"] = replace(RUNTIMES["fake"], load=load)
    # All but one are as they were: the least alike decides.
    vectors = [[6.0, 8.0], vector] if len(vector) == 2 else [vector, vector]
    export = exported(model, tmp_path, [("1",)], {"1": vectors}, TEXTS[:2])
    sessions = make_sessions(export, tokenizer, tmp_path, None, None, 0)[1]
    if told is None:
        assert sessions(("1",))(np.ones((1, 3), np.int64), np.ones((1, 3), np.int64))[0].tolist() == [[3.0, 4.0]]
    else:
        with pytest.raises(InputError) as refused:
            sessions(("1",))
        assert str(refused.value) == (
            f"{model.folder} gives other vectors here than where it was exported ({told}); "
            "export the model again on this machine."
        )


def test_texts_are_run_in_one_batch_and_given_in_their_order(model, tokenizer):
    shapes = []

    def session(ids, mask):
        shapes.append(ids.shape)
        return [row_of(ids, mask), -row_of(ids, mask)]

    texts = [*TEXTS * 300, "lung " * 500]
    card = replace(model.card, max_tokens=20)
    first, second = run_texts(session, tokenizer, card, texts)
    ids = [tokenizer.encode(text).ids[:20] for text in texts]
    assert first.tolist() == [[sum(row), len(row)] for row in ids]
    assert second.tolist() == [[-sum(row), -len(row)] for row in ids]
    assert shapes == [(len(texts), 20)]
    assert len(list(batches(ids))) > 1


def test_a_source_has_samples_of_the_models_length(model, tokenizer):
    source = make_source(replace(model, card=replace(model.card, max_tokens=9)), tokenizer, ("vector",))
    assert (source.heads, source.threads) == (("vector",), 0)
    assert sorted(row for batch in source.samples[:1] for row in batch.rows) == list(range(len(source.samples[0].rows)))
    assert sum(len(batch.rows) for batch in source.samples) == len(sample_texts())
    assert {batch.ids.shape[1] for batch in source.samples} == {9}


def test_a_tokenizer_may_have_as_many_words_as_the_model(model, tokenizer):
    last = max(tokenizer.get_vocab().values())
    config = json.loads((model.folder / "config.json").read_text())
    assert config["vocab_size"] == last + 1
    network = replace(model.card.network, vocabulary=last)
    with pytest.raises(InputError, match="knows tokens that the model doesn't; fetch the model again"):
        make_source(replace(model, card=replace(model.card, network=network)), tokenizer, ("vector",))
