"""Real servers reached as users reach theirs: by several hosts, gzipped, over TLS, with every kind of credential."""

from __future__ import annotations

import logging
import socket

import pytest

from corpora.errors import UnavailableError
from search_plugin.contract.connection import Connection
from search_plugin.engines.registry import connect
from tests.conftest import SECURED, SERVERS, server_connection, server_url
from tests.engines.conftest import documents, empty, publish
from tests.faults import FaultProxy

SECRET = "hidden-word"  # noqa: S105


@pytest.fixture(params=[pytest.param(lane, marks=getattr(pytest.mark, lane)) for lane in SERVERS])
def server(request):
    url = server_url(request.param)
    yield url
    empty(connect(url))


def fill(engine, count=60):
    return publish(engine, documents(count))


def test_a_cluster_is_written_and_searched_with_the_first_host_down(server):
    with socket.socket() as held:  # bound and not listening: nobody will answer there
        held.bind(("127.0.0.1", 0))
        closed_port = held.getsockname()[1]
        index = fill(connect(f"http://127.0.0.1:{closed_port},{server}"))
        assert len(index.papers([document.paper.id for document in documents(60)])) == 60


def test_requests_are_gzipped_if_asked_to(server):
    with FaultProxy(server) as proxy:
        index = fill(connect(proxy.url, Connection(compress=True)))
        assert index.count() == 60
        bulk = [request.body for request in proxy.requests if "_bulk" in request.path]
        assert bulk
        assert all(body.startswith(b"\x1f\x8b") for body in bulk)


@pytest.fixture(params=[pytest.param(lane, marks=getattr(pytest.mark, lane)) for lane in SECURED])
def secured(request):
    """An engine whose server asks for a password."""
    engine = connect(server_url(request.param), server_connection(request.param))
    yield engine
    empty(engine)


def test_a_secured_server_lets_in_who_may_and_tells_who_may_not(secured, caplog):
    caplog.set_level(logging.DEBUG)
    ca = secured.cluster.connection.ca_file
    asks = "requires a login; set SES_ENGINE_USERNAME and SES_ENGINE_PASSWORD, or SES_ENGINE_API_KEY"
    for wrong in ({"username": "admin", "password": SECRET}, {"api_key": SECRET}, {"token": SECRET}, {}):
        with pytest.raises(UnavailableError, match=asks):
            connect(secured.url, Connection(ca_file=ca, **wrong))
    with pytest.raises(UnavailableError, match="does not trust; set SES_ENGINE_CA"):
        connect(secured.url)
    with pytest.raises(UnavailableError, match=r"does not answer .*; start it, or check engine: it may want https:"):
        connect(secured.url.replace("https:", "http:"))

    key = secured.cluster.call("POST", "/_security/api_key", {"name": "all"})["encoded"]
    caplog.clear()  # the key's own making was logged
    assert fill(connect(secured.url, Connection(ca_file=ca, api_key=key))).count() == 60
    assert key not in caplog.text


def test_who_may_read_only_is_told_what_is_not_allowed(secured):
    fill(secured)
    ca = secured.cluster.connection.ca_file
    may = {
        "cluster": ["monitor"],
        "indices": [{"names": ["ses.*", "papers"], "privileges": ["read", "view_index_metadata"]}],
    }
    body = {"name": "reader", "role_descriptors": {"reader": may}}
    key = secured.cluster.call("POST", "/_security/api_key", body)["encoded"]
    reader = connect(secured.url, Connection(ca_file=ca, api_key=key))
    assert reader.open("papers").count() == 60
    with pytest.raises(UnavailableError, match=r"does not allow this \(.*\); ask for a user or key that may") as caught:
        reader.open("papers").delete(["p00001"])
    assert key not in str(caught.value)
    with pytest.raises(UnavailableError, match="does not allow this"):
        reader.drop("papers")
    assert secured.open("papers").count() == 60


def test_a_bearer_token_is_known(secured):
    """A service account's, which every licence has; Fleet's may look at the cluster and not at our indexes."""
    path = "/_security/service/elastic/fleet-server/credential/token/ses-test"
    made = secured.cluster.call("POST", path)
    try:
        connection = Connection(ca_file=secured.cluster.connection.ca_file, token=made["token"]["value"])
        engine = connect(secured.url, connection)
        who = engine.cluster.call("GET", "/_security/_authenticate")
        assert who["username"] == "elastic/fleet-server"
    finally:
        secured.cluster.call("DELETE", path)
