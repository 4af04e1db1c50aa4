"""The recipes of SciRepEval's methods: each is read as it is, and has the paper's numbers."""

from __future__ import annotations

import json
import lzma
import tomllib
from itertools import islice
from pathlib import Path

import pytest

from encoders.models.formats import Format
from tests.training.recipes import read_recipe

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
