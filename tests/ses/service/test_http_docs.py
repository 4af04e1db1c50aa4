"""docs/http.md: each request works, and each answer is the one that the page shows."""

import json
import re
import shlex
from pathlib import Path

import pytest

import ses

pytestmark = pytest.mark.serve

PAGE = Path(__file__).parents[3] / "docs" / "http.md"
BLOCK = re.compile(r'^```(\w+)(?: title="[^"]+")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def blocks():
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def library(tmp_path_factory, small_model):
    """The library of the page."""
    folder = tmp_path_factory.mktemp("http")
    path = folder / "papers.jsonl"
    path.write_text(blocks()[0][1], encoding="utf-8")
    opened = ses.open(
        folder / "indexes", model=small_model, data_dir=folder / "data", cache_dir=folder / "cache", index="papers"
    )
    opened.index("papers", path, corpus="jsonl")
    return opened


def ask(client, command):
    """Send the request of a command line of curl."""
    _, *words = shlex.split(command)
    place, body, query = "", None, []
    while words:
        word = words.pop(0)
        if word == "--json":
            body = words.pop(0)
        elif word in ("-d", "--data-urlencode"):
            query.append(tuple(words.pop(0).split("=", 1)))
        elif word != "--get":
            place = word.removeprefix("http://127.0.0.1:8765")
    if body is not None:
        return client.post(place, content=body, headers={"content-type": "application/json"})
    return client.get(place, params=query or None)


def values(text):
    """Return the values of an answer, without the id of its request."""
    return {name: value for name, value in json.loads(text).items() if name != "request"}


def test_each_request_of_the_page_has_the_answer_that_it_shows(client):
    shown, compared = blocks()[1:], 0
    for (kind, text), (_, answer) in zip(shown, [*shown[1:], ("", "")], strict=True):
        if kind != "sh" or not text.startswith("curl"):
            continue
        reply = ask(client, text)
        assert reply.headers["content-type"].startswith("application/"), text
        if not answer.startswith(("{", "@")):
            assert reply.status_code == 200
            continue
        compared += 1
        assert (values(answer) == values(reply.text)) if answer.startswith("{") else (answer == reply.text), text
    assert compared == 10
