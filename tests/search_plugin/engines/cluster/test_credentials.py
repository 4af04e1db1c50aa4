"""Where credentials go: to the host that was named, never to where it redirects, and not unencrypted without a word."""

from __future__ import annotations

import pytest

from search_plugin.contract.connection import Connection
from search_plugin.engines.cluster.clients import open_client
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.product import Product, probe, tell_of_plain_text
from tests.engines.pretender import Answer, pretend

KEY = Connection(api_key="secret")
ELASTICSEARCH = [("elasticsearch", (9, 0)), ("elasticsearch", (8, 16))]


@pytest.fixture
def servers():
    """A server, and another that redirects to it."""
    with pretend({}) as target:
        headers = {"X-Elastic-Product": "Elasticsearch", "Location": f"{target.url}/"}
        with pretend({"/": Answer({}, 302, headers)}) as redirecting:
            yield target, redirecting


def test_the_first_request_follows_no_redirect(servers):
    target, redirecting = servers
    with pytest.raises(ClusterError, match="answers with a redirect, which is not followed"):
        probe((redirecting.url,), KEY)
    assert [headers["authorization"] for _, headers in redirecting.seen] == ["ApiKey secret"]
    assert target.seen == []


@pytest.mark.parametrize(("kind", "version"), [("opensearch", (3, 0)), *ELASTICSEARCH])
def test_the_clients_follow_no_redirect(kind, version, servers):
    target, redirecting = servers
    send = open_client(Product(kind, "x", version), (redirecting.url,), KEY)
    with pytest.raises(ClusterError):
        send("GET", "/", {}, None)
    assert redirecting.seen[0][1]["authorization"] == "ApiKey secret"
    assert target.seen == []


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("http://search.example:9200", 1),
        ("http://10.0.0.7:9200", 1),
        ("http://[2001:db8::1]:9200", 1),
        ("https://search.example:9200", 0),
        ("http://localhost:9200", 0),
        ("http://127.3.2.1:9200", 0),
        ("http://[::1]:9200", 0),
    ],
)
def test_a_warning_tells_once_that_credentials_go_unencrypted(host, told, caplog):
    tell_of_plain_text.cache_clear()
    for _ in range(3):
        tell_of_plain_text(host)
    assert [record.getMessage() for record in caplog.records] == [
        f"The credentials are sent to {host} unencrypted, and anyone on the way can read them; use https."
    ] * told


def test_the_first_request_tells_of_plain_text(monkeypatch):
    told = []
    monkeypatch.setattr("search_plugin.engines.cluster.product.tell_of_plain_text", told.append)
    for connection in (KEY, Connection()):
        with pytest.raises(ClusterError):
            probe(("http://127.0.0.1:1",), connection)
    assert told == ["http://127.0.0.1:1"]
