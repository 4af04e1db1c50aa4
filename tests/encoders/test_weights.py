"""Checkpoints are untrusted: whole ones of every precision are read, damaged and malicious ones are refused."""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from corpora.errors import InputError, UnavailableError
from encoders.weights import read_weights, weights_file

VALUES = np.array([[1.5, -2.0, 0.0], [3.25, 1e-3, 300.0]], dtype=np.float32)


def safetensors(path, kind, array):
    """Write the format by hand: the header's length, the header, the bytes."""
    header = json.dumps({"a": {"dtype": kind, "shape": array.shape, "data_offsets": [0, array.nbytes]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + array.tobytes())
    return path


def test_safetensors_is_taken_before_torch(tmp_path):
    (tmp_path / "pytorch_model.bin").touch()
    assert weights_file(tmp_path).name == "pytorch_model.bin"
    (tmp_path / "model.safetensors").touch()
    assert weights_file(tmp_path).name == "model.safetensors"


def test_half_precisions_become_float32(tmp_path):
    half = read_weights(safetensors(tmp_path / "half.safetensors", "F16", VALUES.astype(np.float16)))["a"]
    np.testing.assert_array_equal(half, VALUES.astype(np.float16).astype(np.float32))
    # bfloat16 is the upper half of a float32.
    upper = (VALUES.view(np.uint32) >> 16).astype(np.uint16)
    brain = read_weights(safetensors(tmp_path / "brain.safetensors", "BF16", upper))["a"]
    np.testing.assert_array_equal(brain, (upper.astype(np.uint32) << 16).view(np.float32))
    assert half.dtype == brain.dtype == np.float32


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-1],
        lambda whole: whole[:4],
        lambda whole: b"",
        lambda whole: b"\xff" * 8 + whole[8:],
        lambda whole: whole.replace(b'"F32"', b'"F99"'),
        lambda whole: whole.replace(b'"F32"', b'"U16"'),
        lambda whole: b"<!DOCTYPE html>" * 100,
        lambda whole: b"version https://git-lfs.github.com/spec/v1\n",
    ],
)
def test_a_damaged_safetensors_file_is_told(damage, tmp_path):
    path = tmp_path / "model.safetensors"
    save_file({"a": VALUES}, path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError) as refused:
        read_weights(path)
    assert str(refused.value).startswith(f"{path} is not a whole safetensors file (")
    assert str(refused.value).endswith("); fetch the model again.")


def test_a_precision_that_numpy_lacks_is_told(tmp_path):
    with pytest.raises(InputError, match="is not a whole safetensors file"):
        read_weights(safetensors(tmp_path / "m.safetensors", "F8_E4M3", np.zeros(4, np.uint8)))


@pytest.mark.torch
def test_a_torch_state_dict_is_read(tmp_path):
    import torch

    tensors = {"bert.a.LayerNorm.gamma": torch.tensor(VALUES).bfloat16(), "position_ids": torch.arange(3)}
    torch.save(tensors, tmp_path / "pytorch_model.bin")
    weights = read_weights(tmp_path / "pytorch_model.bin")
    assert list(weights) == ["a.LayerNorm.weight"]
    np.testing.assert_array_equal(weights["a.LayerNorm.weight"], tensors["bert.a.LayerNorm.gamma"].float().numpy())


class _Malicious:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.torch
@pytest.mark.parametrize("save", ["torch", "pickle"])
def test_a_malicious_pickle_never_runs(save, tmp_path):
    import torch

    path, trace = tmp_path / "pytorch_model.bin", tmp_path / "ran"
    bad = {"a": _Malicious(f"touch {trace}")}
    torch.save(bad, path) if save == "torch" else path.write_bytes(pickle.dumps(bad))
    with pytest.raises(InputError) as refused:
        read_weights(path)
    assert str(refused.value) == f"{path} is not a safe torch state dict; fetch it as safetensors."
    assert not trace.exists()


@pytest.mark.torch
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half a zip", b"\x80\x02]q\x00."])
def test_a_damaged_torch_file_is_told(content, tmp_path):
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a safe torch state dict"):
        read_weights(path)


def test_without_torch_its_files_are_refused_with_a_way_out(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it raises ImportError
    path = tmp_path / "pytorch_model.bin"
    with pytest.raises(UnavailableError) as missing:
        read_weights(path)
    assert str(missing.value) == (
        f"{path} is a torch file, and torch is not installed: run `pip install 'ses[train]'`, "
        "or put the same weights there as model.safetensors."
    )
