"""When the output is styled."""

import os
import re
from contextlib import redirect_stdout

import pytest

from search_plugin.highlights import Snippet
from ses.printing import marked
from ses.styles import linked, styles_wanted


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
    styled = marked(Snippet("title", "Virus and virus-like cells", ((0, 5), (10, 15))))
    assert re.findall("\x1b\\[33m\x1b\\[1m(.*?)\x1b\\[0m", styled) == ["Virus", "virus"]
    assert re.sub("\x1b\\[[0-9]+m", "", styled) == "Virus and virus-like cells"
