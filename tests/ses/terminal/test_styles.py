"""When the output is styled."""

import ast
import os
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from search_plugin.pages.highlights import Snippet
from ses.terminal.printing import marked
from ses.terminal.results import drawn, linked, show, styled, styles_wanted


@pytest.mark.parametrize(
    ("environment", "styled"),
    [
        ({}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_a_terminal_is_styled_unless_the_environment_says_otherwise(environment, styled, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    master, slave = os.openpty()
    with os.fdopen(slave, "w") as terminal, redirect_stdout(terminal):
        assert styles_wanted() is styled
        assert ("\x1b" in linked("https://example.org")) is styled
    os.close(master)


def test_a_file_is_not_styled(tmp_path, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with (tmp_path / "out").open("w") as file, redirect_stdout(file):
        assert not styles_wanted()
        assert linked("https://example.org") == "https://example.org"


def test_every_match_of_a_snippet_is_marked():
    line = drawn(marked(Snippet("title", "Virus and virus-like cells", ((0, 5), (10, 15)))))
    assert re.findall("\x1b\\[33m\x1b\\[1m(.*?)\x1b\\[0m", line) == ["Virus", "virus"]
    assert re.sub("\x1b\\[[0-9]+m", "", line) == "Virus and virus-like cells"


EVIL = "\x1b[31mred\x1b]8;;http://x\x1b\\ \x9b2J \u202egnp.exe\u202c \x07\0"


def test_codes_of_others_do_not_reach_the_terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    show(f"{styled('1. ', bold=True)}{styled(f'a {EVIL} b', 'yellow')} {EVIL}{linked(f'https://example.org/{EVIL}')}")
    shown = capsys.readouterr().out
    own = re.compile("\x1b\\[(0|1|33)m|\x1b]8;;[^\x1b]*\x1b\\\\")
    assert len(own.findall(shown)) == 6
    rest = own.sub("", shown)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", rest), ascii(rest)
    assert rest.count("[31mred]8;;http://x\\ 2J gnp.exe ") == 3


@pytest.mark.lint
def test_only_the_functions_that_clean_text_print_it():
    """In `ses/terminal`, `results.py` prints what commands say, `cli.py` errors and help."""
    allowed = {"results.py", "cli.py", "reference.py"}
    root = Path(__file__).parents[3] / "ses"
    for path in (one for one in root.rglob("*.py") if one.name not in allowed):
        calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not {"click.echo", "click.secho", "click.style", "print"} & set(calls), path
