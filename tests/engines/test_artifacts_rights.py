"""The least rights to install what front ends need, and of a front end itself, on servers with security."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from corpora.errors import UnavailableError
from search_plugin.contract.connection import Connection
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.engines.cluster.clients import open_client
from search_plugin.engines.cluster.dialect import as_json
from search_plugin.engines.cluster.frontends.index_artifacts import installation_of
from search_plugin.engines.cluster.frontends.page_request import page_request
from search_plugin.engines.registry import connect
from search_plugin.request import SearchRequest
from tests.conftest import SECURED, server_connection, server_url
from tests.engines.conftest import DIMENSION, documents, empty, publish

DOCUMENTED = Path(__file__).parents[2] / "docs" / "front-ends.md"


def roles():
    """The roles that the documentation shows: to install, and of a front end."""
    parts = DOCUMENTED.read_text().partition("## Rights")[2].split("```json\n")[1:3]
    for part in parts:
        role = json.loads(part.split("```")[0])
        for granted in role["indices"]:
            granted["names"] = [name.replace("cord19", "papers") for name in granted["names"]]
        yield role


@pytest.fixture(params=[pytest.param(lane, marks=getattr(pytest.mark, lane)) for lane in SECURED])
def secured(request):
    """The index `papers` on a server with security, whose user may do everything."""
    engine = connect(server_url(request.param), server_connection(request.param))
    empty(engine)
    publish(engine, documents(20))
    yield engine
    installation_of(engine.open("papers")).remove()
    empty(engine)


def limited(engine, role):
    """The engine as a user with one role."""
    return connect(engine.url, Connection(api_key=key_of(engine, role), ca_file=engine.cluster.connection.ca_file))


def key_of(engine, role):
    """An API key with one role."""
    body = {"name": "tried", "role_descriptors": {"tried": role}}
    return engine.cluster.call("POST", "/_security/api_key", body)["encoded"]


def install_and_remove(engine):
    installation_of(engine.open("papers")).install()
    installation_of(engine.open("papers")).remove()


def test_the_documented_rights_are_enough_and_none_can_be_left_out(secured):
    installing, _ = roles()
    own = limited(secured, installing)
    wanted = installation_of(own.open("papers"), patterns=["library-*"])
    assert [one.name for one in wanted.install() if one.change == "new"] == ["ses-papers-mappings", "ses-papers"]
    assert {one.change for one in wanted.difference()} == {"unchanged", "left out"}
    assert len(wanted.remove()) == 2
    for privilege in installing["cluster"]:
        lesser = {**installing, "cluster": [one for one in installing["cluster"] if one != privilege]}
        with pytest.raises(UnavailableError, match=r"the cluster privileges? .*is missing"):
            install_and_remove(limited(secured, lesser))
        wanted.remove()


def test_a_front_end_needs_to_read_the_one_index(secured):
    _, reading = roles()
    vector = np.ones(DIMENSION, np.float32)
    plan = Plan("virus lung", (VectorClause("prx", vector),), None, 100)
    page = page_request(secured.open("papers"), plan, SearchRequest("", facets=("year",)))
    to = Connection(api_key=key_of(secured, reading), ca_file=secured.cluster.connection.ca_file)
    # It can't ask what the server is.
    send = open_client(secured.cluster.product, (secured.url,), to)
    found = send("POST", page.path, {}, as_json(page.body))
    assert found["hits"]["hits"]
    assert found["aggregations"]["all"]["matches"]["year"]["buckets"]
    for path in ("/ses.papers.v1/_search", "/_cluster/state/metadata", "/_component_template"):
        with pytest.raises(UnavailableError, match="does not allow this"):
            send("GET", path, {}, None)
