"""Assistants at `/mcp` of the service: under its keys, names and limits."""

import json
import threading

import anyio
import pytest

import ses
from ses.service.settings import ServiceSettings

pytestmark = [pytest.mark.mcp, pytest.mark.serve]

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"accept": "application/json, text/event-stream", "host": "localhost"}


def called(tool, **arguments):
    return {**LIST, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@pytest.fixture(scope="module")
def client_of(library):
    """A function from settings to a client of such a service, whose lifespan runs."""
    from contextlib import ExitStack

    from starlette.testclient import TestClient

    from ses.service.app import make_app
    from ses.service.service import Service

    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(
            TestClient(make_app(Service(ses.Library(library._settings), ServiceSettings(**settings))))
        )


@pytest.fixture(scope="module")
def client(client_of):
    return client_of(
        mcp=True, hosts=("library.example", "localhost"), anonymous=(), public_url="https://our.example/x/"
    )


@pytest.fixture(scope="module")
def bearer(library):
    from ses.service.keys import keys_of

    made = {scope: keys_of(library.data_dir).create(scope, [scope]) for scope in ("search", "encode")}
    return {scope: {**ACCEPT, "authorization": f"Bearer {key}"} for scope, key in made.items()}


def test_it_is_off_unless_it_is_wanted(client_of):
    assert not ServiceSettings().mcp
    reply = client_of().post("/mcp", json=LIST, headers=ACCEPT)
    assert (reply.status_code, reply.json()["detail"]) == (404, "There is nothing at /mcp.")


def test_a_key_with_the_scope_search_is_needed(client, bearer):
    assert client.post("/mcp", json=LIST, headers=ACCEPT).status_code == 401
    assert client.post("/mcp", json=LIST, headers=bearer["encode"]).status_code == 403
    reply = client.post("/mcp", json=LIST, headers=bearer["search"])
    assert reply.status_code == 200
    names = {one["name"] for one in reply.json()["result"]["tools"]}
    assert names == {"search", "fetch", "similar", "support", "indexes"}
    for method in ("get", "delete"):
        assert getattr(client, method)("/mcp", headers=bearer["search"]).status_code == 405


def test_tools_ask_the_service(client, bearer, library):
    reply = client.post("/mcp", json=called("search", query="virus lung", size=3), headers=bearer["search"])
    found = json.loads(reply.json()["result"]["content"][0]["text"])
    assert [one["id"] for one in found["results"]] == [hit.id for hit in library["papers"].search("virus lung", size=3)]
    plain = next(one for one in found["results"] if one["id"] != "<b>")
    assert plain["url"] == f"https://our.example/x/papers/{plain['id']}"
    reply = client.post("/mcp", json=called("fetch", id="zz"), headers=bearer["search"])
    assert reply.json()["result"]["isError"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "library.example"}, 200),
        ({"host": "our.example"}, 400),
        ({"host": "evil.example"}, 400),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "https://library.example"}, 200),
    ],
)
def test_other_names_and_pages_of_other_sites_are_refused(client, bearer, headers, status):
    assert client.post("/mcp", json=LIST, headers={**bearer["search"], **headers}).status_code == status


def test_without_declared_names_only_this_machine_is_answered(client_of):
    anonymous = client_of(mcp=True)
    assert anonymous.post("/mcp", json=LIST, headers={**ACCEPT, "host": "evil.example"}).status_code == 421
    assert anonymous.post("/mcp", json=LIST, headers={**ACCEPT, "host": "127.0.0.1:8765"}).status_code == 200


def test_a_large_message_is_refused(client_of):
    small = client_of(mcp=True, max_body=1000)
    assert small.post("/mcp", json=called("search", query="a" * 2000), headers=ACCEPT).status_code == 413


def test_the_client_of_the_sdk_over_a_socket(library):
    import uvicorn
    from mcp.client import Client

    from ses.service.app import make_app
    from ses.service.service import Service

    app = make_app(Service(ses.Library(library._settings), ServiceSettings(mcp=True)))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"

    async def talk():
        async with Client(url) as client:
            found = await client.call_tool("support", {"sentence": "The virus infects the lung", "size": 2})
            assert len(found.structured_content["results"]) == 2
            (only,) = (await client.call_tool("indexes", {})).structured_content["indexes"]
            assert only["name"] == "papers"

    anyio.run(talk)
    server.should_exit = True
    thread.join()
