"""What attackers send: heads and bodies without end, names of other folders, lines for headers, and hard queries."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from pkgutil import resolve_name
from urllib.parse import quote, urlsplit

import httpx
import pytest

from ses.service.app import ROUTERS
from ses.service.connections import GuardedProtocol
from tests.serving import listening, service_over

pytestmark = pytest.mark.serve

LONG = 20.0  # seconds that no test waits unless the service is at fault


class Impatient(GuardedProtocol):
    head_bytes = 4_000
    head_seconds = 0.3
    reading_seconds = 0.3


@contextlib.contextmanager
def serving(library, protocol=GuardedProtocol, **settings):
    """The host and port of a service under uvicorn, with the options of `ses serve`."""
    from ses.service.run import OPTIONS

    options = {**OPTIONS, "http": protocol, "log_config": None, "log_level": "critical"}
    with listening(service_over(library, **settings), **options) as place:
        yield place


@pytest.fixture(scope="module")
def place(library):
    with serving(library) as found:
        yield found


@pytest.fixture(scope="module")
def impatient(library):
    with serving(library, Impatient, max_body=10_000) as found:
        yield found


def answered(place, *parts, pause=0.0):
    """Send parts of a request, and return all that comes back until the server closes the connection."""
    with socket.create_connection(place, timeout=LONG) as connection:
        for part in parts:
            with contextlib.suppress(ConnectionError):
                connection.sendall(part)
            time.sleep(pause)
        read = b""
        with contextlib.suppress(ConnectionError):
            while block := connection.recv(65_536):
                read += block
        return read


HEAD = b"GET /healthz HTTP/1.1\r\nHost: a\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        (),  # nothing at all
        (b"GET /heal",),
        (HEAD,),
        (HEAD, b"X-A: 1\r\n", b"X-B: 2\r\n", b"X-C: 3\r\n"),  # now and then a header
        (HEAD + b"\r\n", b"\r\n", b"\r\n"),  # after an answer, lines that begin no request
        (HEAD + b"\r\n", b"GET /heal"),
    ],
)
def test_a_head_that_never_ends_is_cut_off(impatient, parts):
    reply = answered(impatient, *parts, pause=0.12)
    assert b"HTTP/1.1 408 " in reply
    assert reply.count(b"HTTP/1.1 200 ") == (1 if parts and parts[0].endswith(b"\r\n\r\n") else 0)


@pytest.mark.parametrize(
    "parts",
    [
        (b"GET /healthz?" + b"a" * 5_000 + b" HTTP/1.1\r\n\r\n",),
        (b"GET /healthz?" + b"a" * 5_000,),
        (HEAD + b"X-A: " + b"a" * 5_000,),
        (HEAD + b"".join(b"X-%d: a\r\n" % number for number in range(700)) + b"\r\n",),
        (HEAD + b"X-A: " + b"a" * 2_000, b"a" * 2_500),
        (b"POST /v1/search HTTP/1.1\r\nHost: a\r\nX-A: " + b"a" * 5_000 + b"\r\nContent-Length: 2\r\n\r\n{}",),
    ],
)
def test_a_head_that_is_too_large_is_refused(impatient, parts):
    reply = answered(impatient, *parts)
    assert reply.startswith(b"HTTP/1.1 431 ")
    assert reply.count(b"HTTP/1.1") == 1


def test_a_head_is_not_counted_with_the_body_after_it(impatient):
    body = b"x" * 9_000
    head = b"POST /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 9000\r\n\r\n"
    assert answered(impatient, head + body).startswith(b"HTTP/1.1 405 ")


def test_several_requests_of_one_connection_are_answered(impatient):
    last = HEAD + b"Connection: close\r\n\r\n"
    reply = answered(impatient, (HEAD + b"\r\n") * 3 + last)
    assert reply.count(b"HTTP/1.1 200 ") == 4
    large = HEAD + b"X-A: " + b"a" * 2_500 + b"\r\n\r\n"
    assert answered(impatient, large, large, last, pause=0.05).count(b"HTTP/1.1 200 ") == 3


@pytest.mark.parametrize("said", [b"Content-Length: 10001\r\n", b"Content-Length: 99999999999999999999\r\n"])
def test_a_body_that_says_it_is_too_large_is_not_read(impatient, said):
    reply = answered(impatient, b"POST /v1/similar HTTP/1.1\r\nHost: a\r\n" + said + b"\r\n")
    assert re.match(rb"HTTP/1\.1 4(13|00) ", reply)


def test_a_body_in_chunks_is_refused_when_it_is_too_large(impatient):
    head = (
        b"POST /v1/similar HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    reply = answered(impatient, head, *[b"3e8\r\n" + b" " * 1_000 + b"\r\n"] * 11)
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b"larger than 10,000 bytes" in reply


def test_a_request_of_two_lengths_is_refused(place):
    head = b"POST /v1/similar HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert answered(place, head + b"0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")


ODD_NAMES = [
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "....//etc/passwd",
    "a\0b",
    "/etc/passwd",
    "C:\\Windows",
    "%00",
    ".",
]


def addresses():
    """Every address with a name in it, of every group of routes."""
    routes = [route for name in ROUTERS for route in resolve_name(name).routes]
    return sorted({route.path for route in routes if "{" in route.path and "GET" in route.methods})


@pytest.mark.parametrize("address", addresses())
def test_a_name_never_leaves_its_folder(client, address):
    for odd in ODD_NAMES:
        for given in (quote(odd), quote(odd, safe="")):
            reply = client.get(re.sub(r"\{[^}]*\}", lambda _, name=given: name, address))
            assert reply.status_code in (200, 400, 404, 405, 406), (address, odd)
            assert "root:" not in reply.text
            assert "Traceback" not in reply.text


@pytest.mark.parametrize("name", ["index", "query", "filter", "fields", "sort", "cursor"])
def test_no_file_is_read_by_a_parameter(client, name):
    for odd in ODD_NAMES:
        reply = client.get("/v1/search", params={name: odd})
        assert reply.status_code in (200, 400, 404), (name, odd)
        assert "root:" not in reply.text


LINES = "a\r\nSet-Cookie: evil=1\r\n\r\n<script>"


@pytest.mark.slow
def test_no_value_of_a_client_makes_a_header(place):
    quoted = quote(LINES, safe="")
    targets = [f"/{quoted}", f"/v1/search?query={quoted}", f"/v1/search?index={quoted}", f"/?query={quoted}"]
    targets += [re.sub(r"\{[^}]*\}", quoted, address) for address in addresses()]
    for target in targets:
        for header in ("X-Request-ID", "Origin", "Accept", "If-None-Match", "X-API-Key", "Range", "Accept-Language"):
            head = (
                f"GET {target} HTTP/1.1\r\nHost: a\r\n{header}: a%0d%0aSet-Cookie: evil=1\r\nConnection: close\r\n\r\n"
            )
            reply = answered(place, head.encode())
            assert b"\nset-cookie" not in reply.partition(b"\r\n\r\n")[0].lower(), (target, header)


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"},
        {"X-Forwarded-Prefix": "/evil", "X-Forwarded-For": "1.2.3.4"},
        {"Forwarded": "host=evil.example;proto=https", "X-Original-URL": "/evil", "X-Rewrite-URL": "/evil"},
        {"X-Host": "evil.example", "X-Forwarded-Server": "evil.example", "X-HTTP-Method-Override": "DELETE"},
    ],
)
@pytest.mark.parametrize("address", ["/", "/?query=virus", "/v1/search?query=virus"])
def test_no_header_of_a_stranger_changes_a_page_that_others_may_get_from_a_cache(client, headers, address):
    told = client.get(address, headers=headers)
    assert told.status_code == 200
    assert "evil" not in told.text
    assert "evil" not in str(told.headers)
    assert "https://testserver" not in told.text


def test_links_follow_the_declared_path_whatever_the_host_is(library):
    with serving(library, root_path="/ses") as place:
        reply = httpx.get(f"http://{place[0]}:{place[1]}/", headers={"Host": "evil.example"})
    links = re.findall(r'(?:href|src|action)="([^"]*)"', reply.text)
    assert links
    assert all(not urlsplit(link).netloc or "evil" not in link for link in links)


NASTY = [
    "(" * 10_000,
    '"' * 10_000,
    "a:" * 5_000,
    "-" * 10_000,
    " " * 9_999 + "x",
    "a " * 5_000,
    "10.1000/" * 1_250,
    "author:" + "a " * 4_990,
    "1" * 10_000,
    "a-" * 5_000,
    "é" * 10_000,
    "\u0301" * 10_000,
    "李" * 7_000,
    "a and " * 1_666,
    "year>=" * 1_666,
    "https://doi.org/" * 625,
    "2001-" * 2_000,
    "O'" * 5_000,
    "a.b." * 2_500,
    "\t\n" * 5_000,
    "a" + " " * 9_980 + "b review",
    "a vs " * 2_000,
    "review of " * 1_000,
    "by " * 3_333,
    "1999 " * 2_000,
    "a" * 9_990 + " 1999",
    "in journal of " * 700,
    "=" * 10_000,
    "[" * 10_000,
    "not " * 2_500,
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["query", "filter"])
def test_ten_thousand_characters_are_answered_in_time(client, name):
    for text in NASTY:
        began = time.process_time()
        reply = client.get("/v1/search", params={name: text, "mode": "lexical"})
        assert reply.status_code in (200, 400, 404), text[:20]
        assert time.process_time() - began < LONG / 2, text[:20]
