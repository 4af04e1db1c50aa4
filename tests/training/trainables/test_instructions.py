"""Instructions: one network reads all, or one of two networks is trained; the folders are read back by the formula."""

from __future__ import annotations

import json

import numpy as np
import pytest

from encoders.encoder import load_encoder
from encoders.layouts.unipr import factor_models, instructions_for
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.formulas.instructions import instructed_vector
from tests.encoders.layouts.agreement import check_vectors
from tests.encoders.layouts.test_unipr import PLAIN, SEMANTIC
from tests.encoders.oracle import Oracle
from tests.training.recipes import read_recipe, write_recipe
from tests.training.trainables.stepped import card_of, encoded, stepped
from training.train import train

pytestmark = pytest.mark.torch

OWN = {"clf": "find a cell", "prx": "protein of a virus"}


def check(folder, texts, instructor, told, tmp_path):
    """The folder's vectors are those of the network of `texts` under what that of `instructor` reads."""
    encoder = load_encoder(str(folder), cache_dir=tmp_path / "cache", precision="fp32")
    assert {task_format.value for task_format in encoder.card.formats} == set(told)
    models = Oracle(texts), Oracle(instructor)

    def formula(task_format, ids):
        return instructed_vector(*models, PLAIN, encoder.tokenizer.encode(told[task_format]).ids, ids)

    check_vectors(encoder, formula)


def test_one_network_reads_texts_and_instructions(tmp_path):
    done = stepped(tmp_path, "instructions", ("cross-entropy", "triplet"), options=OWN)
    check(done.start, tmp_path / "base", tmp_path / "base", OWN, tmp_path)
    check(done.folder, done.folder, done.folder, OWN, tmp_path)
    assert card_of(done.folder) == {"architecture": "instructions", "instructions": OWN}
    # A key's bias changes no attention, so it may stay.
    stay = {name for name in done.before if "key.bias" in name}
    assert set(done.before) - done.changed() <= stay
    for task_format in (Format.CLF, Format.PRX):
        vectors = encoded(done.folder, tmp_path, task_format)
        np.testing.assert_allclose(vectors, done.vectors(task_format), rtol=0, atol=1e-5)


def test_the_instructions_are_those_of_scimult_unless_told(tmp_path):
    recipe = read_recipe(write_recipe(tmp_path, ("cross-entropy", "contrastive"), trains="instructions", steps=1))
    done = train(recipe, tmp_path / "run")
    assert card_of(done.folder)["instructions"] == {
        "clf": "Tag a scientific paper with relevant scientific topic classes.",
        "prx": SEMANTIC,
        "qry": SEMANTIC,
    }
    card = find_model(str(done.folder)).card
    assert card.heads[Format.PRX] == card.heads[Format.QRY] != card.heads[Format.CLF]


def test_a_model_trained_on_uniprs_words_has_its_three_factors(tmp_path):
    recipe = write_recipe(tmp_path, ("triplet",), trains="instructions", steps=1)
    model = find_model(str(train(read_recipe(recipe), tmp_path / "run").folder))
    assert set(factor_models(model, instructions_for("KDD"))) == {"semantic", "topic", "citation"}


@pytest.mark.parametrize("texts", [0, 1])
def test_one_of_two_networks_is_trained(tmp_path, texts):
    done = stepped(tmp_path, "prefix", ("cross-entropy", "triplet"), options={"texts": texts, **OWN})
    check(tmp_path / "run" / "start", tmp_path / "base", tmp_path / "base", OWN, tmp_path)
    own, base = done.folder / ("base" if texts else "instructor"), tmp_path / "base"
    check(done.folder, own if texts else base, base if texts else own, OWN, tmp_path)
    assert {name.startswith("instructor.") for name in done.changed()} == {not texts}
    trained = {name for name in done.before if name.startswith("instructor.") != bool(texts)}
    assert trained - done.changed() <= {name for name in trained if "key.bias" in name}
    for task_format in (Format.CLF, Format.PRX):
        vectors = encoded(done.folder, tmp_path, task_format)
        np.testing.assert_allclose(vectors, done.vectors(task_format), rtol=0, atol=1e-5)


def test_the_frozen_network_is_named_and_not_copied(tmp_path):
    done = train(read_recipe(write_recipe(tmp_path, trains="prefix", steps=1, options=OWN)), tmp_path / "run")
    card = json.loads((done.folder / "ses_card.json").read_text())
    assert (card["base"], card["instructor"]) == (str(tmp_path / "base"), "instructor")
    assert [path.parent.name for path in done.folder.rglob("*.safetensors")] == ["instructor"]
