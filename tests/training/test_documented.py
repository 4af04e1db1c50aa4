"""The recipes of docs/training.md are read as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from training.recipe import read_variants

pytestmark = pytest.mark.lint

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
BLOCKS = re.findall(r"^```toml\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
WHOLE = [block for block in BLOCKS if re.search(r"^base = ", block, re.MULTILINE)]


def read(folder, text):
    for name in re.findall(r'"([\w./-]+\.(?:jsonl|tsv|txt)[\w.]*)"', text):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "recipe.toml").write_text(text)
    return read_variants(folder / "recipe.toml")


@pytest.mark.parametrize("block", WHOLE)
def test_a_whole_recipe(tmp_path, block):
    (recipe,) = read(tmp_path, block).values()
    assert recipe.tasks


def test_there_is_a_recipe_of_the_tutorial():
    assert [block.splitlines()[0] for block in WHOLE] == ["# topics.toml", "# mine.toml"]


def test_the_variants_fit_the_first_recipe(tmp_path):
    (variants,) = (block for block in BLOCKS if "[[variants]]" in block)
    found = read(tmp_path, WHOLE[0] + variants)
    assert [recipe.trains for recipe in found.values()] == ["last", "adapters"]
    assert [task.limit for task in found["fewer-examples"].tasks] == [1000, 1000]
