"""Formats of one's own, as a user trains them: `ses train --from-index`, and `library.formats`."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ses as api
from encoders.models.formats import Format
from encoders.registry import find_model
from ses.terminal.commands.train import _format_result
from tests.commands import fails, ses
from tests.encoders.layouts.adapted import brought
from tests.training.own.library import open_library
from tests.training.own.test_queries import judged
from training.own import run
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
        *("train", "--from-index", "own", "--labels", labels, "--minutes", "0.01"),
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
    for extra in ("trial", "runs", "together"):
        assert not (folder / "venue" / extra).exists()


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
    assert told["read"] == told["papers"]["train"]
    assert find_model(told["model"])


def test_papers_for_which_there_was_no_time_are_told(folder, monkeypatch):
    monkeypatch.setattr(run, "_LEAST_PAPERS", 60)
    settings = {"data_dir": str(folder / "data"), "cache_dir": str(folder / "cache"), "model": str(folder / "tiny")}
    library = api.open(**settings)
    own = library.formats.train("own", "venue", folder / "part", minutes=1e-6)  # spent before the first step
    assert own.read == 71  # 60 to train on, and 15 % of all for the validation
    assert own.papers.train > own.read
    _, lines = _format_result("own", own)
    assert lines[1].startswith(f"In the time, 71 of the {own.papers.train} papers were read, and all linear models")
    assert own.worth.train == 71


def test_a_model_of_adapters_keeps_those_of_the_index(tmp_path):
    index_model = brought(tmp_path / "specter2", layers=3)
    library = open_library(tmp_path, model=index_model)
    own = library.formats.train("own", "venue", tmp_path / "run", minutes=0.01)
    made = find_model(str(own.model)).card
    assert {*made.formats} == {*find_model(str(index_model)).card.formats}
    before, after = (api.load_model(str(one), precision="fp32") for one in (index_model, own.model))
    texts = ["virus lung", "star galaxy"]
    for name in ("prx", "qry", "rgn"):
        assert (after.encode(texts, name) == before.encode(texts, name)).all()
    assert not np.allclose(after.encode(texts, "clf"), before.encode(texts, "clf"), atol=1e-3)
    # It asks the index, and its recipe trains the same format alone.
    settings = {"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}
    assert len(api.open(model=str(own.model), **settings)["own"].search("virus", mode="vector")) > 0
    recipe = read_variants(tmp_path / "run" / "recipe.toml")[""]
    assert (recipe.plain, recipe.formats, own.runs) == ((), (Format.CLF,), own.worth.runs)
    library.rebuild("own", own={"clf": str(own.model)})
    assert library.tags.train("kind", "own", "venue")[0].source.format == "clf"


def test_a_model_of_adapters_is_compared_as_the_index_is(tmp_path):
    index_model = brought(tmp_path / "specter2", layers=3)
    (index_model / "ses_card.json").write_text('{"similarity": "cosine"}')
    library = open_library(tmp_path, model=index_model)
    own = library.formats.train("own", "venue", tmp_path / "run", minutes=0.01)
    assert find_model(str(own.model)).card.similarity == "cosine"


def test_the_command_says_that_the_index_lacks_vectors_of_its_model(tmp_path):
    index_model = brought(tmp_path / "specter2", layers=3)
    open_library(tmp_path, model=index_model)
    asked = ("train", "--from-index", "own", "--labels", "venue", "--minutes", "0.01", "--output", tmp_path / "out")
    done = ses(tmp_path, *asked, SES_MODEL=str(index_model))
    assert done.returncode == 0, done.stderr
    assert "The index own holds no clf vectors, so its prx vectors are used" in done.stdout


def test_it_is_trained_as_often_as_there_is_time_for(folder, monkeypatch):
    library = api.open(model=str(folder / "tiny"), data_dir=folder / "data", cache_dir=folder / "cache")
    monkeypatch.setattr(run, "_LEAST_STEPS", 1)
    monkeypatch.setattr(run.TrainingSpeed, "steps", lambda *_: 3)
    seeds = []
    trained = run.train
    monkeypatch.setattr(
        run, "train", lambda recipe, *args, **more: seeds.append(recipe.seed) or trained(recipe, *args, **more)
    )
    short, long = (
        library.formats.train("own", "venue", folder / f"for-{minutes}", minutes=minutes) for minutes in (0.01, 20)
    )
    assert (short.runs, long.runs) == (3, 4)
    # The speed is tried first.
    assert seeds == [42, *(42, 43, 44), 42, *(42, 43, 44, 45)]
    assert long.trained.folder == folder / "for-20" / "model"


def test_queries_are_trained_by_judged_ones(folder):
    texts, gains = judged()
    queries, qrels = folder / "queries.jsonl", folder / "qrels.tsv"
    queries.write_text("".join(json.dumps({"_id": one, "text": text}) + "\n" for one, text in texts.items()))
    rows = [f"{one}\t{id_}\t{gain}\n" for one, held in gains.items() for id_, gain in held.items()]
    qrels.write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    asked = ("train", "--from-index", "own", "--from-queries", queries, qrels, "--minutes", "0.01")
    done = ses(folder, *asked, "--output", folder / "asked", SES_MODEL=str(folder / "tiny"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Queries of the index own: ")
    assert lines[1].split() == ["search", "nDCG@10", "before", "after", "gain", "from", "to"]
    assert [line.split()[0] for line in lines[2:4]] == ["vector", "hybrid"]
    assert "orth using: nDCG@10 " in lines[4]
    assert lines[5] == f"The model that asks the index is in {folder / 'asked' / 'asking'}, its recipe beside it."
    shown = ses(folder, "search", "virus", "--index", "own", "--model", folder / "asked" / "asking", "--mode", "vector")
    assert shown.returncode == 0, shown.stderr
    fails(ses(folder, *asked, "--labels", "venue"), 2, "leave --labels and --format out")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["train"], "name a RECIPE, or an index with --from-index NAME"),
        (["train", "--labels", "venue"], "leave --labels out, or name --from-index"),
        (["train", "--from-index", "own"], "with --labels FIELD, or --from-queries QUERIES QRELS"),
        (["train", "--from-index", "own", "--labels", "venue", "--resume"], "leave --resume out"),
        (["train", "--from-index", "own", "--labels", "venue", "--minutes", "0"], "0.0 is not in the range"),
        (["train", "--from-index", "own", "--labels", "venue", "--format", "rgn"], "give --format clf"),
        (["train", "--from-index", "none", "--labels", "venue"], "There is no index 'none'"),
    ],
)
def test_what_can_not_be_trained_is_told(folder, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    fails(ses(folder, *arguments, SES_MODEL=str(folder / "tiny")), 2, told)
    assert not list(tmp_path.iterdir())
