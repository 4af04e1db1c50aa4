"""The layers around all routes: proxies and hosts, rates, sizes, headers and logs."""

from __future__ import annotations

import asyncio
import json
import logging
from types import SimpleNamespace

import pytest
from fastapi import FastAPI, Request
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import ses
from ses.service.app import make_app
from ses.service.headers import POLICY
from ses.service.limiting import BodyLimits, Meter, Rate
from ses.service.logs import LogLines
from ses.service.service import Service
from ses.service.settings import ServiceSettings, load_service_settings
from tests.ses.service.layers import layered

pytestmark = pytest.mark.serve

FAR = ("203.0.113.7", 4000)
PROXY = ("10.1.2.3", 4000)


def echo():
    """An application that says what it sees of a request."""
    app = FastAPI(openapi_url=None)

    @app.get("/seen/{name}")
    def seen(request: Request, name: str):
        return {"client": request.client.host, "base": str(request.base_url), "path": request.url.path, "name": name}

    @app.post("/body")
    async def body(request: Request):
        return {"bytes": len(await request.body())}

    @app.get("/fault")
    def fault():
        raise RuntimeError('broken\n{"level": "info"}')

    @app.get("/healthz")
    def healthz():
        return {}

    return app


@pytest.fixture
def served(tmp_path):
    """Make a client with settings."""

    def make(client=FAR, **settings):
        return layered(echo(), load_service_settings(**settings), tmp_path, client=client)

    return make


FORWARDED = {"X-Forwarded-For": "198.51.100.9", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/ses"}


def test_only_a_declared_proxy_is_believed(served):
    seen = served(proxies="10.0.0.0/8").get("/seen/x", headers=FORWARDED)
    assert seen.json()["client"] == FAR[0]
    assert seen.json()["base"] == "http://testserver/"
    assert "strict-transport-security" not in seen.headers
    seen = served(PROXY, proxies="10.0.0.0/8").get("/seen/x", headers=FORWARDED)
    assert seen.json() == {
        "client": "198.51.100.9",
        "base": "https://testserver/ses/",
        "path": "/ses/seen/x",
        "name": "x",
    }
    assert seen.headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize(
    ("header", "client"),
    [
        ("198.51.100.9, 10.9.9.9", "198.51.100.9"),  # two proxies
        ("192.0.2.1, 198.51.100.9", "198.51.100.9"),  # what a client made up is not read
        ("10.9.9.9", "10.9.9.9"),
        ("unknown", PROXY[0]),
        ("192.0.2.1, unknown, 10.9.9.9", "10.9.9.9"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:198.51.100.9", "198.51.100.9"),
        ("", PROXY[0]),
    ],
)
def test_the_client_is_the_last_that_is_no_proxy(served, header, client):
    seen = served(PROXY, proxies="10.0.0.0/8").get("/seen/x", headers={"X-Forwarded-For": header})
    assert seen.json()["client"] == client


@pytest.mark.parametrize("prefix", ["//evil.example", "ses", "/<script>", "/a//b", "/../x\\", "http://evil.example"])
def test_a_prefix_that_is_no_path_is_not_read(served, prefix):
    seen = served(PROXY, proxies="10.0.0.0/8").get("/seen/x", headers={"X-Forwarded-Prefix": prefix})
    assert seen.json()["base"] == "http://testserver/"


def test_a_configured_path_is_stronger_than_a_proxy(served):
    client = served(PROXY, proxies="10.0.0.0/8", root_path="/library")
    assert client.get("/seen/x", headers={"X-Forwarded-Prefix": "/ses"}).json()["base"] == "http://testserver/library/"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("library.example", 200),
        ("LIBRARY.example:8080", 200),
        ("a.reading.example", 200),
        ("reading.example", 400),
        ("library.example.evil.example", 400),
        ("notlibrary.example", 400),
        ("library.example@evil.example", 400),
        ("[::1]:8765", 200),
    ],
)
def test_only_declared_hosts_are_served(served, host, status):
    client = served(hosts=["library.example", "*.reading.example", "[::1]"])
    assert client.get("/seen/x", headers={"Host": host}).status_code == status
    assert client.get("/healthz", headers={"Host": "10.0.0.1:8765"}).status_code == 200


@pytest.mark.parametrize("host", ['a"b', "a b", "a/b", "a?b", "<a>", "a:port", ""])
def test_a_malformed_host_is_refused(served, host):
    assert served().get("/seen/x", headers={"Host": host}).status_code == 400


