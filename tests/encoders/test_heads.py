"""Heads that a model ships with."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.heads import Head, read_heads, write_heads
from encoders.models.formats import Format

DRAW = np.random.default_rng(0)


def head(name="fields", labels=("a", "b", "c"), several=False):
    weight = DRAW.normal(size=(len(labels) or 1, 4)).astype(np.float32)
    return Head(name, Format.CLF, labels, several, weight, np.arange(len(labels) or 1, dtype=np.float32))


def test_what_is_written_is_read_back(tmp_path):
    written = [head(), head("tags", several=True), head("citations", labels=())]
    write_heads(tmp_path, written)
    found = read_heads(tmp_path)
    assert found.keys() == {"fields", "tags", "citations"}
    for one in written:
        again = found[one.name]
        assert (again.format, again.labels, again.several) == (one.format, one.labels, one.several)
        np.testing.assert_array_equal(again.weight, one.weight)
        np.testing.assert_array_equal(again.bias, one.bias)


def test_chances_of_labels_and_numbers():
    vectors = DRAW.normal(size=(5, 4)).astype(np.float32)
    one, several, number = head(), head(several=True), head(labels=())
    outputs = vectors @ one.weight.T + one.bias
    np.testing.assert_allclose(
        one.predict(vectors), np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True), rtol=1e-5
    )
    np.testing.assert_allclose(
        several.predict(vectors), 1 / (1 + np.exp(-(vectors @ several.weight.T + several.bias))), rtol=1e-5
    )
    np.testing.assert_allclose(number.predict(vectors), vectors @ number.weight.T, rtol=1e-5)


def test_outputs_of_any_size_have_chances():
    weight, bias, far = np.array([[1000.0], [0.0]], np.float32), np.zeros(2, np.float32), np.array([[1.0], [-1.0]])
    one, several = (Head("far", Format.CLF, ("a", "b"), kind, weight, bias).predict(far) for kind in (False, True))
    np.testing.assert_allclose(one, [[1, 0], [0, 1]], atol=1e-12)
    np.testing.assert_allclose(several, [[1, 0.5], [0, 0.5]], atol=1e-12)


def test_a_model_without_heads_has_none(tmp_path):
    assert read_heads(tmp_path) == {}


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder, told: (folder / "heads.safetensors").unlink(),
        lambda folder, told: (folder / "heads.safetensors").write_bytes(b"x" * 99),
        lambda folder, told: told["fields"].update(format="moon"),
        lambda folder, told: told["fields"].update(labels=7),
        lambda folder, told: told["fields"].pop("several"),
        lambda folder, told: told.update(other=told["fields"]),
        lambda folder, told: told.update(fields=[]),
        lambda folder, told: told["fields"].update(labels=["a", "b"]),
    ],
)
def test_damaged_heads_are_told(damage, tmp_path):
    write_heads(tmp_path, [head()])
    told = json.loads((tmp_path / "heads.json").read_text())
    damage(tmp_path, told)
    (tmp_path / "heads.json").write_text(json.dumps(told))
    with pytest.raises(InputError, match="fetch the model again"):
        read_heads(tmp_path)


@pytest.mark.parametrize(("weight", "bias"), [((3,), (3,)), ((3, 4, 1), (3,)), ((3, 4), (3, 1)), ((3, 4), (2,))])
def test_heads_of_other_shapes_are_told(weight, bias, tmp_path):
    write_heads(tmp_path, [replace(head(), weight=np.ones(weight, np.float32), bias=np.ones(bias, np.float32))])
    with pytest.raises(InputError) as refused:
        read_heads(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path / 'heads.json'} gives fields 3 outputs, and its weights are {weight} and {bias}; "
        "fetch the model again."
    )
