"""optimum's graphs give the vectors of ours; its folder is not trusted, and what it can't export is told."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from encoders.encoder import load_encoder
from encoders.layouts.exported import export_model
from encoders.registry import find_model
from encoders.runtimes.registry import RUNTIMES, fastest_of
from tests.encoders.runtimes.kinds import PADDED_TOGETHER
from tests.tiny import make_model

optimum = pytest.mark.optimum

TEXTS = [*PADDED_TOGETHER, "lung [PAD] <pad> cell <pad>"]
"""With the padding token of either family inside a text."""

DAMAGES = {
    "no graph": lambda folder: (folder / "model.onnx").unlink(),
    "half a graph": lambda folder: (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:-999]),
    "no pooling": lambda folder: (folder / "pooling.json").unlink(),
    "no json": lambda folder: (folder / "pooling.json").write_text("{"),
    "another pooling": lambda folder: changed(folder, "pooling", "max"),
    "another dimension": lambda folder: changed(folder, "dimension", 32),
    "no heads": lambda folder: changed(folder, "heads", []),
    "nothing normalized": lambda folder: changed(folder, "normalize", None),
}


def changed(folder, key, value):
    file = folder / "pooling.json"
    settings = json.loads(file.read_text())
    assert key in settings
    file.write_text(json.dumps(settings | {key: value}))


def pooled_as(model, **facts):
    return replace(model, card=replace(model.card, network=replace(model.card.network, **facts)))


@pytest.fixture
def encode(models, tmp_path):
    """Vectors of the plain model, or of another; a new encoder each time."""

    def run(model=models["plain"], runtime="optimum"):
        return load_encoder(model, cache_dir=tmp_path, runtime=runtime, precision="fp32").encode(TEXTS)

    return run


@pytest.fixture
def folder(encode, tmp_path):
    encode()
    (made,) = (tmp_path / "graphs").iterdir()
    return made


@optimum
@pytest.mark.parametrize(("pooling", "normalize"), [("cls", False), ("mean", False), ("code", True), ("mean", True)])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_it_gives_what_our_own_graph_gives(family, pooling, normalize, encode, tmp_path):
    model = find_model(str(make_model(tmp_path / "m", architecture=family)))
    model = pooled_as(model, pooling=pooling, normalize=normalize)
    found, expected = encode(model), encode(model, "onnx")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.abs(np.diff(expected, axis=0)).max(axis=1).min() > 0.01


@optimum
def test_it_gives_what_our_own_graph_gives_on_the_real_model(minilm, sentences):
    vectors = [minilm(runtime, "fp32").encode(sentences) for runtime in ("optimum", "onnx")]
    np.testing.assert_allclose(*vectors, atol=1e-4)


@optimum
def test_its_files_hold_all_it_needs_and_optimum_is_not_asked_again(encode, folder, monkeypatch):
    before = encode()
    monkeypatch.setitem(sys.modules, "optimum.exporters.onnx", None)
    monkeypatch.setattr("encoders.runtimes.sessions.make_source", None)
    np.testing.assert_array_equal(encode(), before)
    assert {file.name for file in folder.iterdir()} == {"model.onnx", "pooling.json"}


@optimum
def test_an_export_of_it_needs_no_optimum(models, encode, tmp_path, monkeypatch):
    expected = encode()
    export_model(models["plain"], tmp_path / "exported", runtime="optimum")
    monkeypatch.setitem(sys.modules, "optimum.exporters.onnx", None)
    found = load_encoder(str(tmp_path / "exported"), cache_dir=tmp_path / "other").encode(TEXTS)
    np.testing.assert_array_equal(found, expected)


@optimum
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_told(damage, encode, folder):
    DAMAGES[damage](folder)
    with pytest.raises(InputError) as told:
        encode()
    assert str(told.value) == f"{folder} holds an incomplete model of optimum; delete it, and it is created again."


@optimum
def test_it_reads_no_configuration_but_ours(encode, tmp_path):
    folder = make_model(tmp_path / "m")
    expected = encode(find_model(str(folder)), "onnx")
    settings = json.loads((folder / "config.json").read_text())
    settings |= {"quantization_config": {"quant_method": "none of them"}, "id2label": "many"}
    (folder / "config.json").write_text(json.dumps(settings))
    np.testing.assert_allclose(encode(find_model(str(folder))), expected, atol=1e-4)


@optimum
def test_it_reaches_for_no_network_and_keeps_standard_output_clean(encode, monkeypatch, capfd):
    def refuse(*args, **options):
        raise AssertionError("asked the network")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    encode()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["adapters", "shared-codes"])
def test_other_architectures_are_refused(kind, models, encode, tmp_path):
    with pytest.raises(InputError) as refused:
        encode(models[kind])
    assert str(refused.value) == (
        f"optimum exports plain networks alone, and {models[kind].card.name} is of the architecture {kind}; "
        "leave out runtime, or choose another."
    )
    assert list((tmp_path / "graphs").iterdir()) == []


@optimum
def test_weights_that_do_not_fit_are_told_as_by_other_runtimes(models, encode):
    for runtime in ("optimum", "onnx"):
        with pytest.raises(InputError, match=r"don't fit its config\.json \(.+\); fetch the model again"):
            encode(pooled_as(models["plain"], attention_heads=5), runtime)


@optimum
def test_what_the_exporter_can_not_do_is_told(encode, tmp_path, monkeypatch):
    def fail(*args, **options):
        raise RuntimeError("first line\nno such operator")

    monkeypatch.setattr("optimum.exporters.onnx.main_export", fail)
    with pytest.raises(UnavailableError, match=r"optimum can't export .+ \(no such operator\); leave out runtime"):
        encode()
    assert list((tmp_path / "graphs").iterdir()) == []


def test_a_missing_package_is_told(encode, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optimum.exporters.onnx", None)
    with pytest.raises(UnavailableError) as told:
        encode()
    assert str(told.value) == (
        "The optimum runtime is not installed: install ses with the extra optimum in an environment without the extra "
        "train, as they need different versions of transformers."
    )
    assert list((tmp_path / "graphs").iterdir()) == []


def test_auto_does_not_consider_it():
    everything = [runtime for runtime in RUNTIMES.values() if runtime.name != "auto"]
    without = [runtime for runtime in everything if runtime.name not in ("optimum", "transformers")]
    assert len(without) == len(everything) - 2
    assert RUNTIMES["auto"].version("fp32", 0) == fastest_of(without).version("fp32", 0)