def test_a_rate_is_kept_for_each_address(served):
    client = served(rate_per_address="3/minute")
    replies = [client.get("/seen/x") for _ in range(4)]
    assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
    assert [reply.headers["ratelimit-remaining"] for reply in replies] == ["2", "1", "0", "0"]
    assert replies[0].headers["ratelimit-policy"] == '"address";q=3;w=60'
    assert replies[0].headers["ratelimit"] == '"address";r=2;t=20'
    assert replies[0].headers["ratelimit-limit"] == "3"
    assert 1 <= int(replies[3].headers["retry-after"]) <= 20
    assert replies[3].headers["content-type"] == "application/problem+json"
    assert "more than 3 requests in 60 s" in replies[3].json()["detail"]
    assert client.get("/healthz").status_code == 200


def test_keys_are_counted_apart_and_this_machine_is_not(served, tmp_path):
    from ses.service.keys import keys_of

    headers = {"X-API-Key": keys_of(tmp_path).create("one", ["search"])}
    client = served(rate_per_address="1/minute", rate_per_key="2/minute")
    statuses = [client.get("/seen/x", headers=one).status_code for one in ({}, headers, {}, headers, headers)]
    assert statuses == [200, 200, 429, 200, 429]
    here = served(("127.0.0.1", 1), rate_per_address="1/minute")
    assert [here.get("/seen/x").status_code for _ in range(3)] == [200] * 3
    off = served(rate_per_address="off")
    assert [off.get("/seen/x").status_code for _ in range(3)] == [200] * 3


def test_one_network_of_ipv6_is_one_client(served):
    client = served(PROXY, proxies="10.0.0.0/8", rate_per_address="1/minute")
    asked = ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"]
    statuses = [client.get("/seen/x", headers={"X-Forwarded-For": one}).status_code for one in asked]
    assert statuses == [200, 429, 200]


@given(st.integers(1, 5), st.integers(1, 10), st.lists(st.floats(0, 20), max_size=40))
def test_a_meter_allows_what_its_rate_says(requests, seconds, waits):
    now = 0.0
    meter = Meter(Rate(requests, seconds), lambda: now)
    allowed = []
    for wait in waits:
        now += wait
        taken = meter.take("a")
        full = requests + (now - (allowed[0] if allowed else now)) * requests / seconds
        if taken.allowed:
            allowed.append(now)
            assert len(allowed) <= full + 1e-6
        else:
            assert taken.wait > 0
            later = Meter(meter.rate, lambda at=now + taken.wait: at)
            later._full = meter._full.copy()
            assert later.take("a").allowed
        assert 0 <= taken.remaining < requests
        assert 0 <= taken.reset <= seconds


def test_a_meter_forgets_the_oldest_clients():
    meter = Meter(Rate(1, 60), lambda: 0.0, most=2)
    assert [meter.take(client).allowed for client in "abab"] == [True, True, False, False]
    assert meter.take("c").allowed
    assert meter.take("a").allowed


def test_a_body_that_is_too_large_is_refused_said_or_not(served):
    client = served(max_body=10)
    assert client.post("/body", content=b"x" * 10).json() == {"bytes": 10}
    for content in (b"x" * 11, iter([b"x" * 6, b"x" * 5])):
        reply = client.post("/body", content=content)
        assert reply.status_code == 413
        assert "larger than 10 bytes" in reply.json()["detail"]
        assert reply.headers["connection"] == "close"
    for said in ("-1", "1" * 30, "many"):
        assert client.post("/body", content=b"", headers={"Content-Length": said}).status_code == 413


def test_a_body_that_never_ends_is_refused(monkeypatch):
    sent = []

    async def never():
        await asyncio.Event().wait()

    async def app(scope, receive, send):
        await receive()

    async def send(message):
        sent.append(message)

    monkeypatch.setattr("ses.service.limiting.BODY_SECONDS", 0.01)
    layer = BodyLimits(app, SimpleNamespace(settings=ServiceSettings()))
    asyncio.run(layer({"type": "http", "headers": []}, never, send))
    assert sent[0]["status"] == 408
    assert b"took too long" in sent[1]["body"]


@pytest.mark.parametrize("path", ["/seen/x", "/nothing", "/fault", "/healthz"])
def test_every_response_has_the_headers_of_security(served, path):
    headers = served().get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "geolocation=()" in headers["permissions-policy"]
    assert "server" not in headers


