"""The examples of the guide: runs the commands of each page in order, in one folder, with the default model.

`python -m tests.guide` writes what they print into the pages; `tests/ses/test_guide.py` checks that nothing changes.
A page's code blocks with a title are files of that folder.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import tempfile
from contextlib import chdir
from itertools import pairwise
from pathlib import Path

from tests.commands import call, of

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "guide"

_BLOCK = re.compile(r'^```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE)
_SETTINGS = re.compile(r"(?<=<!-- settings -->\n).*(?=<!-- end of settings -->)", re.DOTALL)
_TIME = re.compile(r"\d[\d.,]* (?:ms|s|seconds|papers/s)\b")
_WIDTH = "100"


def played(page: str) -> str:
    """Run the commands of a page, and return the page with what they print, and with the table of settings."""
    page = _SETTINGS.sub(lambda _: settings_table(), page)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "papers"
        folder.mkdir()
        with chdir(folder):
            return _BLOCK.sub(lambda block: _block(block, folder), page)


def settings_table() -> str:
    """Return the settings as a table, with the text that follows each in the sources."""
    tree = ast.parse((ROOT / "ses" / "settings.py").read_text(encoding="utf-8"))
    (body,) = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Settings"]
    rows = ["| in `ses.toml` | in the environment | meaning |", "| --- | --- | --- |"]
    for setting, text in pairwise(body):
        match setting, text:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(meaning))):
                rows.append(f"| `{name}` | `SES_{name.upper()}` | {' '.join(meaning.split())} |")
    return "\n".join([*rows, ""])


def without_times(page: str) -> str:
    """Return a page without what differs in every run."""
    return _TIME.sub("TIME", page)


def _block(block: re.Match[str], folder: Path) -> str:
    if block["title"]:
        Path(block["title"]).write_text(block["text"], encoding="utf-8")
    if block["kind"] != "console":
        return block[0]
    parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", block["text"], flags=re.MULTILINE)
    shown = "".join(_shown(command, before, folder) for command, before in zip(parts[1::2], parts[2::2], strict=True))
    return f"```console\n{shown}```"


def _shown(command: str, before: str, folder: Path) -> str:
    called, *words = shlex.split(command.replace("\\\n", " "))
    assert called == "ses", f"the guide shows only commands of ses: {command}"
    done = call(words, of(folder.parent / "home", COLUMNS=_WIDTH))
    printed = (done.stdout + done.stderr if done.returncode else done.stdout).replace(str(folder.parent), "")
    lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    # Times differ in every run: those on the page stay, unless something else has changed.
    kept = before if without_times(before) == without_times(lines) else lines
    return f"$ {command}\n{kept}"


def main() -> None:
    """Write what the commands print into all pages."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    for path in sorted(PAGES.glob("*.md")):
        path.write_text(played(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
