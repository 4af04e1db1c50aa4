"""Formats trained apart, joined in one model."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.heads import read_heads
from encoders.models.formats import Format
from tests.commands import fails, ses
from tests.training.recipes import read_recipe, write_recipe
from tests.training.trainables.stepped import encoded
from training.joining import join_models
from training.train import train

pytestmark = pytest.mark.torch


@pytest.fixture
def apart(tmp_path):
    """Two trained models on one base, of one format and a head each."""
    found = []
    for objective in ("cross-entropy", "mse"):
        recipe = write_recipe(tmp_path, (objective,))
        recipe.write_text(recipe.read_text() + "keep_head = true\n")
        found.append(train(read_recipe(recipe), tmp_path / objective).folder)
    return found


def folder_of(tmp_path, name, **card):
    (tmp_path / name).mkdir()
    (tmp_path / name / "ses_card.json").write_text(json.dumps({"architecture": "adapters", "base": "b"} | card))
    for place in filter(None, card.get("adapters", {}).values()):
        (tmp_path / name / place).mkdir(parents=True)
        (tmp_path / name / place / "weights").write_text(name)
    return tmp_path / name


def test_adapters_are_copied_to_the_places_of_their_formats(tmp_path):
    first = folder_of(tmp_path, "first", adapters={"clf": "here", "prx": ""})
    second = folder_of(tmp_path, "second", adapters={"prx": "adapters/there"})
    join_models([first, second], tmp_path / "whole")
    assert json.loads((tmp_path / "whole" / "ses_card.json").read_text()) == {
        "architecture": "adapters",
        "base": "b",
        "adapters": {"clf": "adapters/clf", "rgn": "", "prx": "adapters/prx", "qry": ""},
    }
    files = {
        str(path.relative_to(tmp_path / "whole")): path for path in (tmp_path / "whole").rglob("*") if path.is_file()
    }
    assert sorted(files) == ["adapters/clf/weights", "adapters/prx/weights", "ses_card.json"]
    assert [files[f"adapters/{key}/weights"].read_text() for key in ("clf", "prx")] == ["first", "second"]
    third = folder_of(tmp_path, "third", adapters={}, base="a")
    with pytest.raises(InputError, match="have the bases a, b; give models of one base"):
        join_models([first, third], tmp_path / "other")
    with pytest.raises(InputError, match=r"first.here and .*fourth.x both bring clf"):
        join_models([first, folder_of(tmp_path, "fourth", adapters={"clf": "x"})], tmp_path / "other")
    with pytest.raises(InputError, match=r"\(none\); give models of one base"):
        join_models([], tmp_path / "other")


def test_each_format_is_as_it_was_and_the_others_are_the_bases(apart, tmp_path):
    whole = tmp_path / "whole"
    join_models(apart, whole)
    for folder, task_format in zip(apart, (Format.CLF, Format.RGN), strict=True):
        np.testing.assert_allclose(
            encoded(whole, tmp_path, task_format), encoded(folder, tmp_path, task_format), atol=1e-6
        )
    base = encoded(tmp_path / "base", tmp_path, Format.PRX)
    for task_format in (Format.QRY, Format.PRX):
        np.testing.assert_allclose(encoded(whole, tmp_path, task_format), base, atol=1e-5)
    assert np.abs(encoded(whole, tmp_path, Format.CLF) - base).max() > 1e-3
    assert sorted(read_heads(whole)) == ["cross-entropy", "mse"]


def test_the_command(apart, tmp_path):
    whole = tmp_path / "whole"
    done = ses(tmp_path, "models", "join", whole, *apart)
    assert done.stdout == f"{whole} holds the joined model; use it with --model {whole}\n"
    assert sorted(read_heads(whole)) == ["cross-entropy", "mse"]
    fails(ses(tmp_path, "models", "join", whole, *apart), 2, "exists already; name another folder")


def test_mistakes(apart, tmp_path):
    with pytest.raises(InputError, match="both bring clf; give one model for each format"):
        join_models([apart[0], shutil.copytree(apart[0], tmp_path / "again")], tmp_path / "whole")
    with pytest.raises(InputError, match="exists already"):
        join_models(apart, tmp_path)
    with pytest.raises(InputError, match="is no model of adapters"):
        join_models([tmp_path / "base"], tmp_path / "whole")
    card = json.loads((apart[1] / "ses_card.json").read_text())
    (apart[1] / "ses_card.json").write_text(json.dumps({**card, "base": "other"}))
    with pytest.raises(InputError, match="have the bases"):
        join_models(apart, tmp_path / "whole")
    assert not (tmp_path / "whole").exists()
