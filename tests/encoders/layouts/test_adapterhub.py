"""Adapters and fusions of AdapterHub on a base: whose vectors they give, and how a user names them."""

from __future__ import annotations

import huggingface_hub
import numpy as np
import pytest
from safetensors.numpy import load_file

from corpora.errors import InputError, UnavailableError
from encoders.models.formats import Format
from encoders.models.known import KNOWN_MODELS
from encoders.registry import find_model
from tests.encoders.formulas.adapters import fusion_vector
from tests.encoders.layouts.adapted import (
    NAMES,
    TEXTS,
    adapter,
    change,
    change_weights,
    encoder_of,
    expected,
    four,
    fusion,
    ids_of,
    model_with,
    refused,
    write_card,
)
from tests.encoders.oracle import Oracle
from tests.tiny import make_model

VARIANTS = {
    "as the library writes it": {"prefix": "bert."},
    "without the prefix of a head": {},
    "as adapter-transformers 1 wrote it": {"legacy": True},
    "not in the first layers": {"leave_out": [0, 1]},
    "not in the last layer": {"leave_out": [2]},
    "narrow and wide": {"reduction": 64},
    "widths by layer": {"reduction_factor": {"0": 4.0, "default": 4}},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_every_format_has_the_vectors_of_its_own_adapter(options, base, tmp_path):
    folders = four(tmp_path, base, **options)
    model = model_with(tmp_path / "m", base, **folders)
    encoder = encoder_of(model, tmp_path)
    assert encoder.card.formats == tuple(Format)
    together = encoder.encode_formats(TEXTS, list(Format))
    for task_format, folder in zip(Format, folders.values(), strict=True):
        vectors = expected(base, folder, NAMES[task_format], model)
        np.testing.assert_allclose(encoder.encode(TEXTS, task_format), vectors, atol=1e-4)
        np.testing.assert_allclose(together[task_format], vectors, atol=1e-4)
    assert np.abs(together[Format.PRX] - together[Format.QRY]).max() > 0.05


def test_a_roberta_base_has_adapters_too(tmp_path):
    base = make_model(tmp_path / "base", architecture="roberta")
    folder = adapter(tmp_path / "a", base, prefix="roberta.")
    model = model_with(tmp_path / "m", base, prx=folder)
    vectors = encoder_of(model, tmp_path).encode(TEXTS)
    np.testing.assert_allclose(vectors, expected(base, folder, "[PRX]", model), atol=1e-4)


@pytest.mark.torch
@pytest.mark.parametrize("legacy", [False, True])
def test_torch_files_are_read(legacy, base, tmp_path):
    folder = adapter(tmp_path / "a", base, safetensors=False, legacy=legacy, prefix="bert.")
    model = model_with(tmp_path / "m", base, prx=folder)
    vectors = encoder_of(model, tmp_path).encode(TEXTS)
    np.testing.assert_allclose(vectors, expected(base, folder, "[PRX]", model), atol=1e-4)


def test_what_an_adapter_brings_is_scaled(base, tmp_path):
    plain = adapter(tmp_path / "plain", base)
    scaled = adapter(tmp_path / "scaled", base, scaling=0.25)
    model = model_with(tmp_path / "m", base, prx=scaled)
    vectors = encoder_of(model, tmp_path).encode(TEXTS)
    change_weights(plain / "adapter.safetensors", lambda w: {k: a / 4 if "_up." in k else a for k, a in w.items()})
    np.testing.assert_allclose(vectors, expected(base, plain, "[PRX]", model), atol=1e-4)


def test_layers_without_adapters_are_run_once_for_all_formats(base, tmp_path):
    shared = {"prx": {"leave_out": [0, 1]}, "qry": {"leave_out": [0]}}
    folders = {key: adapter(tmp_path / key, base, seed=i, **shared[key]) for i, key in enumerate(shared)}
    card = find_model(str(model_with(tmp_path / "m", base, **folders))).card
    assert card.network.shared_layers == 1
    assert card.passes([Format.PRX, Format.QRY]) == [(Format.PRX, Format.QRY)]
    everywhere = model_with(tmp_path / "all", base, prx=folders["prx"], qry=adapter(tmp_path / "c", base))
    assert find_model(str(everywhere)).card.passes([Format.PRX, Format.QRY]) == [(Format.PRX,), (Format.QRY,)]


def test_formats_without_an_adapter_have_the_vectors_of_the_base(base, tmp_path):
    folder = adapter(tmp_path / "a", base, leave_out=[0, 1])
    model = model_with(tmp_path / "m", base, clf=folder, prx="", qry="")
    encoder = encoder_of(model, tmp_path)
    assert encoder.card.heads == {Format.CLF: "clf", Format.PRX: "base", Format.QRY: "base"}
    assert encoder.card.passes([Format.CLF, Format.PRX]) == [(Format.CLF, Format.PRX)]
    vectors = encoder.encode_formats(TEXTS, [Format.CLF, Format.PRX])
    own = encoder_of(base, tmp_path).encode(TEXTS)
    np.testing.assert_allclose(vectors[Format.PRX], own, atol=1e-5)
    np.testing.assert_allclose(encoder.encode(TEXTS, Format.QRY), own, atol=1e-5)
    np.testing.assert_allclose(vectors[Format.CLF], expected(base, folder, "[PRX]", model), atol=1e-4)


def test_formats_with_one_adapter_share_its_vector_and_others_are_named(base, tmp_path):
    folder = adapter(tmp_path / "a", base)
    model = model_with(tmp_path / "m", base, qry=folder, prx=folder)
    card = find_model(str(model)).card
    assert card.heads == {Format.PRX: "prx", Format.QRY: "prx"}
    assert list(card.network.options["adapters"]) == ["prx"]
    encoder = encoder_of(model, tmp_path)
    vectors = encoder.encode_formats(TEXTS, [Format.PRX, Format.QRY])
    np.testing.assert_array_equal(vectors[Format.PRX], vectors[Format.QRY])
    with pytest.raises(InputError, match="has no clf vectors, only prx, qry"):
        encoder.encode(TEXTS, Format.CLF)


@pytest.mark.parametrize("left_out", [{}, {"prx": [0]}, {"prx": [0, 1], "qry": [0]}], ids=str)
def test_fusions_have_the_vectors_of_the_formula(left_out, base, tmp_path):
    names = {"prx": "[PRX]", "qry": "[QRY]", "clf": "[CLF]"}
    folders = {
        key: adapter(tmp_path / key, base, name, seed=i, leave_out=left_out.get(key, ()))
        for i, (key, name) in enumerate(names.items())
    }
    orders = {"prx": ["[PRX]", "[QRY]", "[CLF]"], "clf": ["[CLF]", "[PRX]", "[QRY]"]}
    fusions = {
        key: fusion(tmp_path / f"{key}_fusion", base, order, seed=10 + i, prefix="bert.")
        for i, (key, order) in enumerate(orders.items())
    }
    told = {"adapters": folders, "fusions": fusions}
    model = write_card(
        tmp_path / "m", base=str(base), **{key: {f: str(p) for f, p in paths.items()} for key, paths in told.items()}
    )
    encoder = encoder_of(model, tmp_path)
    assert (encoder.card.architecture, set(encoder.card.formats)) == ("fusion", {Format.PRX, Format.CLF})
    weights = {name: load_file(folders[key] / "adapter.safetensors") for key, name in names.items()}
    made = encoder.encode_formats(TEXTS, encoder.card.formats)
    for key, order in orders.items():
        fused = load_file(fusions[key] / "model_adapter_fusion.safetensors")
        vectors = [fusion_vector(Oracle(base), weights, fused, order, ids) for ids in ids_of(model)]
        np.testing.assert_allclose(made[Format(key)], np.array(vectors), atol=1e-4)
        np.testing.assert_allclose(encoder.encode(TEXTS, Format(key)), np.array(vectors), atol=1e-4)


def test_a_fusion_that_leaves_an_adapter_out_is_refused(base, tmp_path):
    folders = four(tmp_path, base)
    fused = fusion(tmp_path / "f", base, ["[CLF]", "[PRX]"])
    model = write_card(
        tmp_path / "m",
        base=str(base),
        adapters={key: str(path) for key, path in folders.items()},
        fusions={"prx": str(fused)},
    )
    assert refused(model, tmp_path).startswith(f"{fused} fuses [CLF], [PRX], and the model has the adapters")


def test_fingerprints_tell_weights_settings_and_formats_apart(base, tmp_path):
    a, b = adapter(tmp_path / "a", base), adapter(tmp_path / "b", base, seed=2)
    cards = [
        find_model(str(model_with(tmp_path / name, base, **adapters))).card
        for name, adapters in {"1": {"prx": a, "qry": b}, "2": {"qry": b, "prx": a}, "3": {"prx": b, "qry": a}}.items()
    ]
    assert cards[0].fingerprint == cards[1].fingerprint
    assert cards[0].weights_sha256 != cards[2].weights_sha256
    change(b / "adapter_config.json", scaling=2.0)
    card = find_model(cards[0].name).card
    assert card.weights_sha256 == cards[0].weights_sha256
    assert card.settings_sha256 != cards[0].settings_sha256
    change_weights(b / "adapter.safetensors", lambda w: {key: 2 * array for key, array in w.items()})
    assert find_model(cards[0].name).card.weights_sha256 != card.weights_sha256


OWN_CARDS = {
    "no adapters": ({}, "must name adapters, a folder or hub id for each format"),
    "a list": ({"adapters": ["a"]}, "must name adapters, a folder or hub id for each format"),
    "no format": ({"adapters": {"prox": "a"}}, "sets adapters for prox; the formats are clf, rgn, prx, qry"),
    "a number": ({"adapters": {"prx": 1}}, "is not a string for each format"),
    "nowhere": ({"adapters": {"prx": "./nowhere"}}, "names './nowhere', which is neither a folder nor a hub id"),
    "null byte": ({"adapters": {"prx": "a\0b"}}, "which is neither a folder nor a hub id"),
    "no user": ({"adapters": {"prx": "~nobody-here/a/b"}}, "which is neither a folder nor a hub id"),
    "too long": ({"adapters": {"prx": "x" * 5000}}, "which is neither a folder nor a hub id"),
    "no fusions": ({"architecture": "fusion", "adapters": {"prx": "../a"}}, "asks for fusion and names no fusions"),
}


@pytest.mark.parametrize(("card", "told"), OWN_CARDS.values(), ids=OWN_CARDS)
def test_cards_that_can_not_be_are_told(card, told, base, tmp_path):
    adapter(tmp_path / "a", base)
    assert told in refused(write_card(tmp_path / "m", base=str(base), **card), tmp_path)


def test_adapters_on_adapters_are_refused(base, tmp_path):
    folder = adapter(tmp_path / "a", base)
    model = model_with(tmp_path / "m", base, prx=folder)
    assert "whose architecture is adapters" in refused(model_with(tmp_path / "chain", model, prx=folder), tmp_path)
    write_card(model, base="../other", adapters={"prx": "../a"})
    write_card(tmp_path / "other", base="../m", adapters={"prx": "../a"})
    assert "is made of itself" in refused(model, tmp_path)


def test_an_adapter_alone_is_not_a_model(base, tmp_path):
    folder = adapter(tmp_path / "a", base)
    assert f"{folder} is an adapter, not a complete model; give model=specter2" in refused(folder, tmp_path)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub whose repositories are folders, by their ids."""
    folders = {}

    def snapshot_download(repository, *, revision, allow_patterns):
        if repository not in folders:
            raise huggingface_hub.errors.LocalEntryNotFoundError("offline")
        return str(folders[repository])

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return folders


@pytest.mark.slow
@pytest.mark.parametrize(("name", "licence"), [("specter2", "Apache-2.0"), ("scincl-adapters", "")])
def test_known_sets_are_fetched_and_composed(name, licence, base, tmp_path, hub):
    known = KNOWN_MODELS[name]
    with pytest.raises(UnavailableError, match=f"The model {known.hub_id} can't be fetched from the hub; check "):
        find_model(name)
    hub[known.hub_id] = base
    with pytest.raises(UnavailableError, match="can't be fetched from the hub; check the name and the network"):
        find_model(name)
    folders = four(tmp_path, base)
    hub |= {known.adapters[Format(key)]: folder for key, folder in folders.items()}
    encoder = encoder_of(name, tmp_path)
    assert (encoder.card.name, encoder.card.licence, encoder.card.formats) == (name, licence, tuple(Format))
    assert find_model(name).base.card.name == known.hub_id
    for task_format, vectors in encoder.encode_formats(TEXTS, list(Format)).items():
        own = expected(base, folders[task_format], NAMES[task_format], base)
        np.testing.assert_allclose(vectors, own, atol=1e-4)


def test_a_card_may_name_what_is_on_the_hub(base, tmp_path, hub):
    hub |= {"org/base": base, "org/adapter": adapter(tmp_path / "a", base)}
    model = write_card(tmp_path / "m", base="org/base@v1", adapters={"prx": "org/adapter@abc"}, licence="MIT")
    assert (find_model(str(model)).folder, find_model(str(model)).card.licence) == (base, "MIT")
    write_card(model, base="org/base", adapters={"prx": "org/none"})
    with pytest.raises(UnavailableError, match="org/none can't be fetched from the hub"):
        find_model(str(model))


def test_a_downloaded_card_names_no_folders_of_this_machine(base, tmp_path, hub, hub_lock):
    folder = adapter(tmp_path / "a", base)
    hub |= {"org/base": base, "org/model": tmp_path / "m", "org/adapter": folder}
    write_card(tmp_path / "m", base="org/base", adapters={"prx": "org/adapter"})
    assert find_model("org/model").card.formats == (Format.PRX,)
    for named in ({"adapters": {"prx": str(folder)}}, {"adapters": {"prx": "../a"}}, {"base": str(base)}):
        write_card(tmp_path / "m", **({"base": "org/base", "adapters": {"prx": "org/adapter"}} | named))
        hub_lock.unlink()
        with pytest.raises(InputError, match=r"neither a folder nor a hub id|was fetched from the hub and names"):
            find_model("org/model")
