"""The project's recipes of the papers' methods: each is read as it is, given its data."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from encoders.models.formats import Format
from encoders.models.known import KNOWN_MODELS
from tests.training.recipes import read_recipe
from training.data.builders.registry import BUILDERS
from training.recipe import Recipe, read_variants

RECIPES = Path(__file__).parents[2] / "recipes"
METHODS = {"specter": "citations", "scincl": "neighbours", "miread": "labels"}
OF_SEVERAL_TASKS = {
    "scimult-vanilla": "all",
    "scimult-mha": "experts",
    "scimult-ffn": "experts",
    "scimult-instruction": "instructions",
    "scimult-prefix": "prefix",
    "unipr": "instructions",
}


def files(path):
    """Return the files and folders that a recipe names."""
    content = tomllib.loads(path.read_text())
    builds = [task["build"] for task in content["tasks"] if "build" in task]
    named = [name for build in builds for name in (*build["papers"], *build.get("files", {}).values())]
    named += [task[key] for task in content["tasks"] for key in ("train", "validation") if key in task]
    return named, content.get("guard", [])


def given_empty_data(path, folder):
    """Read a recipe in a folder where each file that it names is empty."""
    for name in (name for part in files(path) for name in part):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return read_recipe(path, folder)


@pytest.mark.parametrize("size", ["", "-small"])
@pytest.mark.parametrize("method", METHODS)
def test_the_recipes_of_methods_are_read(method, size, tmp_path):
    recipe = given_empty_data(RECIPES / f"{method}{size}.toml", tmp_path)
    assert isinstance(recipe, Recipe)
    (task,) = recipe.tasks
    assert task.build.builder == METHODS[method]
    assert task.type == BUILDERS[METHODS[method]].type
    assert all(one.is_relative_to(tmp_path) for one in (*task.build.papers, *recipe.guard))
    assert recipe.formats == ((Format.CLF,) if method == "miread" else (Format.PRX,))


@pytest.mark.parametrize("method", METHODS)
def test_small_recipes_guard_every_evaluation_set_and_name_data_that_is_there(method, data_dir):
    recipe = read_recipe(RECIPES / f"{method}-small.toml", data_dir)
    evaluated = {path.name for path in (data_dir / "eval").iterdir()}
    # Of TREC-COVID there is a smoke test only, and SciRepEval's samples are training data.
    assert {path.name for path in recipe.guard} == evaluated - {"trec-covid", "scirepeval-samples.tar.xz"}


@pytest.mark.parametrize("size", ["", "-small"])
@pytest.mark.parametrize("method", OF_SEVERAL_TASKS)
def test_the_recipes_of_scimult_and_unipr_are_read(method, size, tmp_path):
    recipe = given_empty_data(RECIPES / f"{method}{size}.toml", tmp_path)
    assert recipe.trains == OF_SEVERAL_TASKS[method]
    assert recipe.formats == tuple(Format)
    assert {task.objective for task in recipe.tasks} == {"contrastive"}
    assert (recipe.sampler, recipe.layer_decay, recipe.clip) == ("shuffled-batches", 0.8, 2.0)
    if method not in ("scimult-vanilla", "unipr"):
        assert recipe.base == f"{RECIPES}/../runs/scimult-vanilla{size}/model"


@pytest.mark.parametrize("name", ["formats", "negatives", "journals", "experts"])
def test_the_variants_of_findings_learn_from_the_same_batches(name, tmp_path):
    path = RECIPES / f"findings-{name}.toml"
    for file in files(path)[0]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    first, *others = read_variants(path, (), tmp_path).values()
    own = {"trains", "base", "options", "learning_rate", *(["tasks"] if name == "negatives" else [])}
    assert all(first.model_dump(exclude=own) == other.model_dump(exclude=own) for other in others)
    assert len(others) == {"formats": 6, "negatives": 1, "journals": 0, "experts": 3}[name]


@pytest.mark.parametrize("name", ["clf-spread", "clf-labels", "rgn-words"])
def test_the_recipes_of_clf_and_rgn_are_read(name, tmp_path):
    recipe = given_empty_data(RECIPES / f"{name}.toml", tmp_path)
    assert recipe.formats == (Format(name[:3]),)
    known = {f"train/{data}.jsonl.xz" for data in ("arxiv", "synergy", "pubmed", "conf")}
    assert {str(path.relative_to(tmp_path)) for task in recipe.tasks for path in task.build.papers} <= known
    assert len(recipe.guard) == 5


def test_the_recipe_of_queries_is_read(tmp_path):
    recipe = given_empty_data(RECIPES / "hybrid-queries.toml", tmp_path)
    assert recipe.formats == (Format.QRY,)


def test_the_recipe_of_leaf_is_read_and_has_its_teachers_length(tmp_path):
    recipe = given_empty_data(RECIPES / "distil-leaf.toml", tmp_path)
    assert recipe.formats == (Format.PRX, Format.QRY)
    for task in recipe.tasks:
        name = task.build.options["teacher"].removeprefix("model:")
        assert (task.build.builder, task.objective) == ("teacher", "vectors")
        assert recipe.options == {"dimension": KNOWN_MODELS[name].dimension}
    assert [task.build.options["texts"] for task in recipe.tasks] == ["papers", "queries"]


def test_the_recipe_of_leaf_guards_every_evaluation_set(data_dir):
    recipe = read_recipe(RECIPES / "distil-leaf.toml", data_dir)
    evaluated = {path.name for path in (data_dir / "eval").iterdir()}
    assert {path.name for path in recipe.guard} == evaluated - {"trec-covid", "scirepeval-samples.tar.xz"}


def test_the_recipe_of_rerankers_is_read(tmp_path):
    path = RECIPES / "reranker.toml"
    for file in ("train/pubmed", "train/arxiv", "train/conf", "train/synergy"):
        (tmp_path / f"{file}.jsonl.xz").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{file}.jsonl.xz").write_text("")
    for name in tomllib.loads(path.read_text())["guard"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    variants = read_variants(path, (), tmp_path)
    assert {name: recipe.tasks[0].type for name, recipe in variants.items()} == {"mined": "ir", "distilled": "ranked"}
    assert all(recipe.trains == "reranker" and len(recipe.guard) == 5 for recipe in variants.values())
