"""torch as a runtime: its folder is not trusted, its threads are the caller's, and it says what is missing."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from corpora.errors import InputError, UnavailableError
from encoders.encoder import load_encoder
from tests.encoders.runtimes.kinds import HEADS, PADDED_TOGETHER

pytestmark = pytest.mark.torch


@pytest.fixture
def encode(models, tmp_path):
    """Vectors of the adapters model; a new encoder each time."""

    def run(runtime="torch", precision="fp32", threads=1):
        encoder = load_encoder(
            models["adapters"], cache_dir=tmp_path, runtime=runtime, precision=precision, threads=threads
        )
        return encoder.encode_formats(PADDED_TOGETHER, list(HEADS))

    return run


@pytest.fixture
def folder(encode, tmp_path):
    encode()
    (made,) = (tmp_path / "graphs").iterdir()
    return made


def changed(folder, path, value):
    """Sets a value in network.json, at a path of keys."""
    file = folder / "network.json"
    whole = json.loads(file.read_text())
    *parents, last = path
    inner = whole
    for key in parents:
        inner = inner[key]
    assert last in inner
    inner[last] = value
    file.write_text(json.dumps(whole))


def test_its_files_hold_all_it_needs(encode, folder, monkeypatch):
    before = encode()
    monkeypatch.setattr("encoders.runtimes.sessions.make_source", None)
    again = encode()
    for task_format in HEADS:
        np.testing.assert_array_equal(again[task_format], before[task_format])
    assert {file.name for file in folder.iterdir()} == {"model.safetensors", "network.json"}


def test_bf16_takes_half_the_room(encode, folder, tmp_path):
    encode(precision="bf16")
    (other,) = set((tmp_path / "graphs").iterdir()) - {folder}
    whole, half = ((path / "model.safetensors").stat().st_size for path in (folder, other))
    assert half < 0.6 * whole


NOT_FITTING = [
    (["card", "architecture"], "ensemble"),
    (["card", "architecture"], "experts"),
    (["card", "network", "layers"], 10**9),
    (["card", "network", "layers"], 4),
    (["card", "network", "layers"], "many"),
    (["card", "network", "attention_heads"], 0),
    (["card", "network", "attention_heads"], 5),
    (["card", "network", "first_position"], 1),
    (["card", "network", "first_position"], -1),
    (["card", "network", "positions"], 512),
    (["card", "network", "vocabulary"], 10**6),
    (["card", "network", "options"], {}),
    (["card", "network", "pooling"], "max"),
    (["card", "max_tokens"], 512),
    (["card", "dimension"], 32),
    (["heads"], 3),
    (["heads"], ["none"]),
]


def test_files_that_are_damaged_or_do_not_fit_are_told(encode, folder):
    network, weights = (folder / name for name in ("network.json", "model.safetensors"))
    whole, arrays = {file: file.read_bytes() for file in (network, weights)}, load_file(weights)
    name = "encoder.layer.1.output.dense.weight"
    damages = {
        **{f"{path} {value}": partial(changed, folder, path, value) for path, value in NOT_FITTING},
        "missing": lambda: save_file({key: array for key, array in arrays.items() if key != name}, weights),
        "shape": lambda: save_file(arrays | {name: arrays[name][:, :5].copy()}, weights),
        "none": lambda: save_file({}, weights),
        "half": lambda: weights.write_bytes(whole[weights][:-1000]),
        "no json": lambda: network.write_text("{"),
        "no files": network.unlink,
    }
    for damage, do in damages.items():
        do()
        with pytest.raises(InputError) as told:
            encode()
        expected = f"{folder} holds an incomplete torch model; delete it, and it is created again."
        assert str(told.value) == expected, damage
        for file, content in whole.items():
            file.write_bytes(content)
    encode()


def test_weights_of_another_shape_are_told_as_for_onnx(models, tmp_path):
    from dataclasses import replace

    model = models["plain"]
    network = replace(model.card.network, attention_heads=5)
    wrong = replace(model, card=replace(model.card, network=network))
    for runtime in ("torch", "onnx"):
        with pytest.raises(InputError, match=r"don't fit its config\.json \(.+\); fetch the model again"):
            load_encoder(wrong, cache_dir=tmp_path, runtime=runtime, precision="fp32").encode(["virus"])


def test_the_threads_are_those_of_the_calling_thread(encode):
    import torch

    def used(threads):
        encode(threads=threads)
        return torch.get_num_threads()

    before = torch.get_num_threads()
    try:
        assert used(1) == 1
        assert used(0) == 1  # as it was set before
        assert used(2) == 2
    finally:
        torch.set_num_threads(before)


def test_threads_may_share_it(models, tmp_path):
    encoder = load_encoder(models["shared-codes"], cache_dir=tmp_path, runtime="torch", precision="fp32", threads=1)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: encoder.encode(PADDED_TOGETHER, next(iter(HEADS))), range(8)))
    for vectors in results:
        np.testing.assert_allclose(vectors, results[0], atol=1e-5)


def test_a_missing_torch_is_told(encode, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "safetensors.torch", raising=False)
    with pytest.raises(UnavailableError, match=r"torch is not installed; run `pip install '.+\[train\]'`"):
        encode()
    assert list((tmp_path / "graphs").iterdir()) == []


def test_a_missing_gpu_is_told(encode, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UnavailableError, match="torch finds no GPU; install NVIDIA's driver"):
        encode("torch-cuda")


@pytest.mark.parametrize(("providers", "told"), [(["CPUExecutionProvider"], r"pip install '.+\[gpu\]'"), ([], "GPU")])
def test_an_onnxruntime_without_gpus_is_told(providers, told, models, tmp_path, monkeypatch):
    import onnxruntime

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: providers)
    with pytest.raises(UnavailableError, match=told):
        load_encoder(models["plain"], cache_dir=tmp_path, runtime="onnx-cuda").encode(["virus"])
