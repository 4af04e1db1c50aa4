"""Checkpoints are untrusted: whole ones of every precision are read, damaged and malicious ones are refused."""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from corpora.errors import InputError, UnavailableError
from encoders.models.weights import read_checkpoint, read_weights, weights_file

VALUES = np.array([[1.5, -2.0, 0.0], [3.25, 1e-3, 300.0]], dtype=np.float32)


def safetensors(path, kind, array):
    """Write the format by hand: the header's length, the header, the bytes."""
    header = json.dumps({"a": {"dtype": kind, "shape": array.shape, "data_offsets": [0, array.nbytes]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + array.tobytes())
    return path


def save_torch(path, content, *, old=False):
    """Save with torch, arrays as tensors; `old` is the format before version 1.6."""
    import torch

    def tensors(value):
        if isinstance(value, dict):
            return {name: tensors(part) for name, part in value.items()}
        return torch.tensor(value) if isinstance(value, np.ndarray) else value

    torch.save(tensors(content), path, _use_new_zipfile_serialization=not old)
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
    assert str(refused.value).startswith(f"{path} is an incomplete safetensors file (")
    assert str(refused.value).endswith("); fetch the model again.")


def test_a_precision_that_numpy_lacks_is_told(tmp_path):
    with pytest.raises(InputError, match="is an incomplete safetensors file"):
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
    assert str(refused.value) == (
        f"{path} is damaged, or holds more than weights and plain values, which could run code; "
        "fetch it again, as safetensors if there are, or save it again with those alone."
    )
    assert not trace.exists()


@pytest.mark.torch
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is damaged, or holds more"),
        (b"PK\x03\x04 half a zip", r"is an incomplete torch file \(File is not a zip file\); fetch"),
        (b"\x80\x02]q\x00.", "is damaged, or holds more"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is damaged, or holds more"),
    ],
)
def test_a_damaged_torch_file_is_told(content, told, tmp_path):
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(content)
    with pytest.raises(InputError, match=told):
        read_weights(path)


@pytest.mark.torch
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 0.999), old=st.booleans())
def test_a_truncated_torch_file_is_told(share, old, tmp_path):
    path = save_torch(tmp_path / "pytorch_model.bin", {"a": VALUES}, old=old)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=f"^{path} is (damaged|an incomplete torch file)"):
        read_weights(path)


@pytest.mark.torch
@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("nested", ["", "state_dict", "model_dict"])
def test_both_formats_of_torch_and_checkpoints_of_training_are_read(old, nested, tmp_path):
    content = {nested: {"a": VALUES}, "encoder_params": {"num_expert": 3}, "epoch": 1} if nested else {"a": VALUES}
    checkpoint = read_checkpoint(save_torch(tmp_path / "m.ckpt", content, old=old))
    np.testing.assert_array_equal(checkpoint.arrays["a"], VALUES)
    assert checkpoint.settings == ({"num_expert": 3} if nested else {})


@pytest.mark.torch
def test_an_archive_that_torch_would_not_pack_is_refused(tmp_path):
    path = save_torch(tmp_path / "pytorch_model.bin", {"a": np.zeros((300, 300), np.float32)})
    with zipfile.ZipFile(path) as archive:
        parts = {part.filename: archive.read(part) for part in archive.infolist()}
    renamed = {f"../../{name}": content for name, content in parts.items()}
    for written, how in ((parts, zipfile.ZIP_DEFLATED), (renamed, zipfile.ZIP_STORED)):
        with zipfile.ZipFile(path, "w", how) as archive:
            for name, content in written.items():
                archive.writestr(name, content)
        with pytest.raises(InputError, match="is not packed as torch packs its files; fetch the model from a source"):
            read_weights(path)


@pytest.mark.torch
def test_parts_that_overlap_are_refused(tmp_path):
    path = save_torch(tmp_path / "pytorch_model.bin", {"a": np.ones(5000, np.float32), "b": VALUES})
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        big = max(archive.infolist(), key=lambda part: part.file_size)
        small = next(part for part in archive.infolist() if part.file_size == VALUES.nbytes)
    # In the directory at the end, let the small part be as big as the big one and begin where that does.
    entry = whole.rindex(b"PK\x01\x02", 0, whole.rindex(small.filename.encode()))
    sizes = struct.pack("<III", big.CRC, big.file_size, big.file_size)
    forged = bytearray(whole)
    forged[entry + 16 : entry + 28] = sizes
    forged[entry + 42 : entry + 46] = struct.pack("<I", big.header_offset)
    path.write_bytes(forged)
    with pytest.raises(InputError, match="is not packed as torch packs its files"):
        read_weights(path)


@pytest.mark.torch
@pytest.mark.parametrize("old", [False, True])
def test_a_tensor_that_unpacks_to_far_more_than_its_file_is_refused(old, tmp_path):
    import torch

    huge = torch.zeros(1, dtype=torch.float16).expand(10**6, 10**6)
    path = save_torch(tmp_path / "pytorch_model.bin", {"a": huge}, old=old)
    with pytest.raises(InputError, match="unpacks to far more than its size; fetch the model from a source you trust"):
        read_weights(path)


@pytest.mark.torch
@pytest.mark.parametrize("content", [{"a": "words"}, {"a": VALUES, "step": 3}, [1, 2], {"state_dict": {"a": None}}])
def test_what_is_no_state_dict_is_told(content, tmp_path):
    with pytest.raises(InputError, match="is damaged, or holds more than weights"):
        read_weights(save_torch(tmp_path / "pytorch_model.bin", content))


def test_without_torch_its_files_are_refused_with_a_way_out(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it raises ImportError
    path = tmp_path / "pytorch_model.bin"
    with pytest.raises(UnavailableError) as missing:
        read_weights(path)
    assert str(missing.value) == (
        f"{path} is a torch file, and torch is not installed: run `pip install 'ses-scholar[train]'`, "
        "or get the same weights as safetensors."
    )
