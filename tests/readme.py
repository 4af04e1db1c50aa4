"""The README: runs its Python with the default model, and draws its picture from a search of the first hour.

`python -m tests.readme` writes what the code prints into README.md, and the picture into docs/hits.svg;
`tests/ses/test_guide.py` checks that nothing changes.
"""

from __future__ import annotations

import html
import io
import os
import re
import shlex
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from tests.commands import call
from tests.guide import ENVIRONMENT, PAGES, ROOT, Player
from tests.isolation import isolate

README = ROOT / "README.md"
PICTURE = PAGES / "hits.svg"
SEARCH = 'ses search "do face coverings slow an infection" --facet venue --facet year --size 3'
"""What the picture shows."""

_EXAMPLE = re.compile(r"(?P<code>^```python\n(?P<source>.*?)^```\n\n)```text\n.*?^```$", re.DOTALL | re.MULTILINE)
_TEXT = re.compile(r"<text[^>]*>(.*?)</text>")


def played(text: str, folder: Path, cache: Path) -> str:
    """Run each example of Python in a text, and return the text with what they print below them."""

    def run(example: re.Match[str]) -> str:
        printed = io.StringIO()
        with chdir(folder), patch.dict(os.environ, _settings(folder, cache)), redirect_stdout(printed):
            exec(compile(example["source"], str(README), "exec"), {})  # noqa: S102 - our own page
        return f"{example['code']}```text\n{printed.getvalue()}```"

    return _EXAMPLE.sub(run, text)


def picture(player: Player) -> str:
    """Return a search of the first hour in a terminal, as SVG."""
    from rich.console import Console
    from rich.text import Text

    player.play("guide/index.md")
    home = player.home("guide/index.md")
    environment = _settings(home / ".local/share/ses", player.cache) | {"NO_COLOR": "", "FORCE_COLOR": "1"}
    printed = call(shlex.split(SEARCH)[1:], environment).stdout
    console = Console(record=True, width=108, file=io.StringIO(), legacy_windows=False)
    console.print(Text(f"$ {SEARCH}", style="bold"))
    console.print(Text.from_ansi(printed))
    return re.sub(r"[ \t]+$", "", console.export_svg(title="ses"), flags=re.MULTILINE) + "\n"


def words_of(svg: str) -> str:
    """Return the text of a picture."""
    return html.unescape("\n".join(_TEXT.findall(svg))).replace("\xa0", " ")


def _settings(data: Path, cache: Path) -> dict[str, str]:
    return {"SES_DATA_DIR": str(data), "SES_CACHE_DIR": str(cache), **ENVIRONMENT}


def main() -> None:
    """Write the README's output and its picture."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        isolate(folder)
        README.write_text(played(README.read_text(encoding="utf-8"), folder, folder / "cache"), encoding="utf-8")
        PICTURE.write_text(picture(Player(folder / "pages", folder / "cache")), encoding="utf-8")


if __name__ == "__main__":
    main()
