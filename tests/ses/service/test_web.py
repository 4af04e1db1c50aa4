"""The web page: what every page has."""

import re

import pytest

pytestmark = pytest.mark.serve


def test_a_page_escapes_what_papers_and_queries_hold(client):
    reply = client.get("/", params={"query": "<script>alert(1)</script> masks", "mode": "lexical"})
    assert reply.status_code == 200
    assert "<script>alert" not in reply.text
    assert "Masks &amp; &lt;script&gt;" in reply.text


def test_a_browser_keeps_the_style_sheet_and_the_script(client):
    page = client.get("/").text
    for name in ("page.css", "page.js"):
        (place,) = re.findall(rf'"(/static/\w+/{name})"', page)
        reply = client.get(place)
        assert reply.status_code == 200
        assert "immutable" in reply.headers["cache-control"]
    assert client.get("/static/x/page.py").status_code == 404
