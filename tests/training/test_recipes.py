"""The project's recipes of the papers' methods: each is read as it is, given its data."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from encoders.formats import Format
from training.data.builders.registry import BUILDERS
from training.recipe import Recipe, read_recipe

RECIPES = Path(__file__).parents[2] / "recipes"
METHODS = {"specter": "citations", "scincl": "neighbours", "miread": "labels"}


def files(path):
    """Return the files and folders that a recipe names."""
    content = tomllib.loads(path.read_text())
    builds = [task["build"] for task in content["tasks"]]
    named = [name for build in builds for name in (*build["papers"], *build.get("files", {}).values())]
    return named, content.get("guard", [])


@pytest.mark.parametrize("size", ["", "-small"])
@pytest.mark.parametrize("method", METHODS)
def test_the_recipes_of_methods_are_read(method, size, tmp_path):
    path = RECIPES / f"{method}{size}.toml"
    for name in (name for part in files(path) for name in part):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    recipe = read_recipe(path, tmp_path)
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
