"""The documentation shows what its commands print, and the site has no dead links."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from tests.guide import PAGES, ROOT, Player, agree, comment, pages
from tests.readme import PICTURE, README, picture, played, words_of

SHOWN = re.compile(r"^```(?!console$)[^\n]*\n\$ ses .*?^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def player(tmp_path_factory, shared_cache):
    return Player(tmp_path_factory.mktemp("pages"), shared_cache)


def marked(page):
    lane = comment(page, "lane")
    return pytest.param(page, marks=[getattr(pytest.mark, lane)] if lane else [])


@pytest.mark.slow
@pytest.mark.parametrize("page", [marked(page) for page in pages()])
def test_a_page_shows_what_its_commands_print(page, player):
    text, played = (PAGES / page).read_text(encoding="utf-8"), player.play(page)
    if not agree(played, text):
        assert played == text, f"out of date: run `python -m tests.guide {page}`"


@pytest.mark.slow
def test_the_readme_shows_what_its_code_prints(tmp_path, shared_cache):
    text = README.read_text(encoding="utf-8")
    assert text.count("```python\n") == 1
    printed = played(text, tmp_path, shared_cache)
    assert agree(printed, text), "out of date: run `python -m tests.readme`"
    assert not agree(printed.replace("score ", ""), text)


@pytest.mark.slow
def test_the_picture_of_the_readme_is_what_a_search_prints(player):
    shown = PICTURE.read_text(encoding="utf-8")
    assert agree(words_of(picture(player)), words_of(shown)), "out of date: run `python -m tests.readme`"
    assert "1 to 3 of 4 candidates" in words_of(shown)
    assert PICTURE.stat().st_size < 150_000


@pytest.mark.lint
def test_every_output_on_a_page_is_played():
    assert len(pages()) >= 10
    for path in PAGES.rglob("*.md"):
        assert not SHOWN.findall(path.read_text(encoding="utf-8")), f"{path}: use a block ```console for output"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("3 papers, 12 ms", "3 papers, 7.5 ms", True),
        ("3 papers", "4 papers", False),
        ("near a1 (0.65)", "near a1 (0.66)", True),
        ("near a1 (0.65)", "near a1 (0.75)", False),
        ("near a1 (0.65)", "near a2 (0.65)", False),
        ("published 2026-11-22 22:50, 3.1 MiB", "published 2027-01-01 00:00, 3.2 MiB", True),
        ("0.65", "0.65 0.7", False),
    ],
)
def test_outputs_agree_but_for_times_sizes_and_last_digits(one, other, same):
    assert agree(one, other) is same


def test_a_page_begins_where_another_ends_and_stale_output_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.guide.PAGES", tmp_path / "docs")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "first.md").write_text(
        '```csv title="queries.txt"\n"virus\n```\n\n```console\n$ ses indexes list\nstale\n```\n'
    )
    (tmp_path / "docs" / "second.md").write_text(
        "<!-- continues first.md -->\n\n```console\n$ ses encode queries.txt --format abc\n```\n"
    )
    player = Player(tmp_path / "homes", tmp_path / "cache")
    assert "No indexes yet" in player.play("first.md")
    assert "stale" not in player.play("first.md")
    assert "Error: " in player.play("second.md")
    assert (tmp_path / "homes" / "second.md" / "papers" / "queries.txt").exists()


def build(folder):
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.dev
@pytest.mark.slow
def test_the_site_builds_and_a_dead_link_fails_it(tmp_path):
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    done = build(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Scientific search" in (tmp_path / "site" / "guide" / "index.html").read_text(encoding="utf-8")
    with (tmp_path / "docs" / "guide" / "index.md").open("a", encoding="utf-8") as page:
        page.write("\n[nowhere](nowhere.md)\n")
    assert build(tmp_path).returncode
