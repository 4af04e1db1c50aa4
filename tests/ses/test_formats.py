"""Formats of one's own, as a user trains them: `ses train --from-index`, and `library.formats`."""

from __future__ import annotations

import json

import pytest

import ses as api
from encoders.registry import find_model
from tests.commands import fails, ses
from tests.training.own.library import open_library
from training.recipe import read_variants

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    open_library(folder)
    return folder


def train(folder, labels, *arguments, output="out"):
    return ses(
        folder,
        *("train", "--from-index", "own", "--labels", labels, "--minutes", "0.2"),
        *("--output", folder / output, *arguments),
        SES_MODEL=str(folder / "tiny"),
    )


def test_one_command_trains_measures_and_says_whether_it_is_worth_using(folder):
    done = train(folder, "venue", output="venue")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Format clf: 3 labels of the field venue, from ")
    assert lines[1].split()[:4] == ["linear", "model", "macro", "F1"]
    assert [line.split("  ")[0] for line in lines[2:6]] == [
        f"{model} on {vectors}"
        for model in ("ridge regression", "ses tags")
        for vectors in ("the new format", "the index's vectors")
    ]
    assert "orth using: macro F1 " in lines[6]
    assert lines[7].startswith(f"The model is in {folder / 'venue' / 'model'} (step ")
    model = find_model(str(folder / "venue" / "model"))
    base = find_model(str(folder / "tiny"))
    assert {one.value for one in model.card.formats} == {"clf", "prx", "qry"}
    texts = ["virus lung", "star galaxy"]
    same, other = (api.load_model(str(one.folder)) for one in (base, base))
    own = api.load_model(str(folder / "venue" / "model"))
    assert (own.encode(texts, "prx") == same.encode(texts, "prx")).all()
    assert (own.encode(texts, "clf") != other.encode(texts, "clf")).any()
    assert not (folder / "venue" / "states").exists()
    assert not (folder / "venue" / "trial").exists()


def test_the_recipe_can_be_changed_and_trained_again(folder):
    train(folder, "score", output="score")
    path = folder / "score" / "recipe.toml"
    recipe = read_variants(path)[""]
    assert [path.name for path in recipe.guard] == ["test.jsonl"]
    again = ses(folder, "train", path, "--output", folder / "again")
    assert again.returncode == 0, again.stderr
    fails(train(folder, "score", output="score"), 2, "holds a recipe already")


def test_several_labels_as_json(folder):
    done = train(folder, "topics", "--json", output="topics")
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert (told["format"], told["worth"]["labels"], told["papers"]["task"]) == ("clf", 4, "labels")
    assert len(told["worth"]["scores"]) == 4
    assert find_model(told["model"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["train"], "name a RECIPE, or an index with --from-index NAME"),
        (["train", "--labels", "venue"], "leave --labels out, or name --from-index"),
        (["train", "--from-index", "own"], "with --labels FIELD"),
        (["train", "--from-index", "own", "--labels", "venue", "--resume"], "leave --resume out"),
        (["train", "--from-index", "own", "--labels", "venue", "--minutes", "0.01"], "in 0.01 minutes"),
        (["train", "--from-index", "own", "--labels", "venue", "--format", "rgn"], "give --format clf"),
        (["train", "--from-index", "none", "--labels", "venue"], "There is no index 'none'"),
    ],
)
def test_what_can_not_be_trained_is_told(folder, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    fails(ses(folder, *arguments, SES_MODEL=str(folder / "tiny")), 2, told)
    assert not list(tmp_path.iterdir())
