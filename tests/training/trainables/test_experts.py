"""Experts: they start as the layer they are copies of, learn from their own tasks alone, and are read as SciMult's."""

from __future__ import annotations

import re

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.layouts.experts import copied_from
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.checkpoints import make_scimult, read_weights
from tests.encoders.formulas.experts import expert_vector
from tests.encoders.layouts.agreement import check_vectors
from tests.encoders.layouts.test_scimult import CONTEXT
from tests.encoders.oracle import Oracle, under
from tests.tiny import make_model
from tests.training.recipes import read_recipe, task_files, write_recipe
from tests.training.trainables.stepped import card_of, encoded, stepped
from training.train import train
from training.trainables.experts import EXPERTS

pytestmark = pytest.mark.torch

KINDS = {"attention": "attn", "feed-forward": "fwd", "both": "attn+fwd"}


def deep(tmp_path, layers=4):
    """Let the recipes of a test start from a deeper base."""
    task_files(tmp_path)
    make_model(tmp_path / "base", layers=layers)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"layers": "odd"}, r"^The recipe has 'odd' layers"),
        (
            {"layers": "mod12"},
            r"^The recipe asks for experts in the layers mod12, and .*base has none of .* its 4; choose",
        ),
        (
            {"kind": "gated"},
            r"^The recipe asks for experts of the kind 'gated'; choose attention, feed-forward, both\.",
        ),
    ],
)
def test_experts_that_can_not_be_are_refused(tmp_path, options, told):
    base = find_model(str(make_model(tmp_path / "base", layers=4)))
    with pytest.raises(InputError, match=told):
        EXPERTS.start(base, (Format.CLF,), {**EXPERTS.options, **options}, 1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"layers": 2}, "the option layers is 2, and must be like 'mod2', its default"),
        ({"clf": "two"}, "the option clf is 'two', and must be like 2, its default"),
    ],
)
def test_options_are_of_the_kind_of_their_defaults(tmp_path, options, told):
    with pytest.raises(InputError, match=told):
        read_recipe(write_recipe(tmp_path, trains="experts", options=options))


def test_each_expert_is_a_copy_of_its_layer(tmp_path):
    base = find_model(str(make_model(tmp_path / "base", layers=4)))
    weights, formats = base.read(), (Format.CLF, Format.RGN, Format.PRX, Format.QRY)
    for kind, layers, options in (
        ("attention", {1, 3}, {}),
        ("feed-forward", {2}, {"layers": "mod3"}),
        ("both", {1, 3}, {"shared": 0}),
    ):
        given = {**EXPERTS.options, "kind": kind, **options}
        new = EXPERTS.start(base, formats, given, 1)
        copied = {}
        for name, array in new.items():
            original = copied_from(name)
            copied.setdefault(original, set()).add(re.search(r"(?:moe_\w+|_layers)\.(\d)\.", name)[1])
            np.testing.assert_array_equal(array, weights[original])
            assert array is not weights[original]
        assert set(map(frozenset, copied.values())) == {frozenset("012")}
        assert {int(name.split(".")[2]) for name in copied} == layers
        assert any(".attention." in name for name in copied) is (kind != "feed-forward")
        assert any("intermediate" in name for name in copied) is (kind != "attention")
        whole = {**weights, **new}
        assert EXPERTS.trained(base.card, given, whole) == dict.fromkeys(
            new if options.get("shared") == 0 else whole, 0
        )
    told = EXPERTS.described((Format.RGN, Format.QRY), EXPERTS.options)
    assert told == {"architecture": "experts", "experts": {"rgn": 1, "qry": 0}}


@pytest.mark.parametrize("kind", KINDS)
def test_experts_start_at_the_bases_vectors(tmp_path, kind):
    deep(tmp_path)
    train(read_recipe(write_recipe(tmp_path, trains="experts", options={"kind": kind}, steps=1)), tmp_path / "run")
    for task_format in (Format.CLF, Format.PRX):
        start = encoded(tmp_path / "run" / "start", tmp_path, task_format)
        np.testing.assert_allclose(start, encoded(tmp_path / "base", tmp_path, task_format), atol=1e-5)


