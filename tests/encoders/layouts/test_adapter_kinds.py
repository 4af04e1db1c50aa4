"""LoRA, (IA)^3 and prefixes, alone and beside bottlenecks, of AdapterHub's files and of PEFT's."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders import checkpoints
from tests.encoders.checkpoints.adapterhub import IA3
from tests.encoders.formulas.lora import lora_vector, peft_vector, prefix_vector
from tests.encoders.layouts.adapted import (
    LAYERS,
    TEXTS,
    adapter,
    change,
    change_weights,
    config_of,
    encoder_of,
    expected,
    fusion,
    ids_of,
    model_with,
    refused,
    write_card,
)
from tests.encoders.oracle import Oracle
from tests.tiny import make_model

LORAS = {
    "as the library has it": {},
    "all of attention": {"attn_matrices": ["q", "k", "v"], "alpha": 7},
    "keys alone": {"attn_matrices": ["k"], "leave_out": [0], "r": 1},
    "the feed-forward network alone": {"selfattn_lora": False, "intermediate_lora": True, "output_lora": True},
    "all": {"attn_matrices": ["v", "q", "k"], "intermediate_lora": True, "output_lora": True, "alpha": 2.5},
    "not in the last layer": {"leave_out": [1, 2]},
    "ia3": IA3,
    "ia3 everywhere": IA3 | {"attn_matrices": ["q", "k", "v"], "output_lora": True, "alpha": 2},
}
PREFIXES = {
    "made by a network": {},
    "flat": {"flat": True},
    "of one token": {"prefix_length": 1, "leave_out": [0]},
    "in the middle alone": {"leave_out": [0, 2]},
    "gated": {"use_gating": True},
    "with a gate each": {"flat": True, "use_gating": True, "shared_gating": False},
    **{f"through {one}": {"non_linearity": one} for one in ("gelu", "relu", "silu", "leaky_relu")},
}
PEFTS = {
    "as the library has it": {},
    "every linear layer": {"target_modules": ["query", "key", "value", "dense"], "prefix": "bert.", "heads": True},
    "some layers": {"target_modules": ["encoder.layer.2.output.dense", "key"], "layers_to_transform": [2]},
    "rank-stabilized": {"use_rslora": True},
}


def settings_of(folder):
    content = json.loads((folder / "adapter_config.json").read_text())
    return content.get("config", content)


def check(vectors, folder, base, model, formula, *name):
    weights = load_file(next(folder.glob("*.safetensors")))
    right = [formula(Oracle(base), weights, settings_of(folder), *name, ids) for ids in ids_of(model)]
    np.testing.assert_allclose(vectors, right, atol=1e-4)


@pytest.mark.parametrize("options", LORAS.values(), ids=LORAS)
def test_lora_gives_the_vectors_of_the_formula(options, base, tmp_path):
    folder = checkpoints.make_lora(tmp_path / "a", config_of(base), "mine", seed=1, **options)
    model = model_with(tmp_path / "m", base, prx=folder)
    encoder = encoder_of(model, tmp_path)
    check(encoder.encode(TEXTS), folder, base, model, lora_vector, "mine")
    left_out = options.get("leave_out", [])
    assert encoder.card.network.shared_layers == min(set(range(LAYERS)) - set(left_out))


@pytest.mark.parametrize("options", PREFIXES.values(), ids=PREFIXES)
def test_a_prefix_gives_the_vectors_of_the_formula(options, base, tmp_path):
    folder = checkpoints.make_prefix(tmp_path / "a", config_of(base), "mine", seed=1, **options)
    model = model_with(tmp_path / "m", base, prx=folder)
    check(encoder_of(model, tmp_path).encode(TEXTS), folder, base, model, prefix_vector, "mine")


@pytest.mark.parametrize("options", PEFTS.values(), ids=PEFTS)
def test_lora_of_peft_gives_the_vectors_of_the_formula(options, base, tmp_path):
    folder = checkpoints.make_peft(tmp_path / "a", config_of(base), seed=1, **options)
    model = model_with(tmp_path / "m", base, prx=folder)
    check(encoder_of(model, tmp_path).encode(TEXTS), folder, base, model, peft_vector)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_each_format_has_an_adapter_of_its_own_kind(pooling, base, tmp_path):
    config = config_of(base)
    folders = {
        "clf": checkpoints.make_lora(tmp_path / "l", config, "l", seed=1, leave_out=[0], intermediate_lora=True),
        "rgn": checkpoints.make_prefix(tmp_path / "p", config, "p", seed=2, leave_out=[0], use_gating=True),
        "prx": adapter(tmp_path / "b", base, "b", leave_out=[0]),
        "qry": checkpoints.make_lora(tmp_path / "i", config, "i", seed=4, leave_out=[0, 1], **IA3),
    }
    model = model_with(tmp_path / "m", base, **folders)
    encoder = encoder_of(model, tmp_path)
    assert encoder.card.network.shared_layers == 1
    assert encoder.card.passes(list(Format)) == [tuple(Format)]
    together = encoder.encode_formats(TEXTS, list(Format))
    check(together[Format.CLF], folders["clf"], base, model, lora_vector, "l")
    check(together[Format.RGN], folders["rgn"], base, model, prefix_vector, "p")
    check(together[Format.QRY], folders["qry"], base, model, lora_vector, "i")
    np.testing.assert_allclose(together[Format.PRX], expected(base, folders["prx"], "b", model), atol=1e-4)
    write_card(model, **(json.loads((model / "ses_card.json").read_text()) | {"pooling": pooling}))
    encoder = encoder_of(model, tmp_path)
    for task_format, vectors in encoder.encode_formats(TEXTS, list(Format)).items():
        np.testing.assert_allclose(encoder.encode(TEXTS, task_format), vectors, atol=1e-5)


@pytest.mark.torch
def test_torch_files_and_their_copies_are_read(base, tmp_path):
    """A torch file holds a prefix once, under the name of each layer: many times its size, if counted by name."""
    deep = make_model(tmp_path / "deep", layers=20)
    folder = checkpoints.make_prefix(
        tmp_path / "a", config_of(deep), "mine", seed=1, safetensors=False, flat=True, prefix_length=30
    )
    model = model_with(tmp_path / "m", deep, prx=folder)
    weights = checkpoints.read_weights(folder / "pytorch_adapter.bin")
    right = prefix_vector(Oracle(deep), weights, settings_of(folder), "mine", ids_of(model)[2])
    np.testing.assert_allclose(encoder_of(model, tmp_path).encode(TEXTS)[2], right, atol=1e-3)


REFUSED = {
    "use_gating": ("lora", True),
    "use_dora": ("lora", True),
    "vera_d": ("lora", 0.1),
    "vera_b": ("lora", 0.0),
    "composition_mode": ("lora", "concat"),
    "attn_matrices": ("lora", ["q", "o"]),
    "r": ("lora", 0),
    "alpha": ("lora", "8"),
    "prefix_length": ("prefix", -1),
    "bottleneck_size": ("prefix", 2.5),
    "non_linearity": ("prefix", "mish"),
    "peft_type": ("peft", "VERA"),
    "rank_pattern": ("peft", {"query": 2}),
    "bias": ("peft", "all"),
    "init_lora_weights": ("peft", "pissa"),
    "target_modules": ("peft", ".*query"),
    "lora_alpha": ("peft", None),
}


ODD = {"attn_matrices": ("lora", ["q", [1]]), "architecture": ("lora", ["lora"]), "r": ("lora", [8])}
"""Values of another kind than any that the library writes."""


@pytest.mark.parametrize(("key", "given"), [*REFUSED.items(), *ODD.items()])
def test_what_can_not_run_is_refused_by_the_name_of_its_option(key, given, base, tmp_path):
    kind, value = given
    make = {"lora": checkpoints.make_lora, "prefix": checkpoints.make_prefix}
    if kind == "peft":
        folder = checkpoints.make_peft(tmp_path / "a", config_of(base), seed=1)
        (folder / "adapter_config.json").write_text(json.dumps(settings_of(folder) | {key: value}))
    else:
        folder = make[kind](tmp_path / "a", config_of(base), "mine", seed=1)
        change(folder / "adapter_config.json", **{key: value})
    told = refused(model_with(tmp_path / "m", base, prx=folder), tmp_path)
    assert told.startswith(f"{folder / 'adapter_config.json'} sets {key} to {value}, which ses can't run; it knows ")
    assert "damaged" not in told


def test_scales_are_of_rank_one(base, tmp_path):
    folder = checkpoints.make_lora(tmp_path / "a", config_of(base), "mine", seed=1, **IA3)
    change(folder / "adapter_config.json", r=2)
    assert "sets r to 2, which ses can't run" in refused(model_with(tmp_path / "m", base, prx=folder), tmp_path)


@pytest.mark.parametrize("edit", ["missing", "surplus", "another shape"])
@pytest.mark.parametrize("kind", ["lora", "prefix", "peft"])
def test_weights_that_do_not_fit_are_told(kind, edit, base, tmp_path):
    make = {"lora": checkpoints.make_lora, "prefix": checkpoints.make_prefix}
    options = {"flat": True, "use_gating": True} if kind == "prefix" else {}
    if kind == "peft":
        folder = checkpoints.make_peft(tmp_path / "a", config_of(base), seed=1)
    else:
        folder = make[kind](tmp_path / "a", config_of(base), "mine", seed=1, **options)
    file = next(folder.glob("*.safetensors"))
    name = next(name for name in load_file(file) if "pool" not in name)

    def changed(weights):
        if edit == "surplus":
            return weights | {"encoder.layer.9.extra": weights[name]}
        return {
            k: a[:-1] if edit == "another shape" else a for k, a in weights.items() if k != name or edit != "missing"
        }

    change_weights(file, changed)
    told = refused(model_with(tmp_path / "m", base, prx=folder), tmp_path)
    verb = {"missing": "lacks", "surplus": "holds", "another shape": "has in another shape"}[edit]
    assert told.startswith(f"{file} doesn't fit its configuration and {base}: it {verb} ")


def test_only_bottlenecks_are_fused(base, tmp_path):
    lora = checkpoints.make_lora(tmp_path / "a", config_of(base), "mine", seed=1)
    fused = fusion(tmp_path / "f", base, ["mine"])
    model = write_card(tmp_path / "m", base=str(base), adapters={"prx": str(lora)}, fusions={"prx": str(fused)})
    assert refused(model, tmp_path) == f"{fused} fuses mine, and only bottleneck adapters can be fused; leave it out."


def test_fingerprints_know_the_scaling_and_the_kind(base, tmp_path):
    folder = checkpoints.make_lora(tmp_path / "a", config_of(base), "mine", seed=1)
    model = str(model_with(tmp_path / "m", base, prx=folder))
    before = find_model(model).card
    change(folder / "adapter_config.json", alpha=16)
    after = find_model(model).card
    assert after.weights_sha256 == before.weights_sha256
    assert after.fingerprint != before.fingerprint
