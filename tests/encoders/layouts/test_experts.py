"""A folder with experts: which of them serve which format, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders import checkpoints
from tests.encoders.every import MAKERS


@pytest.fixture
def folder(tmp_path):
    return MAKERS["experts in a folder"](tmp_path / "m")


def test_the_card_says_which_expert_serves_which_format(folder, tmp_path):
    card = find_model(str(folder)).card
    assert (card.architecture, card.network.shared_layers) == ("experts", 1)
    assert card.heads == {Format.CLF: "2", Format.PRX: "0", Format.QRY: "0"}
    (folder / "ses_card.json").write_text(json.dumps({"architecture": "experts", "experts": {"prx": 1}}))
    changed = find_model(str(folder))
    assert changed.card.heads == {Format.PRX: "1"}
    assert changed.card.fingerprint != card.fingerprint
    # The others are not read.
    assert not any(".0." in name.partition("moe_")[2] for name in changed.read())
    load_encoder(changed, cache_dir=tmp_path / "cache", precision="fp32")


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({}, "must say which of the model's 3 experts serves which format"),
        ({"experts": {"prx": 3}}, "sets experts to 3, and the model's are numbered 0 to 2"),
        ({"experts": {"prx": 0}, "base": "../other"}, "sets base, which a model of the architecture experts does not"),
    ],
)
def test_cards_that_can_not_be_are_refused(folder, own, told):
    (folder / "ses_card.json").write_text(json.dumps({"architecture": "experts"} | own))
    with pytest.raises(InputError, match=told):
        find_model(str(folder))


def test_a_folder_without_experts_is_refused(folder):
    weights = load_file(folder / "model.safetensors")
    save_file({name: array for name, array in weights.items() if "moe_" not in name}, folder / "model.safetensors")
    with pytest.raises(InputError, match="has no experts; take the architecture out of"):
        find_model(str(folder))


def test_an_expert_that_lacks_a_part_is_refused(folder, tmp_path):
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.attention.self.moe_value.2.bias"]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(InputError, match=r"lack encoder\.layer\.1\.attention\.self\.moe_value\.2\.bias"):
        load_encoder(str(folder), cache_dir=tmp_path / "cache", precision="fp32").encode(["x"])


def test_a_damaged_file_is_refused(folder):
    (folder / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0not json")
    with pytest.raises(InputError, match="is an incomplete safetensors file"):
        find_model(str(folder))


def test_other_families_have_no_experts(tmp_path):
    folder = checkpoints.make_modernbert(tmp_path / "m")
    (folder / "ses_card.json").write_text(json.dumps({"architecture": "experts", "experts": {"prx": 0}}))
    save_file({"layers.0.attn.Wqkv.weight": np.zeros((4, 4), np.float32)}, folder / "model.safetensors")
    with pytest.raises(InputError, match="holds a modernbert model; experts need a BERT or RoBERTa"):
        find_model(str(folder))