@pytest.mark.parametrize(("kind", "layers"), [*((kind, "mod2") for kind in KINDS), ("both", "mod3")])
def test_a_trained_folder_is_read_back_by_the_formula(tmp_path, kind, layers):
    deep(tmp_path)
    done = stepped(
        tmp_path, "experts", ("cross-entropy", "triplet"), options={"kind": kind, "layers": layers}, layer_decay=0.8
    )
    encoder = load_encoder(str(done.folder), cache_dir=tmp_path / "cache", precision="fp32")
    assert encoder.card.heads == {Format.CLF: "2", Format.PRX: "0"}
    assert encoder.card.network.shared_layers == int(layers[-1]) - 1
    model = Oracle(done.folder, read_weights(done.folder / "model.safetensors"))
    params = {"use_moe": True, "moe_type": f"{layers}:{KINDS[kind]}", "use_infer_expert": False, "mean_pool": False}
    check_vectors(
        encoder, lambda task_format, ids: expert_vector(model, params, ids, int(encoder.card.heads[task_format]))
    )
    found = {task_format: encoded(done.folder, tmp_path, task_format) for task_format in encoder.card.formats}
    for task_format, vectors in found.items():
        np.testing.assert_allclose(vectors, done.vectors(task_format), rtol=0, atol=1e-5)
    assert np.abs(found[Format.CLF] - found[Format.PRX]).max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_the_weights_have_the_names_of_a_checkpoint_of_scimult(tmp_path, kind):
    deep(tmp_path)
    recipe = write_recipe(
        tmp_path, ("cross-entropy", "mse", "triplet"), trains="experts", options={"kind": kind}, steps=1
    )
    done = train(read_recipe(recipe), tmp_path / "run")
    ours = {name: array.shape for name, array in read_weights(done.folder / "model.safetensors").items()}
    path = make_scimult(tmp_path / "m" / "m.ckpt", seed=1, moe_type=f"mod2:{KINDS[kind]}", layers=4)
    theirs = {name: array.shape for name, array in under(read_weights(path), CONTEXT).items()}
    assert {name: shape for name, shape in theirs.items() if "encoder.layer" in name} == {
        name: shape for name, shape in ours.items() if "encoder.layer" in name
    }


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_a_task_moves_its_own_expert_and_what_is_shared(tmp_path, decay):
    deep(tmp_path)
    done = stepped(tmp_path, "experts", ("triplet", "triplet"), options={"kind": "both"}, weight_decay=decay)
    changed = done.changed()
    own = {name for name in done.before if ".0." in name.partition("moe_")[2]}
    other = {name for name in done.before if ".2." in name.partition("moe_")[2]}
    assert len(own) == len(other) == 2 * 14
    assert not changed & other
    # A key's bias changes no attention, so it may stay.
    assert {name for name in own if "key" not in name} <= changed
    assert "encoder.layer.0.output.dense.weight" in changed
    assert "embeddings.word_embeddings.weight" in changed


def test_the_shared_weights_may_stay(tmp_path):
    deep(tmp_path)
    done = stepped(tmp_path, "experts", ("cross-entropy", "triplet"), options={"shared": 0})
    assert done.changed()
    assert all("moe_" in name for name in done.changed())


def test_formats_may_share_an_expert_or_not(tmp_path):
    deep(tmp_path)
    objectives = ("cross-entropy", "mse", "contrastive")
    done = train(
        read_recipe(write_recipe(tmp_path, objectives, trains="experts", options={"clf": 1}, steps=1)), tmp_path / "run"
    )
    assert card_of(done.folder)["experts"] == {"clf": 1, "rgn": 1, "prx": 0, "qry": 0}
    card = find_model(str(done.folder)).card
    assert card.heads[Format.PRX] == card.heads[Format.QRY] != card.heads[Format.CLF] == card.heads[Format.RGN]
