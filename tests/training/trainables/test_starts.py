"""Where trainables start, which weights they train and what they write: without a step of training."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.tiny import make_model
from tests.training.recipes import adapted
from training.trainables.adapters import ADAPTERS, LORA
from training.trainables.base import at_least_one, last_layers, new_linear
from training.trainables.fusion import FUSION
from training.trainables.instructions import INSTRUCTIONS, PREFIX
from training.trainables.network import ALL, LAST
from training.trainables.pals import PALS

FORMATS = (Format.RGN, Format.PRX)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return find_model(str(make_model(tmp_path_factory.mktemp("starts") / "base", layers=3)))


def normal(array):
    """Whether numbers look like N(0, 0.02)."""
    return 0.017 < array.std() < 0.023 and abs(array.mean()) < 0.005 and array.dtype == np.float32


def test_new_linear_layers():
    made = new_linear(np.random.default_rng(3), "a.b", 200, 30)
    assert {name: array.shape for name, array in made.items()} == {"a.b.weight": (200, 30), "a.b.bias": (200,)}
    assert normal(made["a.b.weight"])
    assert (made["a.b.bias"].any(), made["a.b.bias"].dtype) == (False, np.float32)
    assert not new_linear(np.random.default_rng(3), "a", 2, 3, zero=True)["a.weight"].any()


def test_the_last_layers(base):
    assert [list(last_layers(base.card, asked)) for asked in range(4)] == [[0, 1, 2], [2], [1, 2], [0, 1, 2]]
    for asked in (-1, 4):
        with pytest.raises(InputError, match=rf"asks for {asked} layers, and .* has 3; choose 0 \(all\) to 3"):
            last_layers(base.card, asked)
    assert at_least_one({"rank": 1}, "rank") == 1
    with pytest.raises(InputError, match="sets the option rank to 0; choose 1 or more"):
        at_least_one({"rank": 0}, "rank")


@pytest.mark.parametrize("identity", [0, 1])
def test_adapters(base, identity):
    new = ADAPTERS.start(base, FORMATS, {"layers": 2, "reduction": 4, "identity": identity}, 1)
    assert {name: array.shape for name, array in new.items()} == {
        f"encoder.layer.{layer}.output.adapters.{one}.{part}": shape
        for layer in (1, 2)
        for one in ("rgn", "prx")
        for part, shape in {
            "adapter_down.0.weight": (16, 64),
            "adapter_down.0.bias": (16,),
            "adapter_up.weight": (64, 16),
            "adapter_up.bias": (64,),
        }.items()
    }
    for name, array in new.items():
        zero = name.endswith("bias") or (identity and "adapter_up" in name)
        assert not array.any() if zero else normal(array)
    wide = ADAPTERS.start(base, FORMATS[:1], {"layers": 1, "reduction": 99, "identity": 0}, 1)
    assert wide["encoder.layer.2.output.adapters.rgn.adapter_up.weight"].shape == (64, 1)
    assert ADAPTERS.trained(base.card, {}, {**base.read(), **new}) == dict.fromkeys(new, 0)


def test_lora(base):
    new = LORA.start(base, FORMATS, {"layers": 2, "rank": 5}, 1)
    assert len(new) == 2 * 2 * 2 * 2
    assert {array.shape for array in new.values()} == {(5, 64), (64, 5)}
    assert {".".join(name.split(".")[2:6]) for name in new} == {
        f"{layer}.attention.self.{part}" for layer in (1, 2) for part in ("query", "value")
    }
    assert LORA.trained(base.card, {}, {**base.read(), **new}) == dict.fromkeys(new, 0)
    assert not any(array.any() for name, array in new.items() if "lora_B" in name)
    drawn = [array for name, array in new.items() if "lora_A" in name]
    assert all(np.abs(one).max() <= 1 / 8 and one.min() < -0.1 and one.max() > 0.1 for one in drawn)


def test_pals(base):
    options = {**PALS.options, "width": 12}
    new, again = (PALS.start(base, FORMATS, options | {"identity": one}, 1) for one in (0, 1))
    # The projections of a task are shared by its layers; attention is each layer's own.
    for task in range(2):
        first, second = (f"encoder.layer.{layer}.multi_layers.{task}." for layer in (0, 2))
        for part in ("aug_dense.weight", "aug_dense2.weight"):
            np.testing.assert_array_equal(new[first + part], new[second + part])
            assert normal(new[first + part])
        assert not np.array_equal(new[f"{first}attn.query.weight"], new[f"{second}attn.query.weight"])
        assert new[f"{first}attn.query.weight"].shape == (12, 12)
    assert not any(array.any() for name, array in new.items() if name.endswith("bias"))
    zero = {name.split(".", 5)[5] for name, array in again.items() if not array.any() and "weight" in name}
    assert zero == {"aug_dense2.weight"}
    low = PALS.start(base, FORMATS, {**PALS.options, "low_rank": 1}, 1)
    assert low["encoder.layer.0.multi_layers.0.aug_dense.weight"].shape == (round(64 * 100 / 768), 64)
    firsts = [low[f"encoder.layer.{layer}.multi_layers.0.aug_dense.weight"] for layer in (0, 1)]
    assert not np.array_equal(*firsts)
    whole = {**base.read(), **new}
    assert PALS.trained(base.card, {"frozen": 1}, whole) == dict.fromkeys(new, 0)
    assert PALS.trained(base.card, {"frozen": 0}, whole) == dict.fromkeys(whole, 0)
    for width in (-6, 13):
        with pytest.raises(InputError, match=f"sets the option width to {width}; choose a multiple of 6, or 0"):
            PALS.start(base, FORMATS, {**PALS.options, "width": width}, 1)


def test_fusion(tmp_path):
    model = find_model(str(adapted(make_model(tmp_path / "base"))))
    new = FUSION.start(model, FORMATS, {}, 1)
    names = [f"encoder.layer.{layer}.output.adapter_fusion_layer.{one}" for layer in (0, 1) for one in ("rgn", "prx")]
    parts = ("query.weight", "query.bias", "key.weight", "key.bias", "value.weight")
    assert sorted(new) == sorted(f"{name}.{part}" for name in names for part in parts)
    for name in names:
        value = new[f"{name}.value.weight"]
        np.testing.assert_array_equal(value, np.where(np.eye(64) == 1, np.float32(1), np.float32(1e-6)))
        assert normal(new[f"{name}.query.weight"])
        assert normal(new[f"{name}.key.weight"])
    whole = {**model.read(), **new}
    assert FUSION.trained(model.card, {}, whole) == dict.fromkeys(new, 0)
    FUSION.write(model, FORMATS, whole, tmp_path / "fused")
    assert json.loads((tmp_path / "fused" / "ses_card.json").read_text()) == {
        "architecture": "fusion",
        "base": str(tmp_path / "base"),
        "adapters": {one.value: f"adapters/{one.code}" for one in Format},
        "fusions": {one.value: f"{one.code}_fusion" for one in FORMATS},
    }


def test_the_network_and_its_last_layers(base, tmp_path):
    weights = base.read()
    assert (ALL.start(base, FORMATS, {"dimension": 0}, 1), LAST.start(base, FORMATS, {"dimension": 0}, 1)) == ({}, {})
    assert ALL.trained(base.card, {}, weights) == dict.fromkeys(weights, 0)
    last = LAST.trained(base.card, {"layers": 2}, weights)
    assert last == {name: 0 for name in weights if name.startswith(("encoder.layer.1.", "encoder.layer.2."))}
    changed = {name: array + 1 for name, array in weights.items()}
    ALL.write(base, FORMATS, changed, tmp_path / "all")
    model = find_model(str(tmp_path / "all"))
    assert all(np.array_equal(model.read()[name], array) for name, array in changed.items())
    assert (tmp_path / "all" / "tokenizer.json").read_bytes() == (base.folder / "tokenizer.json").read_bytes()


def test_instructions(base):
    weights = {"a.b": 1, "instructor.a.b": 2}
    assert INSTRUCTIONS.trained(base.card, {}, weights) == {"a.b": 0, "instructor.a.b": 0}
    assert PREFIX.trained(base.card, {"texts": 0}, weights) == {"instructor.a.b": 0}
    assert PREFIX.trained(base.card, {"texts": 1}, weights) == {"a.b": 0}
    given = {"clf": "c", "rgn": "r", "prx": "p", "qry": "q"}
    own = {"instructions": {"rgn": "r", "prx": "p"}}
    assert INSTRUCTIONS.described(FORMATS, given) == {"architecture": "instructions", **own}
    assert PREFIX.described(FORMATS, given) == own
    assert (INSTRUCTIONS.start(base, FORMATS, given, 1), PREFIX.start(base, FORMATS, given, 1)) == ({}, {})
