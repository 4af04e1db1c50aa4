"""The recipes of SciRepEval's methods: each is read as it is, and has the paper's numbers."""

from __future__ import annotations

import json
import lzma
import shutil
import tomllib
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import pytest

from encoders.models.formats import Format
from encoders.registry import find_model
from tests.tiny import make_model
from tests.training.recipes import PUBLISHED, publish, read_recipe, task_files
from training.recipe import read_variants
from training.train import train_variants

RECIPES = Path(__file__).parents[2] / "recipes"
METHODS = {"cls": "all", "ctrl": "codes", "adapters": "adapters", "pals": "pals", "fusion": "fusion"}

# The eight tasks of SciRepEval's own configuration in brief, its data sets as files.
CODES = ["[RGN]", "[CLF]", {"query": "[QRY]", "candidates": "[PRX]"}, "[PRX]"]
CONFIG = [
    {"name": kind, "type": kind, "data_files": {"train": "a.jsonl"}, "labels_field": "label", "ctrl_token": code}
    for kind, code in zip(("regression", "classification", "ir", "triplet"), CODES, strict=True)
]


@pytest.mark.parametrize("method", METHODS)
def test_the_papers_recipes_have_its_numbers(method, tmp_path):
    (tmp_path / "scirepeval").mkdir()
    (tmp_path / "scirepeval" / "a.jsonl").write_text("")
    (tmp_path / "scirepeval" / "tasks_config.json").write_text(json.dumps(CONFIG))
    recipe = read_recipe(RECIPES / f"scirepeval-{method}.toml", tmp_path)
    assert recipe.trains == METHODS[method]
    assert recipe.formats == tuple(Format)
    assert recipe.batch_size * recipe.accumulation == 256
    assert (recipe.epochs, recipe.warmup, recipe.max_tokens, recipe.sampler) == (2, 700, 512, "mixed-proportional")
    whole = method in ("cls", "ctrl")
    schedule = ("inverse-square-root", 5e-5) if whole else ("linear", 1e-4)
    assert (recipe.schedule, recipe.learning_rate) == schedule
    if method == "fusion":
        assert Path(recipe.base).resolve() == RECIPES.parent / "runs" / "scirepeval-adapters" / "model"
    else:
        assert recipe.base == "allenai/scibert_scivocab_uncased"


@pytest.mark.parametrize("method", METHODS)
def test_the_small_recipes_are_read(method, tmp_path):
    path = RECIPES / f"scirepeval-{method}-small.toml"
    content = tomllib.loads(path.read_text())
    for name in (*content["guard"], *(name for task in content["tasks"] for name in task["build"]["papers"])):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    recipe = read_recipe(path, tmp_path)
    assert recipe.trains == METHODS[method]
    assert set(recipe.formats) >= {Format.CLF, Format.RGN, Format.PRX}


@pytest.mark.parametrize("method", METHODS)
def test_the_small_recipes_name_fields_that_the_data_have(method, data_dir):
    recipe = read_recipe(RECIPES / f"scirepeval-{method}-small.toml", data_dir)
    for task in recipe.tasks:
        (path,) = task.build.papers
        field = task.build.options.get("field") or task.build.options["references"]
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            assert any(json.loads(line).get(field) for line in islice(lines, 200))


def published(name, folder):
    """Write tiny published sets, their configuration, and a recipe of the project over a tiny base; read the recipe."""
    sets = folder / "scirepeval"
    publish(task_files(folder), "{split}/000{number}.parquet")
    shutil.copytree(sets / "cite_prediction", sets / "cite_prediction_new")
    (sets / "tasks_config.json").write_text(json.dumps(PUBLISHED))
    text = (RECIPES / name).read_text()
    base = tomllib.loads(text)["base"]
    text = text.replace(f'base = "{base}"', f'base = "{make_model(folder / "network")}"')
    (folder / name).write_text(text.replace("max_tokens = 512", "max_tokens = 128"))
    return base, read_variants(folder / name, (), folder)


def trained(recipes, folder):
    """Train variants; return the result of each by its name."""
    return dict(train_variants(recipes, folder, report=lambda _: nullcontext(lambda _: None)))


@pytest.mark.torch
def test_adapters_and_fusion_over_scincl_are_trained_for_the_papers_epochs(tmp_path):
    base, recipes = published("scirepeval-scincl.toml", tmp_path)
    assert base == "malteos/scincl"
    assert {name: (one.trains, one.epochs, one.learning_rate) for name, one in recipes.items()} == {
        "adapters": ("adapters", 6, 1e-4),
        "fusion": ("fusion", 4, 5e-5),
    }
    assert all((one.batch_size * one.accumulation, one.schedule) == (256, "linear") for one in recipes.values())
    assert all(one.patience for one in recipes.values())
    done = trained(recipes, tmp_path / "runs")
    assert {name: (one.steps, one.total) for name, one in done.items()} == {"adapters": (3, 3), "fusion": (2, 2)}
    model = find_model(str(tmp_path / "runs" / "fusion" / "model"))
    assert set(model.card.formats) == set(Format)


@pytest.mark.torch
def test_training_stops_early_where_no_validation_is_better(tmp_path):
    _, recipes = published("scirepeval-scincl.toml", tmp_path)
    # Nothing is learned, so that no validation is better than the first.
    still = {"learning_rate": 1e-12, "validate_every": 1, "accumulation": 1, "patience": 2}
    adapters = recipes["adapters"].model_copy(update=still)
    (done,) = trained({"adapters": adapters}, tmp_path / "runs").values()
    assert (done.steps, done.chosen) == (3, 1)
    assert done.total > 20


@pytest.mark.torch
def test_specter2_is_a_base_of_citations_and_adapters_over_it(tmp_path):
    base, recipes = published("specter2.toml", tmp_path)
    assert base == "allenai/scibert_scivocab_uncased"
    assert {name: (one.trains, one.epochs, one.batch_size * one.accumulation) for name, one in recipes.items()} == {
        "base": ("all", 2, 1024),
        "adapters": ("adapters", 6, 256),
    }
    done = trained(recipes, tmp_path / "runs")
    assert list(done) == ["base", "adapters"]
    assert set(find_model(str(tmp_path / "runs" / "adapters" / "model")).card.formats) == set(Format)


def test_the_small_recipe_of_specter2_names_data_that_is_there(data_dir):
    base, adapters = read_variants(RECIPES / "specter2-small.toml", (), data_dir).values()
    assert (base.trains, adapters.trains, adapters.base) == ("all", "adapters", "variant:base")
    assert [task.name for task in base.tasks] == ["citations"]
    assert {task.format for task in adapters.tasks} == {Format.CLF, Format.RGN, Format.PRX}
    assert len(base.guard) == len(adapters.guard) == 5
