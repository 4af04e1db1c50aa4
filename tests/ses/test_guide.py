"""The guide shows what its commands print, and the site has no dead links."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.guide import PAGES, played, without_times

ROOT = PAGES.parents[1]


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.md")))
def test_a_page_shows_what_its_commands_print(page):
    text = (PAGES / page).read_text(encoding="utf-8")
    assert without_times(played(text)) == without_times(text), "out of date: run `make docs`"


def build(folder):
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_the_site_builds_and_a_dead_link_fails_it(tmp_path):
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    done = build(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Scientific search" in (tmp_path / "site" / "guide" / "index.html").read_text(encoding="utf-8")
    with (tmp_path / "docs" / "guide" / "index.md").open("a", encoding="utf-8") as page:
        page.write("\n[nowhere](nowhere.md)\n")
    assert build(tmp_path).returncode
