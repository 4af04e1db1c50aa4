"""Numbers, activations and layers in the configuration of an adapter."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from corpora.errors import InputError
from encoders.layouts.adapter_config import (
    activation_of,
    is_number,
    layers_of,
    number,
    read_made_for,
    weights_in,
    whole_number,
)

PATH = Path("adapter_config.json")
BASE = SimpleNamespace(name="base", family="bert", network=SimpleNamespace(width=64, layers=4))


@pytest.mark.parametrize(
    ("value", "above", "expected"),
    [
        (0, -1e6, True),
        (-999_999.5, -1e6, True),
        (-1e6, -1e6, False),
        (999_999, 0, True),
        (1e6, 0, False),
        (0, 0, False),
        (True, 0, False),
        ("1", 0, False),
        (float("nan"), 0, False),
    ],
)
def test_numbers_that_can_be_meant(value, above, expected):
    assert is_number(value, above) is expected
    if above == -1e6:
        assert is_number(value) is expected


def test_settings_that_are_left_out_have_the_librarys_values():
    assert whole_number(PATH, {"size": 1}, "size", 30) == 1
    assert whole_number(PATH, {"size": 999_999}, "size", 30) == 999_999
    assert whole_number(PATH, {}, "size", 30) == 30
    assert (number(PATH, {"scaling": 0}, "scaling", 2.5), number(PATH, {}, "scaling", 2.5)) == (0, 2.5)
    for wrong in (0, -1, 1_000_000, True, 2.0, None):
        with pytest.raises(InputError, match=f"sets size to {wrong}, which ses can't run; it knows positive whole"):
            whole_number(PATH, {"size": wrong}, "size", 30)
    with pytest.raises(InputError, match=f"sets scaling to {'x' * 60}, which"):
        number(PATH, {"scaling": "x" * 99}, "scaling", 1.0)


@pytest.mark.parametrize(
    ("named", "now", "before"),
    [
        ("ReLU", "relu", "relu"),
        ("gelu", "gelu", None),
        ("gelu_orig", None, "gelu"),
        ("swish", "silu", "silu"),
        ("silu", "silu", "silu"),
        ("tanh", "tanh", "tanh"),
        ("leakyrelu", "leaky_relu", "leaky_relu"),
        ("leaky_relu", "leaky_relu", "leaky_relu"),
        ("mish", None, None),
    ],
)
def test_activations_by_their_names_and_by_those_before_there_were_versions(named, now, before):
    for content, expected in (({"version": "adapters.1.0.0"}, now), ({}, before)):
        content["config"] = {"non_linearity": named}
        if expected:
            assert activation_of(PATH, content, "relu") == expected
        else:
            with pytest.raises(InputError, match=r"sets non_linearity to .*, which ses can't run; it knows the activ"):
                activation_of(PATH, content)
    assert activation_of(PATH, {"config": {}}, "tanh") == "tanh"


def test_layers_that_are_not_left_out():
    assert layers_of(PATH, {}, BASE) == layers_of(PATH, {"leave_out": None}, BASE) == [0, 1, 2, 3]
    assert layers_of(PATH, {"leave_out": [1, 3, 9]}, BASE) == [0, 2]
    for wrong in ("1", [True], [1.0], {"1": 1}):
        with pytest.raises(InputError, match="sets leave_out to something that is no list of layers"):
            layers_of(PATH, {"leave_out": wrong}, BASE)


def test_an_adapter_is_made_for_one_network(tmp_path):
    path = tmp_path / "adapter_config.json"

    def read(**changes):
        content = {"name": "a", "hidden_size": 64, "config": {}, "model_type": "bert"} | changes
        path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))
        return read_made_for(path, BASE)

    assert read(version="1") == {"name": "a", "hidden_size": 64, "config": {}, "model_type": "bert", "version": "1"}
    assert read(model_type=None)["name"] == "a"
    for changes, told in (
        ({"name": 3, "config": None}, "lacks name, config; fetch it again"),
        ({"hidden_size": 64.0}, "lacks hidden_size; fetch it again"),
        ({"hidden_size": 65}, "was made for a model with hidden size 65, and base has 64; use the base"),
        ({"model_type": "roberta"}, "was made for a roberta model, and base is a bert model; use the base"),
    ):
        with pytest.raises(InputError, match=told):
            read(**changes)


def test_the_first_file_of_weights_counts(tmp_path):
    (tmp_path / "b").touch()
    (tmp_path / "c").touch()
    assert weights_in(tmp_path, "a", "b", "c") == tmp_path / "b"
    with pytest.raises(InputError, match="holds no weights: put x or y there"):
        weights_in(tmp_path, "x", "y")
