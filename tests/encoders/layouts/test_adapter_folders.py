"""A network and its adapters in one folder, as AdapterHub's library saves them: read without a card."""

from __future__ import annotations

import shutil

import huggingface_hub
import numpy as np
import pytest

from corpora.errors import InputError
from encoders.layouts.adapter_folders import format_of
from encoders.models.formats import Format
from encoders.models.known import KNOWN_MODELS
from encoders.registry import find_model
from tests.encoders.layouts.adapted import PUBLISHED, TEXTS, adapter, brought, encoder_of, expected, refused, write_card
from tests.tiny import make_model

PLACES = {
    "formats": {one: one.value for one in Format},
    "codes in a folder": {one: f"adapters/{one.code}" for one in Format},
    "published": PUBLISHED,
    "published, of 2023": {one: name.replace("specter2", "specter2_aug2023refresh") for one, name in PUBLISHED.items()},
    "published on SciNCL": {one: f"allenai/scirepeval_adapters_{one}" for one in Format},
    "tasks": dict(zip(Format, ("classification", "regression", "Proximity", "adhoc-query"), strict=True)),
}


@pytest.mark.slow
@pytest.mark.parametrize("base", ["", "specter2_base"])
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_each_format_has_its_adapter(places, base, tmp_path):
    model = brought(tmp_path / "m", places, base=base)
    encoder = encoder_of(model, tmp_path)
    assert (encoder.card.name, encoder.card.architecture) == (str(model), "adapters")
    assert encoder.card.formats == tuple(Format)
    made = encoder.encode_formats(TEXTS, list(Format))
    for seed, (one, place) in enumerate(places.items()):
        vectors = expected(model / base, model / place, f"mine {seed}", model)
        np.testing.assert_allclose(made[one], vectors, atol=1e-4)


@pytest.mark.parametrize(
    ("folder", "name", "found"),
    [
        ("some/where", "[QRY]", Format.QRY),
        ("rgn", "[QRY]", Format.RGN),
        ("specter2_proximity", "x", Format.PRX),
        ("specter2x", "x", None),
        ("my_prx_adapter", "x", None),
        ("_", "", None),
    ],
)
def test_the_folder_tells_the_format_or_else_the_configuration(folder, name, found, tmp_path):
    network = make_model(tmp_path / "base", layers=1)
    assert format_of(adapter(tmp_path / folder, network, name)) == found


def test_the_base_may_be_named_by_a_card(tmp_path):
    alone = brought(tmp_path / "m")
    whole = find_model(str(alone)).card
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "base").mkdir(exist_ok=True)
        shutil.move(alone / name, tmp_path / "base" / name)
    told = refused(alone, tmp_path)
    assert "holds adapters and no network: put the one that they were trained on there, or name it as base in" in told
    (alone / "ses_card.json").write_text('{"base": "../base", "licence": "MIT"}')
    assert find_model(str(alone)).card.fingerprint == whole.fingerprint
    assert find_model(str(alone)).card.licence == "MIT"


def test_a_card_may_ask_for_the_network_alone(tmp_path):
    model = write_card(brought(tmp_path / "m"), architecture="plain")
    assert find_model(str(model)).card.architecture == "plain"


def test_what_is_not_clear_is_told(tmp_path):
    model = brought(tmp_path / "m", {Format.PRX: "specter2", Format.QRY: "mine"})
    assert f"The adapter {model / 'mine'} has a name without a format: name its folder prx, " in refused(
        model, tmp_path
    )
    (model / "mine").rename(model / "proximity")
    told = refused(model, tmp_path)
    assert f"The adapter {model / 'specter2'} has the same format as {model / 'proximity'}: " in told
    (model / "proximity").rename(model / "qry")
    assert find_model(str(model)).card.formats == (Format.PRX, Format.QRY)
    (model / "both").mkdir()
    (model / "both" / "adapter_fusion_config.json").write_text("{}")
    assert f"{model / 'both'} fuses adapters: name base, adapters and fusions in " in refused(model, tmp_path)


def test_two_networks_are_told(tmp_path):
    model = brought(tmp_path / "m", base="one")
    make_model(model / "two", seed=1)
    assert f"holds adapters and the networks {model / 'one'}, {model / 'two'}: put" in refused(model, tmp_path)


def test_the_folder_is_the_base_of_other_adapters(tmp_path):
    model = brought(tmp_path / "m")
    other = adapter(tmp_path / "other", model, "x", seed=9)
    card = write_card(tmp_path / "more", base="../m", adapters={"prx": "../other"})
    vectors = encoder_of(card, tmp_path).encode(TEXTS, Format.PRX)
    np.testing.assert_allclose(vectors, expected(model, other, "x", model), atol=1e-4)


@pytest.mark.slow
def test_the_hub_may_hold_all_of_it_in_one_repository(tmp_path, monkeypatch, hub_lock):
    held = brought(tmp_path / "held")
    asked = []

    def snapshot_download(repository, *, revision, allow_patterns):
        asked.extend(allow_patterns)
        return str({"org/mine": held}[repository])

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert find_model("org/mine").card.formats == tuple(Format)
    for name in ("adapter.safetensors", "pytorch_adapter.bin", "adapter_model.safetensors"):
        assert f"*/{name}" in asked


def test_the_name_that_people_call_the_set_by_is_the_whole_set(tmp_path, monkeypatch, hub_lock):
    network = make_model(tmp_path / "base", layers=1)
    known = KNOWN_MODELS["specter2"]
    hub = {name: adapter(tmp_path / one, network, one.code, seed=3) for one, name in known.adapters.items()}
    hub[known.hub_id] = network
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **_: str(hub[name]))
    card = find_model("allenai/specter2").card
    assert (card.name, card.formats) == ("specter2", tuple(Format))
    with pytest.raises(InputError, match="is an adapter, not a complete model; give model=specter2, a folder of its"):
        find_model("allenai/specter2_classification")
