"""Folders of adapters that can't be used: each is refused in one sentence that names the file."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.layouts.adapter_files import (
    activation_of,
    is_number,
    layers_of,
    number,
    read_made_for,
    weights_in,
    whole_number,
)
from encoders.registry import find_model
from tests.encoders.layouts.adapted import (
    TEXTS,
    adapter,
    change,
    change_weights,
    encoder_of,
    expected,
    fusion,
    model_with,
    refused,
    write_card,
)

REFUSED = {
    "mh_adapter": True,
    "output_adapter": False,
    "original_ln_before": False,
    "original_ln_after": False,
    "residual_before_ln": "post_add",
    "ln_before": True,
    "ln_after": True,
    "is_parallel": True,
    "phm_layer": True,
    "use_gating": True,
    "inv_adapter": "nice",
    "scaling": "learned",
    "non_linearity": "gelu_new",
    "architecture": "union",
}


@pytest.mark.parametrize(("key", "value"), REFUSED.items())
def test_other_networks_are_refused_by_name(key, value, base, tmp_path):
    folder = adapter(tmp_path / "a", base, **{key: value})
    told = refused(model_with(tmp_path / "m", base, prx=folder), tmp_path)
    assert told.startswith(f"{folder / 'adapter_config.json'} sets {key} to {value}, which ses can't run; it knows ")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [("scaling", float("nan"), "NaN is not finite"), ("reduction_factor", True, "gives no red")],
)
def test_numbers_that_are_none_are_refused(key, value, said, base, tmp_path):
    assert said in refused(
        model_with(tmp_path / "m", base, prx=adapter(tmp_path / "a", base, **{key: value})), tmp_path
    )


def test_activations_of_the_first_releases_had_other_names(base, tmp_path):
    folder = adapter(tmp_path / "a", base, legacy=True, non_linearity="gelu_orig", inv_adapter="nice")
    model = model_with(tmp_path / "m", base, prx=folder)
    assert find_model(str(model)).card.network.options["adapters"]["prx"]["activation"] == "gelu"
    change(folder / "adapter_config.json", non_linearity="gelu")
    assert "sets non_linearity to gelu_new" in refused(model, tmp_path)


def part(layer, rest, name="[PRX]"):
    return f"encoder.layer.{layer}.output.adapters.{name}.{rest}"


FAULTS = {
    "missing": (
        lambda w: {k: a for k, a in w.items() if "layer.1" not in k},
        f"it lacks {part(1, 'adapter_down.0.weight')}, {part(1, 'adapter_down.0.bias')}, ",
    ),
    "surplus": (lambda w: w | {part(9, "adapter_up.bias"): w[part(0, "adapter_up.bias")]}, f"it holds {part(9, '')}"),
    "another name": (lambda w: {k.replace("PRX", "QRY"): a for k, a in w.items()}, "and holds encoder.layer.0.output."),
    "another shape": (
        lambda w: w | {part(0, "adapter_up.weight"): np.ones((64, 3), np.float32)},
        f"it has in another shape {part(0, 'adapter_up.weight')} (64, 3)",
    ),
    "not numbers": (
        lambda w: {k: a * np.nan for k, a in w.items()},
        "are damaged: encoder.layer.0.output.adapters.prx.adapter_",
    ),
}


@pytest.mark.parametrize(("fault", "told"), FAULTS.values(), ids=FAULTS)
def test_weights_that_do_not_fit_are_told_with_their_file(fault, told, base, tmp_path):
    folder = adapter(tmp_path / "a", base)
    change_weights(folder / "adapter.safetensors", fault)
    message = refused(model_with(tmp_path / "m", base, prx=folder), tmp_path)
    assert told in message
    assert str(folder / "adapter.safetensors") in message or "damaged" in message


def test_a_fusion_whose_weights_do_not_fit_is_told(base, tmp_path):
    folder, fused = adapter(tmp_path / "a", base), fusion(tmp_path / "f", base, ["[PRX]"])
    model = write_card(tmp_path / "m", base=str(base), adapters={"prx": str(folder)}, fusions={"prx": str(fused)})
    file = fused / "model_adapter_fusion.safetensors"
    change_weights(file, lambda w: {k: a for k, a in w.items() if not k.endswith("value.weight")})
    assert f"{file} doesn't fit its configuration and {base}: it lacks encoder.layer.0.output" in refused(
        model, tmp_path
    )
    for key, value in {"query_before_ln": True, "value": False, "residual_before": True, "temperature": True}.items():
        fusion(tmp_path / key, base, ["[PRX]"])
        change(tmp_path / key / "adapter_fusion_config.json", **{key: value})
        write_card(model, base=str(base), adapters={"prx": str(folder)}, fusions={"prx": str(tmp_path / key)})
        assert f"sets {key} to {value}, which ses can't run" in refused(model, tmp_path)


CONFIGS = {"no JSON": "{", "empty inside": '{"config": {}, "name": "a", "hidden_size": 64}'}


@pytest.mark.parametrize("content", CONFIGS.values(), ids=CONFIGS)
def test_a_damaged_configuration_is_told(content, base, tmp_path):
    folder = adapter(tmp_path / "a", base)
    (folder / "adapter_config.json").write_text(content)
    assert str(folder / "adapter_config.json") in refused(model_with(tmp_path / "m", base, prx=folder), tmp_path)


def test_a_folder_without_a_part_is_told(base, tmp_path):
    folder = adapter(tmp_path / "a", base)
    model = model_with(tmp_path / "m", base, prx=folder)
    (folder / "adapter.safetensors").unlink()
    assert (
        refused(model, tmp_path) == f"{folder} holds no weights: put adapter.safetensors or pytorch_adapter.bin there."
    )
    (folder / "adapter_config.json").unlink()
    assert f"{folder} holds no adapter_config.json" in refused(model, tmp_path)


class Malicious:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


@pytest.mark.torch
@pytest.mark.parametrize("how", ["truncated", "malicious", "not tensors", "empty"])
def test_torch_files_are_read_as_untrusted_input(how, base, tmp_path):
    import torch

    folder = adapter(tmp_path / "a", base, safetensors=False)
    file, mark = folder / "pytorch_adapter.bin", tmp_path / "attacked"
    if how == "truncated":
        file.write_bytes(file.read_bytes()[:-1000])
    elif how == "malicious":
        torch.save({"encoder.layer.0": Malicious(mark)}, file)
        attack, arguments = Malicious(mark).__reduce__()
        attack(*arguments)  # what unpickling the file would do
        mark.unlink()
    elif how == "not tensors":
        torch.save({"a": "b"}, file)
    else:
        file.write_bytes(b"")
    assert refused(model_with(tmp_path / "m", base, prx=folder), tmp_path).startswith(f"{file} ")
    assert not mark.exists()


@pytest.mark.parametrize("size", [0, 7, 100, -1])
def test_truncated_safetensors_are_told(size, base, tmp_path):
    folder = adapter(tmp_path / "a", base)
    file = folder / "adapter.safetensors"
    file.write_bytes(file.read_bytes()[:size])
    assert f"{file} is an incomplete safetensors file" in refused(
        model_with(tmp_path / "m", base, prx=folder), tmp_path
    )


def test_names_inside_files_are_never_paths(base, tmp_path):
    name = "../../../etc/passwd"
    folder = adapter(tmp_path / "a", base, name)
    model = model_with(tmp_path / "m", base, prx=folder)
    vectors = encoder_of(model, tmp_path).encode(TEXTS)
    np.testing.assert_allclose(vectors, expected(base, folder, name, model), atol=1e-4)


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
    for content, name in (({"version": "adapters.1.0.0"}, now), ({}, before)):
        content["config"] = {"non_linearity": named}
        if name:
            assert activation_of(PATH, content, "relu") == name
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
