"""Plain English: no phrase of `wording.toml` in docstrings, comments, messages and documentation."""

from __future__ import annotations

import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parent.parent
PACKAGES = ("benchmarks", "corpora", "encoders", "eval", "indexer", "products", "search_plugin", "ses", "training")
PHRASES = tomllib.loads(Path(__file__).with_name("wording.toml").read_text(encoding="utf-8"))["phrases"]
ANY = re.compile("|".join(f"(?:{phrase})" for phrase in PHRASES), re.IGNORECASE)


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield what people read of a file, with its line: text outside fenced code, or strings and comments."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)):
                yield token.start[0], token.string
        return
    line = 1
    for number, part in enumerate(re.split(r"^```.*$", text, flags=re.MULTILINE)):
        if number % 2 == 0:
            yield line, part
        line += part.count("\n")


def faults_of(path: Path) -> Iterator[str]:
    """Yield a sentence for each phrase of the list that a file holds."""
    for start, text in prose_of(path):
        flat = re.sub(r"\s+#?\s*", " ", text)
        if not ANY.search(flat):
            continue
        for phrase, instead in PHRASES.items():
            for match in re.finditer(phrase, flat, re.IGNORECASE):
                yield f"{path.relative_to(ROOT)}:{start}: {match[0]!r}; write instead: {instead}"


def documents() -> list[Path]:
    """Return what is checked: the packages' modules and the Markdown files."""
    sources = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [*sources, *sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def test_nothing_is_said_in_a_phrase_of_the_list():
    assert not [fault for path in documents() for fault in faults_of(path)]


@pytest.mark.parametrize("text", ["A build that was interrupted is gone on with.", "Choose; those\nthere are: a, b."])
def test_a_phrase_of_the_list_is_found_across_lines(tmp_path, monkeypatch, text):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "some.md"
    path.write_text(f"Some text.\n\n```\nanew\n```\n{text}\n")
    assert len(list(faults_of(path))) == 1
