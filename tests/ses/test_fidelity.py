"""docs/fidelity.md: each row names a command, what it is compared with, and a test and recipes that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ses.terminal.commands.eval import COMMANDS

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| what |"))
]


def test_rows_have_five_cells():
    assert len(ROWS) > 50
    assert [row[0] for row in ROWS if len(row) != 5] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_what_is_compared_has_a_test_that_exists(row):
    _, command, against, difference, test = row
    tests = re.findall(r"`(tests/[\w/]+\.py)`", test)
    assert all((tests, command, against, difference)), row
    assert not re.search(r"missing|not compared", f"{against} {difference}"), row
    assert [name for name in tests if not (ROOT / name).is_file()] == []
    assert [name for name in re.findall(r"recipes/[\w.-]+\.toml", command) if not (ROOT / name).is_file()] == []
    assert set(re.findall(r"ses eval ([a-z-]+)", command)) <= set(COMMANDS)


def test_every_recipe_of_a_paper_has_a_row_or_belongs_to_one():
    methods = {"specter", "specter2", "scincl", "miread", "unipr", "scirepeval-scincl"}
    assert {name for name in methods if f"recipes/{name}.toml" not in PAGE} == set()
