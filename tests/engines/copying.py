"""Programs that a test has been given to copy, run as their reader would run them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import GUZZLE

_COMMANDS = {"curl": ["sh"], "python": [sys.executable], "javascript": ["node"], "php": ["php"], "ruby": ["ruby"]}
_ENDINGS = {"javascript": "mjs"}

LANES = {"javascript": pytest.mark.node, "php": pytest.mark.guzzle, "ruby": pytest.mark.ruby}
"""The lanes of the languages that may not be installed."""


def languages(*without):
    """Return the languages as parameters of a test, each in its lane, but for some."""
    return [pytest.param(name, marks=LANES.get(name, ())) for name in _COMMANDS if name not in without]


in_every_language = pytest.mark.parametrize("language", languages())
in_every_script = pytest.mark.parametrize("language", languages("curl"))


def run(language, text, folder, arguments=(), **environment):
    """Run a text in a folder with arguments, and return the JSON documents that it printed."""
    path = folder / f"page.{_ENDINGS.get(language, language)}"
    path.write_text(text.replace("vendor/autoload.php", str(GUZZLE)), encoding="utf-8")
    done = subprocess.run(
        [*_COMMANDS[language], str(path), *arguments],
        cwd=folder,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not done.returncode, done.stderr + done.stdout
    assert not done.stderr
    return documents(done.stdout)


def run_with_client(product, requests, folder, change=("", "")):
    """Run the requests in Python, after a change of their text."""
    # Here the clients of several major versions are installed, under other names.
    installed = f"from elasticsearch{product.version[0]} import"
    return run(
        "python", requests.text("python").replace("from elasticsearch import", installed).replace(*change), folder
    )


def documents(text):
    """Return the JSON documents of a text, one behind another."""
    found, decoder = [], json.JSONDecoder()
    while text := text.strip():
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:]
    return found
