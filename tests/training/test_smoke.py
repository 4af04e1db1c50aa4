"""`recipes/smoke.toml`: every architecture, objective and sampler trains."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from encoders.registry import find_model
from tests.commands import ses
from tests.tiny import make_model
from training.objectives import OBJECTIVES
from training.recipe import read_variants
from training.samplers import SAMPLERS
from training.trainables.registry import TRAINABLES

SMOKE = Path(__file__).parents[2] / "recipes" / "smoke.toml"


def test_whatever_can_be_trained_is_in_the_recipe():
    variants = read_variants(SMOKE).values()
    vectors = {name for name, one in TRAINABLES.items() if not one.pairs}
    assert {recipe.trains for recipe in variants} == vectors
    assert {recipe.sampler for recipe in variants} == SAMPLERS.keys()
    for recipe in variants:
        assert {task.objective for task in recipe.tasks} == {name for name, one in OBJECTIVES.items() if not one.pairs}


def test_the_first_step_has_examples_of_every_task():
    recipe = read_variants(SMOKE)["adapters"]
    assert recipe.sampler == "mixed-proportional"
    assert round(recipe.batch_size / len(recipe.tasks)) * len(recipe.tasks) <= recipe.batch_size


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("base", ["tiny", pytest.param("all-MiniLM-L6-v2", marks=pytest.mark.long)])
def test_all_of_it_trains(base, tmp_path):
    if base == "tiny":
        make_model(tmp_path / "tiny", width=32, layers=3)
        base = str(tmp_path / "tiny")
    shutil.copytree(SMOKE.parent / "smoke", tmp_path / "smoke")
    recipe = SMOKE.read_text(encoding="utf-8").replace('base = "all-MiniLM-L6-v2"', f'base = "{base}"')
    (tmp_path / SMOKE.name).write_text(recipe, encoding="utf-8")
    chosen = list(read_variants(SMOKE))
    done = ses(tmp_path, "train", tmp_path / SMOKE.name, "--output", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["variants"]
    assert list(told) == chosen
    for name, result in told.items():
        assert (result["steps"], result["unusable"]) == (2, dict.fromkeys(result["unusable"], 0))
        assert find_model(result["model"]).card.formats, name
        (first, _) = map(json.loads, (tmp_path / "run" / name / "log.jsonl").read_text().splitlines())
        assert len(first["losses"]) == 10 or name in SAMPLERS
