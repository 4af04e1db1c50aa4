"""Figures in the documentation come from commands that exist."""

import importlib
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [
    path
    for name in ("ses", "corpora", "encoders", "indexer", "search_plugin", "training", "eval", "products", "benchmarks")
    for path in sorted((ROOT / name).rglob("*.py"))
]
HELPERS = {"__init__", "altered", "common"}
PACKAGES = {path.parent.name for path in (ROOT / "benchmarks").glob("*/__main__.py")}
BENCHMARKS = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - HELPERS | PACKAGES
COMMAND = re.compile(r"`(?:python -m benchmarks\.\w+|ses eval )")
NAMED = re.compile(r"python -m benchmarks\.(\w+)|make bench-(\w+)|benchmarks/(\w+)\.py")
PAST = re.compile(r"`([^`]*)` of [0-9a-f]{8}")
"""A command of an earlier commit, of a finished experiment: its table stays, and its script has left."""


def named(text):
    """Benchmarks that a text names, but for those of earlier commits, and stand-ins in capitals."""
    return {name for found in NAMED.findall(PAST.sub("", text)) for name in found if name and not name.isupper()}


def sections(text):
    """A page's sections: each heading, and what stands below it down to the next."""
    return re.split(r"^(?=#+ )", text, flags=re.MULTILINE)


def tables_without_command(text):
    """Headings of the sections that have a table of figures and no command in their prose that makes it."""
    return [
        section.splitlines()[0]
        for section in sections(text)
        if re.search(r"^\|.*\d", section, re.MULTILINE) and not COMMAND.search(prose(section))
    ]


def prose(section):
    return "\n".join(line for line in section.splitlines() if not line.startswith("|"))


def test_benchmarks_that_are_named_exist():
    texts = {path: path.read_text(encoding="utf-8") for path in [*PAGES, *SOURCES]}
    assert {path: unknown for path, text in texts.items() if (unknown := named(text) - BENCHMARKS - HELPERS)} == {}


def test_a_command_of_an_earlier_commit_has_left():
    past = {name for path in PAGES for command in PAST.findall(path.read_text("utf-8")) for name in named(command)}
    assert len(past) > 10
    assert past & BENCHMARKS == set()


def test_every_benchmark_is_named_in_the_documentation():
    commands = [f"python -m benchmarks.{name}" for name in sorted(BENCHMARKS)]
    text = "".join(PAST.sub("", path.read_text(encoding="utf-8")) for path in PAGES)
    assert [command for command in commands if command not in text] == []


def test_every_table_of_measurements_has_its_command():
    assert tables_without_command((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")) == []


def test_sections_that_are_referred_to_exist():
    headings = re.findall(r"^#+ (.*)", (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"), re.MULTILINE)
    cited = re.compile(r"docs/benchmarks\.md, ([^)]+)\)")
    for path in [*PAGES, *SOURCES]:
        text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
        assert set(cited.findall(text)) <= set(headings), path


def test_makefile_runs_benchmarks_that_exist():
    (line,) = re.findall(r"^BENCHMARKS \?= (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    wanting_a_server = {"loading", "million_clusters", "query_words"}
    wanting_a_folder = {"million", "whole"}
    assert set(line.split()) == BENCHMARKS - wanting_a_server - wanting_a_folder


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_a_benchmark_can_be_started_and_says_how(name):
    module = importlib.import_module(f"benchmarks.{name}" + (".__main__" if name in PACKAGES else ""))
    assert callable(module.main)
    assert re.search(rf"Run: (python -m benchmarks\.|make bench-){name}\b", module.__doc__)


def test_the_check_finds_a_table_without_command():
    table = "| a | b |\n| --- | --- |\n| x | 1.5 |\n"
    page = f"# P\n\nText.\n\n## Good\n\n`python -m benchmarks.a`:\n\n{table}\n## Bad\n\n{table}\n### Worse\n\n"
    page += "| `python -m benchmarks.b` | 2 |\n"
    assert tables_without_command(page) == ["## Bad", "### Worse"]
    text = "`make bench-NAME`, benchmarks/one.py, make bench-two, benchmarks/three.py, `benchmarks/x.py` of 12345678"
    assert named(text) == {"one", "two", "three"}
