"""The description of the API for people."""

import re
import shlex
from html import unescape

import pytest

pytestmark = pytest.mark.serve


@pytest.mark.slow
def test_every_operation_is_shown_with_a_request_that_works(client):
    described = client.get("/openapi.json").json()
    reply = client.get("/docs")
    assert reply.status_code == 200
    names = re.findall(r"<h2[^>]*><code>([^<]+)</code>", reply.text)
    assert names == [f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods]
    tried = 0
    for command in map(unescape, re.findall(r"<pre[^>]*><code>([^<]+)</code>", reply.text)):
        words = shlex.split(command)
        assert words[1].startswith("http://testserver/")
        if "--json" in words:
            found = client.post(words[1], content=words[-1], headers={"content-type": "application/json"})
        else:
            found = client.get(words[1])
        # The papers of the examples are not in this index.
        assert found.status_code in (200, 404), (command, found.text)
        tried += found.status_code == 200
    assert tried >= 5


def test_it_asks_no_other_host(client):
    text = client.get("/docs").text
    assert not re.findall(r'(?:src|href|action)="(?!/|#|data:)[^"]*"', text)
    for name in ("query", "title_boost", "fields"):
        assert f"<code>{name}</code>" in text
    assert "lexical, vector, hybrid" in text
