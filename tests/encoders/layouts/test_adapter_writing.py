"""Adapters and fusions written for AdapterHub's library: read back by ses, and by the library where it is installed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from corpora.errors import InputError, UnavailableError
from encoders.layouts.adapter_files import ACTIVATIONS
from encoders.layouts.adapter_kinds import bottleneck_width
from encoders.layouts.adapter_writing import _factor, write_adapter, write_fusion, write_lora
from encoders.models.formats import Format
from encoders.models.model import read_checked
from encoders.registry import find_model
from tests.encoders.checkpoints import make_lora, make_multilingual
from tests.encoders.layouts.adapted import (
    NAMES,
    TEXTS,
    adapter,
    config_of,
    encoder_of,
    fusion,
    ids_of,
    library_model,
    library_vectors,
    model_with,
    write_card,
)


def test_adapters_and_fusions_written_are_those_that_are_read(base, tmp_path):
    left_out = {"clf": (), "prx": (0,), "qry": (0, 1)}
    folders = {
        key: adapter(tmp_path / key, base, NAMES[key], seed=i, leave_out=left_out[key], scaling=0.5, reduction=3 + i)
        for i, key in enumerate(left_out)
    }
    names = [NAMES[key] for key in left_out]
    fused = fusion(tmp_path / "f", base, names)
    told = {"adapters": {key: str(path) for key, path in folders.items()}, "fusions": {"prx": str(fused)}}
    model = find_model(str(write_card(tmp_path / "m", base=str(base), **told)))
    weights, card = read_checked(model, ["prx"]), find_model(str(base)).card
    for key in left_out:
        facts = model.card.network.options["adapters"][key]
        write_adapter(tmp_path / "w" / key, weights, key, name=NAMES[key], base=card, **facts)
    write_fusion(tmp_path / "w" / "f", weights, "prx", adapters=names, base=card)
    again = {"adapters": {key: str(tmp_path / "w" / key) for key in left_out}, "fusions": {"prx": "f"}}
    other = find_model(str(write_card(tmp_path / "w", base=str(base), **again)))
    assert (other.card.network, other.card.heads) == (model.card.network, model.card.heads)
    assert other.card.settings_sha256 == model.card.settings_sha256
    for name, array in read_checked(other, ["prx"]).items():
        np.testing.assert_array_equal(array, weights[name])
    settings = json.loads((tmp_path / "w" / "prx" / "adapter_config.json").read_text())
    assert (settings["model_name"], settings["config"]["leave_out"]) == ("base", [0])


def test_a_written_adapter_replaces_one_of_the_other_form(base, tmp_path):
    folder = adapter(tmp_path / "a", base)
    model = find_model(str(model_with(tmp_path / "m", base, prx=folder)))
    weights, card = read_checked(model, ["prx"]), find_model(str(base)).card
    (folder / "pytorch_adapter.bin").write_bytes(b"older")
    write_adapter(folder, weights, "prx", name="[PRX]", base=card)
    assert sorted(path.name for path in folder.iterdir()) == ["adapter.safetensors", "adapter_config.json"]
    with pytest.raises(ValueError, match="hold no complete qry"):
        write_adapter(tmp_path / "n", weights, "qry", name="[QRY]", base=card)
    (tmp_path / "file").touch()
    with pytest.raises(UnavailableError, match="can't be written"):
        write_adapter(tmp_path / "file" / "x", weights, "prx", name="[PRX]", base=card)


LORAS = {
    "as the library has it": {},
    "keys in the last layers": {"attn_matrices": ["k"], "leave_out": [0], "r": 1},
    "the feed-forward network alone": {"selfattn_lora": False, "intermediate_lora": True, "output_lora": True},
    "all": {"attn_matrices": ["q", "k", "v"], "intermediate_lora": True, "output_lora": True, "alpha": 2.5},
}


@pytest.mark.parametrize("options", LORAS.values(), ids=LORAS)
def test_lora_written_is_what_is_read(options, base, tmp_path):
    folder = make_lora(tmp_path / "a", config_of(base), "mine", seed=1, **options)
    model, card = find_model(str(model_with(tmp_path / "m", base, prx=folder))), find_model(str(base)).card
    weights, facts = read_checked(model, ["prx"]), model.card.network.options["adapters"]["prx"]
    write_lora(tmp_path / "w" / "prx", weights, "prx", name="[PRX]", base=card, **facts)
    other = find_model(str(write_card(tmp_path / "w", base=str(base), adapters={"prx": "prx"})))
    assert other.card.network == model.card.network
    again = read_checked(other, ["prx"])
    assert again.keys() == weights.keys()
    assert all(np.array_equal(array, weights[name]) for name, array in again.items())
    del weights[next(name for name in weights if name.endswith("lora_B.weight"))]
    with pytest.raises(ValueError, match="hold no complete LoRA of prx"):
        write_lora(tmp_path / "n", weights, "prx", name="[PRX]", base=card)


def test_the_names_are_those_of_the_bases_family(tmp_path):
    base = make_multilingual(tmp_path / "base")
    model = find_model(str(model_with(tmp_path / "m", base, prx=adapter(tmp_path / "a", base))))
    weights, card = read_checked(model, ["prx"]), find_model(str(base)).card
    write_adapter(tmp_path / "n", weights, "prx", name="[PRX]", base=card)
    assert all(name.startswith("roberta.encoder.") for name in load_file(tmp_path / "n" / "adapter.safetensors"))
    settings = json.loads((tmp_path / "n" / "adapter_config.json").read_text())
    assert (settings["model_type"], settings["model_class"]) == ("xlm-roberta", "XLMRobertaAdapterModel")
    with pytest.raises(InputError, match="has no adapters for camembert models"):
        write_adapter(tmp_path / "o", weights, "prx", name="x", base=replace(card, family="camembert"))


@given(st.integers(1, 2048), st.integers(1, 4096))
def test_reduction_factors_give_back_the_width(width, narrow):
    factor = json.loads(json.dumps(_factor(width, narrow)))
    assert max(int(width // factor), 1) == narrow  # as the library computes it


def test_the_width_is_the_librarys(base):
    card = find_model(str(base)).card
    factors = {16: 4, 2.5: 25, 1000: 1}
    assert {factor: bottleneck_width(base, factor, 1, card) for factor in factors} == factors
    assert bottleneck_width(base, {"1": 4, "default": 2}, 1, card) == 16
    assert bottleneck_width(base, {"default": 2}, 1, card) == 32
    with pytest.raises(InputError, match="gives no reduction_factor for layer 1"):
        bottleneck_width(base, {"0": 4}, 1, card)


# The library itself, which can't be installed beside transformers 5.


def widen(model):
    import torch

    torch.manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".adapters." in name or "adapter_fusion_layer" in name:
                parameter.normal_(std=0.05 if "fusion" in name else 0.2)


@pytest.mark.adapters
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_library_and_ses_read_each_others_adapters(activation, base, tmp_path):
    model = library_model(base)
    from adapters import SeqBnConfig

    config = SeqBnConfig(reduction_factor=5, leave_out=[0], non_linearity=activation, scaling=0.5)
    for name in ("[PRX]", "[QRY]"):
        model.add_adapter(name, config=config)
    widen(model)
    for key, name, safe in (("prx", "[PRX]", True), ("qry", "[QRY]", False)):
        model.save_adapter(str(tmp_path / key), name, use_safetensors=safe)
    ours = model_with(tmp_path / "m", base, prx=tmp_path / "prx", qry=tmp_path / "qry")
    encoder, ids = encoder_of(ours, tmp_path), ids_of(ours)
    vectors = encoder.encode_formats(TEXTS, [Format.PRX, Format.QRY])
    for key, name in (("prx", "[PRX]"), ("qry", "[QRY]")):
        np.testing.assert_allclose(vectors[Format(key)], library_vectors(model, name, ids), atol=1e-5)

    found, again = find_model(str(ours)), library_model(base)
    weights, card = read_checked(found, ["prx", "qry"]), find_model(str(base)).card
    for key in ("prx", "qry"):
        facts = found.card.network.options["adapters"][key]
        write_adapter(tmp_path / "w" / key, weights, key, name=f"w-{key}", base=card, **facts)
        told = {}
        again.load_adapter(str(tmp_path / "w" / key), use_safetensors=True, loading_info=told)
        assert not any(told.values())
        np.testing.assert_allclose(library_vectors(again, f"w-{key}", ids), vectors[Format(key)], atol=1e-5)


@pytest.mark.adapters
@pytest.mark.filterwarnings("ignore")
def test_the_library_and_ses_read_each_others_fusions(base, tmp_path):
    model = library_model(base)
    from adapters.composition import Fuse

    codes = ["[CLF]", "[PRX]", "[QRY]", "[RGN]"]
    for code in codes:
        model.add_adapter(code, config="seq_bn")
    fuses = {code: Fuse(code, *(other for other in codes if other != code)) for code in codes}
    for fuse in fuses.values():
        model.add_adapter_fusion(fuse)
    widen(model)
    tree = tmp_path / "tree" / "model"
    model.save_all_adapters(str(tree / "adapters"))
    for code, fuse in fuses.items():
        model.save_adapter_fusion(str(tree / f"{code}_fusion"), fuse)
    write_card(tmp_path / "tree", base=str(base))
    card = json.loads((tmp_path / "tree" / "ses_card.json").read_text())
    (tmp_path / "tree" / "ses_card.json").write_text(json.dumps({"base": card["base"]}))
    encoder, ids = encoder_of(tmp_path / "tree", tmp_path), ids_of(tmp_path / "tree")
    vectors = encoder.encode_formats(TEXTS, list(Format))
    for task_format in Format:
        own = library_vectors(model, fuses[task_format.code], ids)
        np.testing.assert_allclose(vectors[task_format], own, atol=1e-5)

    found, again = find_model(str(tmp_path / "tree")), library_model(base)
    weights, plain = read_checked(found, list(Format)), find_model(str(base)).card
    for task_format in Format:
        facts = found.card.network.options["adapters"][task_format]
        folder = tmp_path / "w" / task_format
        write_adapter(folder, weights, task_format, name=task_format.code, base=plain, **facts)
        again.load_adapter(str(folder), use_safetensors=True)
    for task_format in Format:
        names = fuses[task_format.code].children
        folder = tmp_path / "w" / f"{task_format}_fusion"
        write_fusion(folder, weights, task_format, adapters=names, base=plain)
        again.load_adapter_fusion(str(folder), use_safetensors=True)
        own = library_vectors(again, fuses[task_format.code], ids)
        np.testing.assert_allclose(own, vectors[task_format], atol=1e-5)
