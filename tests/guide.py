"""The examples of the documentation: runs the commands of each page in order, in one folder, with the default model.

`python -m tests.guide [PAGE...]` writes what they print into the pages;
`tests/ses/test_guide.py` checks that nothing changes. A code block with a title is a file of that folder, or a request
to a server (`PUT /books`). Comments in a page say more: `<!-- continues guide/index.md -->` begins where that page
ends, `<!-- lane opensearch -->` needs this lane of tests, `<!-- invented NAME -->` writes the file of
`tests/invented.py`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ses.terminal.reference import with_options
from tests.commands import call
from tests.conftest import LANES, SERVERS
from tests.invented import write_invented
from tests.isolation import isolate

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs"
SERVER = "http://127.0.0.1:9200"
"""How pages write the URL of a server."""

_BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$|^<!-- invented (?P<invented>\S+) -->$',
    re.DOTALL | re.MULTILINE,
)
_INDEX = re.compile(r'^```json title="PUT /([\w-]+)"$', re.MULTILINE)
_COMMENT = re.compile(r"^<!-- (?P<name>continues|lane) (?P<value>\S+) -->$", re.MULTILINE)
_VARYING = re.compile(r"\d[\d.,]* (?:ms|s|seconds|papers/s|[KM]iB)\b|\d{4}-\d\d-\d\d \d\d:\d\d")
_DECIMAL = re.compile(r"(\d+\.\d+)")
_NEAR = 0.02
"""Processors differ in the last digits of a vector."""

ENVIRONMENT = {"COLUMNS": "100", "SES_PRECISION": "fp32"}
"""At 8 bits, processors of other kinds would give other ranks and counts."""


def pages() -> list[str]:
    """Return the names of the pages that show what commands print."""
    names = (path.relative_to(PAGES).as_posix() for path in sorted(PAGES.rglob("*.md")))
    return [name for name in names if "\n```console\n" in _text(name) or "<!-- settings -->" in _text(name)]


def comment(page: str, name: str) -> str:
    """Return the value of a comment in a page, or nothing."""
    return next((found["value"] for found in _COMMENT.finditer(_text(page)) if found["name"] == name), "")


def agree(one: str, other: str) -> bool:
    """Say whether two texts are the same, except for times, sizes and the last digits of decimal numbers."""
    parts = [_DECIMAL.split(_VARYING.sub("-", text)) for text in (one, other)]
    if len(parts[0]) != len(parts[1]):
        return False
    return all(
        here == there or (place % 2 == 1 and abs(float(here) - float(there)) <= _NEAR)
        for place, (here, there) in enumerate(zip(*parts, strict=True))
    )


@dataclass(frozen=True)
class Player:
    """Plays pages, each once, in folders of their own that share a cache.

    Attributes:
        folder: For the home folder of each page.
        cache: Of graphs and vectors.
        texts: The pages played so far, with what their commands print.
    """

    folder: Path
    cache: Path
    texts: dict[str, str] = field(default_factory=dict)

    def play(self, page: str) -> str:
        """Run the commands of a page, and return the page with what they print, and with the table of settings."""
        if page not in self.texts:
            home = self.home(page)
            if earlier := comment(page, "continues"):
                self.play(earlier)
                shutil.copytree(self.home(earlier), home)
            (home / "papers").mkdir(parents=True, exist_ok=True)
            text = with_options(_text(page))
            with chdir(home / "papers"), _without(_server(page), _INDEX.findall(text)):
                self.texts[page] = _BLOCK.sub(lambda block: self._block(block, page), text)
        return self.texts[page]

    def home(self, page: str) -> Path:
        """Return the home folder of a page."""
        return self.folder / page.replace("/", "-")

    def _block(self, block: re.Match[str], page: str) -> str:
        if block["invented"]:
            write_invented(Path(block["invented"]))
        elif block["title"] and block["title"].startswith("PUT /"):
            _request("PUT", _server(page) + block["title"].removeprefix("PUT "), block["text"])
        elif block["title"]:
            Path(block["title"]).parent.mkdir(parents=True, exist_ok=True)
            Path(block["title"]).write_text(block["text"], encoding="utf-8")
        if block["kind"] != "console":
            return block[0]
        parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", block["text"], flags=re.MULTILINE)
        shown = (self._shown(page, *pair) for pair in zip(parts[1::2], parts[2::2], strict=True))
        return f"```console\n{''.join(shown)}```"

    def _shown(self, page: str, command: str, before: str) -> str:
        called, *words = shlex.split(command.replace("\\\n", " "))
        home, server = self.home(page), _server(page)
        if called == "cat":
            (name,) = words
            return f"$ {command}\n{(home / name.removeprefix('~/')).read_text(encoding='utf-8')}"
        assert called == "ses", f"a page shows only commands of ses, and cat: {command}"
        if server:
            words = [word.replace(SERVER, server) for word in words]
        folders = {"SES_DATA_DIR": str(home / ".local/share/ses"), "SES_CACHE_DIR": str(self.cache)}
        done = call(words, folders | ENVIRONMENT)
        # Without progress, which is printed before an error.
        notes = "".join(f"{line}\n" for line in done.stderr.splitlines() if line.startswith("Note: "))
        printed = notes + done.stdout + "".join(done.stderr.partition("Error: ")[1:])
        for real, shown in ((server, SERVER), (str(self.cache), "~/.cache/ses"), (str(home), "~")):
            printed = printed.replace(real, shown) if real else printed
        lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
        return f"$ {command}\n{before if agree(before, lines) else lines}"


def _text(page: str) -> str:
    return (PAGES / page).read_text(encoding="utf-8")


def _server(page: str) -> str:
    lane = comment(page, "lane")
    return os.environ[SERVERS[lane]] if lane else ""


@contextmanager
def _without(server: str, indexes: list[str]) -> Iterator[None]:
    """Delete indexes that are not those of ses, which tests leave behind, before and after."""
    urls = [f"{server}/{name}?ignore_unavailable=true" for name in indexes]
    for url in urls:
        _request("DELETE", url)
    try:
        yield
    finally:
        for url in urls:
            _request("DELETE", url)


def _request(method: str, url: str, text: str = "") -> None:
    kind = "application/x-ndjson" if "/_bulk" in url else "application/json"
    request = urllib.request.Request(url, text.encode(), {"Content-Type": kind}, method=method)  # noqa: S310 - a server of the tests
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        assert b'"errors":true' not in answer.read()


def main(names: list[str]) -> None:
    """Write what the commands print into pages; all of those whose lanes are ready if none is named."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        isolate(folder)
        player = Player(folder / "pages", folder / "cache")
        for page in names or pages():
            lane = comment(page, "lane")
            if not lane or LANES[lane].ready():
                text = player.play(page)
                (PAGES / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
