"""What the tests of failing writes share."""

from __future__ import annotations

from search_plugin.contract.connection import Connection
from search_plugin.engines.registry import connect
from tests.engines.conftest import SCHEMA, documents

WRITTEN = documents(120)
IDS = [document.paper.id for document in WRITTEN]
PHYSICAL = "ses.papers.v1"
PAGE = {"body": b"<html>Sorry</html>", "headers": {"content-type": "text/html"}}
"""As whatever stands before a server answers in its place."""


def patient(proxy, seconds=20.0):
    return connect(proxy.url, Connection(patience=seconds))


def fill(engine, expected=()):
    index = engine.build("papers", SCHEMA, "source")
    assert [refusal.id for refusal in index.upsert(WRITTEN)] == list(expected)
    return index


def check_whole(index, written=WRITTEN):
    index.finish()
    assert index.count() == index.count("prx") == index.count("clf") == len(written)
    ids = [document.paper.id for document in written]
    assert index.hashes(ids) == {document.paper.id: document.content_hash for document in written}
    assert index.papers(ids) == {document.paper.id: document.paper for document in written}