def test_the_policy_allows_nothing_inline_and_no_other_host():
    policy = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert "unsafe" not in POLICY
    assert "*" not in POLICY


def test_only_pages_of_declared_origins_read_answers(served):
    origin = {"Origin": "https://library.example"}
    assert "access-control-allow-origin" not in served().get("/seen/x", headers=origin).headers
    client = served(origins=["https://library.example"], anonymous=())
    reply = client.get("/seen/x", headers=origin)
    assert reply.headers["access-control-allow-origin"] == "https://library.example"
    assert "RateLimit" in reply.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in reply.headers
    assert "access-control-allow-origin" not in client.get("/seen/x", headers={"Origin": "https://b.example"}).headers
    asked = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    assert client.options("/body", headers=asked).status_code == 200


def lines(caplog):
    return [json.loads(LogLines().format(record)) for record in caplog.records if record.name == "ses.service"]


def test_a_request_is_one_line_without_its_query(served, caplog):
    with caplog.at_level(logging.INFO, "ses.service"):
        reply = served().get("/seen/one?query=private")
    (line,) = lines(caplog)
    assert line["request"] == reply.headers["x-request-id"]
    assert (line["method"], line["route"], line["status"]) == ("GET", "/seen/{name}", 200)
    assert line["bytes"] == len(reply.content)
    assert line["ms"] >= 0
    assert line["address"] == "203.0.113.0/24"
    assert line["key"] == ""
    assert "private" not in json.dumps(line)
    assert "one" not in json.dumps(line)


def test_head_is_logged_with_its_route(library, caplog):
    app = make_app(Service(ses.Library(library._settings), ServiceSettings()))
    with TestClient(app) as client, caplog.at_level(logging.INFO, "ses.service"):
        assert client.head("/v1/papers/p00001").status_code == 200
    (line,) = lines(caplog)
    assert (line["method"], line["route"]) == ("HEAD", "/v1/papers/{paper_id:path}")


@pytest.mark.parametrize(
    ("chosen", "address"),
    [({"log_addresses": "whole"}, "203.0.113.7"), ({"log_addresses": "off"}, None), ({}, "203.0.113.0/24")],
)
def test_the_log_holds_what_is_chosen(served, caplog, chosen, address):
    with caplog.at_level(logging.INFO, "ses.service"):
        served(log_queries=True, **chosen).get("/seen/one", params={"query": 'a"\nb'})
    (line,) = lines(caplog)
    assert line.get("address") == address
    assert line["query"] == "query=a%22%0Ab"


@pytest.mark.parametrize("sent", ["abc-123", "a" * 64])
def test_a_declared_proxy_gives_the_id_of_a_request(served, sent):
    trusted = served(PROXY, proxies="10.0.0.0/8").get("/seen/x", headers={"X-Request-ID": sent})
    assert trusted.headers["x-request-id"] == sent
    assert served().get("/seen/x", headers={"X-Request-ID": sent}).headers["x-request-id"] != sent


@pytest.mark.parametrize("sent", ["a b", 'a"b', "a" * 65, "", "a;b"])
def test_an_id_that_is_none_is_not_taken(served, sent):
    reply = served(PROXY, proxies="10.0.0.0/8").get("/seen/x", headers={"X-Request-ID": sent})
    assert len(reply.headers["x-request-id"]) == 16


def test_a_fault_is_a_problem_that_names_its_line_of_the_log(served, caplog):
    with caplog.at_level(logging.INFO, "ses.service"):
        reply = served().get("/fault")
    assert reply.status_code == 500
    assert reply.json()["request"] == reply.headers["x-request-id"]
    assert "broken" not in reply.text
    error, line = lines(caplog)
    assert error["request"] == line["request"] == reply.json()["request"]
    assert 'RuntimeError: broken\n{"level": "info"}' in error["exception"]
    assert line["status"] == 500
    texts = [LogLines().format(record) for record in caplog.records]
    assert not any("\n" in text for text in texts)


def test_a_problem_names_its_request(served):
    reply = served().get("/nothing")
    assert reply.json()["request"] == reply.headers["x-request-id"]


@settings(max_examples=30)
@given(st.text(st.characters()))
@example("\x85\u2028\x1b\ud800")
def test_whatever_is_logged_is_one_line(text):
    record = logging.LogRecord("ses.service", logging.INFO, "", 0, "%s", (text,), None)
    record.fields = {"query": text}
    line = LogLines().format(record)
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["query"] == text
