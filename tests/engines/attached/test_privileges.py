"""The least rights of users who attach and who search, on servers with security; and what is told where one lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ses
from corpora.errors import SesError, UnavailableError
from search_plugin.engines.registry import connect
from tests.conftest import SECURED, server_connection, server_url
from tests.engines.conftest import empty
from tests.engines.foreign import ALIAS, ATTACHED, INDEXES, drop, make, sources

DOCUMENTED = Path(__file__).parents[3] / "docs" / "attach.md"


def roles():
    """The roles that the documentation shows: to attach, and to search."""
    parts = DOCUMENTED.read_text().split("```json\n")[1:]
    shown = [json.loads(part.split("```")[0]) for part in parts]
    attaching, searching = (one for one in shown if "indices" in one)
    named = {"library*": "catalogue*"}
    for role in (attaching, searching):
        for granted in role["indices"]:
            granted["names"] = [named.get(name, name) for name in granted["names"]]
    return attaching, searching


@pytest.fixture(params=[pytest.param(lane, marks=getattr(pytest.mark, lane)) for lane in SECURED])
def secured(request):
    """The catalogue on a server with security, whose user may do everything."""
    engine = connect(server_url(request.param), server_connection(request.param))
    drop(engine.cluster)
    make(engine.cluster)
    yield engine
    drop(engine.cluster)
    empty(engine)


def library_of(engine, role, model, folder):
    """A library of a user with one role."""
    body = {"name": "tried", "role_descriptors": {"tried": role}}
    key = engine.cluster.call("POST", "/_security/api_key", body)["encoded"]
    ca = str(engine.cluster.connection.ca_file)
    return ses.open(
        engine.url, engine_api_key=key, engine_ca=ca, model=str(model), data_dir=folder, cache_dir=folder / "cache"
    )


def without(role, privilege, at=None):
    """A role less one privilege: of the cluster, or of the indexes at a place."""
    if at is None:
        return {**role, "cluster": [one for one in role["cluster"] if one != privilege]}
    granted = [dict(one) for one in role["indices"]]
    granted[at]["privileges"] = [one for one in granted[at]["privileges"] if one != privilege]
    return {**role, "indices": [one for one in granted if one["privileges"]]}


def attach_and_detach(library):
    library.attach(ALIAS, **ATTACHED)
    assert library.describe(ALIAS).attached == "to catalogue, vectors in its documents"
    library.follow(ALIAS)
    library.detach(ALIAS)


def test_the_documented_rights_are_enough_and_none_can_be_left_out(secured, model, tmp_path):
    attaching, _ = roles()
    before = sources(secured.cluster)
    attach_and_detach(library_of(secured, attaching, model, tmp_path))
    assert sources(secured.cluster) == before
    lesser = [without(attaching, privilege) for privilege in attaching["cluster"]]
    lesser += [
        without(attaching, one, at) for at, held in enumerate(attaching["indices"]) for one in held["privileges"]
    ]
    assert len(lesser) == 4
    for role in lesser:
        drop(secured.cluster)
        empty(secured)
        make(secured.cluster)
        with pytest.raises((SesError, AssertionError)) as caught:
            attach_and_detach(library_of(secured, role, model, tmp_path))
        if isinstance(caught.value, SesError):
            assert "is missing" in str(caught.value), (role, str(caught.value))


def test_who_may_only_search_searches_and_is_told_what_else_is_missing(secured, model, tmp_path):
    attaching, searching = roles()
    library_of(secured, attaching, model, tmp_path).attach(ALIAS, **ATTACHED)
    library = library_of(secured, searching, model, tmp_path)
    page = library[ALIAS].search("virus", filter="year>=1995", facets=["journal"])
    assert page.hits
    assert library[ALIAS].similar(page.hits[0].id).hits
    with pytest.raises(UnavailableError, match=r"the index privilege manage on catalogue is missing"):
        library.follow(ALIAS)
    for role in (
        without(searching, "monitor"),
        *(without(searching, one, at) for at, held in enumerate(searching["indices"]) for one in held["privileges"]),
    ):
        with pytest.raises(UnavailableError, match="is missing"):
            library_of(secured, role, model, tmp_path)[ALIAS].search("virus", facets=["journal"])


def test_rights_on_the_one_index_alone_do_not_do(secured, model, tmp_path):
    alone = {"indices": [{"names": [*INDEXES, ALIAS], "privileges": ["read", "write"]}]}
    with pytest.raises(UnavailableError, match=r"the cluster privileges? .*monitor.* is missing"):
        library_of(secured, alone, model, tmp_path).attach(ALIAS, **ATTACHED)
    seeing = {**alone, "cluster": ["monitor"]}
    with pytest.raises(UnavailableError, match=r"on ses\.\S* is missing"):
        library_of(secured, seeing, model, tmp_path).attach(ALIAS, **ATTACHED)
    with pytest.raises(UnavailableError, match=r"on ses\.catalogue\.v\* is missing"):
        library_of(secured, seeing, model, tmp_path)[ALIAS].search("virus")
    # The server answers a request by pattern with what the user may see, which is nothing.
    alone["indices"][0]["privileges"].append("view_index_metadata")
    with pytest.raises(UnavailableError, match=r"hides indexes of ses .*read.* on ses\.\S* is missing"):
        library_of(secured, seeing, model, tmp_path)[ALIAS].search("virus")


def test_without_the_right_to_manage_the_index_vectors_are_kept_beside_it(secured, model, tmp_path):
    attaching, searching = roles()
    own = [{"names": ["ses.*"], "privileges": attaching["indices"][0]["privileges"]}]
    library = library_of(secured, {**searching, "indices": searching["indices"] + own}, model, tmp_path)
    before = sources(secured.cluster)
    assert library.attach(ALIAS, **ATTACHED).papers == 60
    assert "the index privilege manage on catalogue is missing" in library[ALIAS].index.attached_to
    assert library[ALIAS].search("virus", mode="vector").hits
    assert sources(secured.cluster) == before
