"""The name under which ses is installed: no text tells a reader to install another project that is called `ses`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from corpora.installed import DISTRIBUTION, extra

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parent.parent
STRANGER = re.compile(r"(?:pip|uv|pipx)[^\n`]* install[^\n`]*[ '\"]ses(?:[\[=<>~'\"`\s]|$)|(?<![\w.-])ses\[[a-z]")
"""`pip install ses`, or an extra of it such as in a table."""

LEFT_OUT = ("CHANGELOG.md", Path(__file__).name)


def read(*suffixes: str) -> dict[str, str]:
    """Return the files of the project with one of some suffixes, by path, with their texts."""
    folders = [folder for folder in ROOT.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
    paths = [*ROOT.iterdir(), *(path for folder in folders for path in folder.rglob("*"))]
    chosen = {path.relative_to(ROOT).as_posix(): path for path in paths if path.suffix in suffixes and path.is_file()}
    return {name: path.read_text(encoding="utf-8") for name, path in chosen.items() if path.name not in LEFT_OUT}


def test_the_package_has_the_name_of_the_constant():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == DISTRIBUTION
    own = [need for needs in project["optional-dependencies"].values() for need in needs if re.match(r"ses\b", need)]
    assert own
    assert all(need.startswith(f"{DISTRIBUTION}[") for need in own)
    assert extra("serve", "mcp") == f"'{DISTRIBUTION}[serve,mcp]'"


@pytest.mark.parametrize(
    "text",
    [
        "pip install ses",
        "`pip install 'ses[serve]'`",
        'uv pip install "ses"',
        "| ris | `ses[references]` |",
        "pip install ses==1",
    ],
)
def test_the_other_project_is_recognised(text):
    assert STRANGER.search(text)


@pytest.mark.parametrize(
    "text", [f"pip install {extra('serve')}", "pip install 'PATH-OF-THE-CLONE[serve]'", "aliases[name]"]
)
def test_our_own_is_not(text):
    assert not STRANGER.search(text)


def test_no_text_installs_the_other_project():
    texts = read(".md", ".py", ".ipynb", ".toml", ".mjs", ".php", ".yml", "")
    found = [f"{name}: {match[0]}" for name, text in texts.items() for match in STRANGER.finditer(text)]
    assert not found, f"write PATH-OF-THE-CLONE[...] in docs, and extra(...) in messages: {found}"


def test_the_name_is_written_once():
    """Documentation installs from a clone until the package is published, and messages use `extra`."""
    texts = {name: text for name, text in read(".py", ".md", ".ipynb").items() if not name.startswith("tests/")}
    assert {name for name, text in texts.items() if DISTRIBUTION in text} == {"corpora/installed.py"}


def test_the_wheel_holds_the_tables_for_queries():
    """They are read beside the code; a pattern of git that ignored them would leave them out in silence."""
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    packed = {one.distribution_path for one in builder.recurse_included_files()}
    tables = {path.relative_to(ROOT).as_posix() for path in (ROOT / "encoders" / "tables").glob("*/*")}
    assert {Path(name).name for name in tables} == {"README.md", "model.safetensors", "ses_card.json", "vocab.txt"}
    assert tables <= packed
