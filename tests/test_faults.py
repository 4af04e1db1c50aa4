"""The proxy that other tests rely on, before a server that tells what it was sent."""

from __future__ import annotations

import gzip
import json
import threading
import time
from http.client import HTTPConnection, RemoteDisconnected
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.faults import ALWAYS, FaultProxy, Request

BULK = "/papers/_bulk?refresh=true"


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent, gzipped for who takes that."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_POST(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = {"line": self.requestline, "headers": dict(self.headers), "sent": sent.decode("latin-1")}
        self.server.told.append(told)
        body = json.dumps(told).encode()
        self.send_response(201, "Made")
        if self.headers.get("Accept-Encoding") == "gzip":
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("X-Elastic-Product", "Echo")
        self.send_header("Content-Type", "application/vnd.echo+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_DELETE = do_PROPFIND = do_POST  # noqa: N815 - the names are http.server's

    def log_message(self, *args):
        """Say nothing."""


class EchoServer(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Echo)
        self.told = []


@pytest.fixture
def server():
    with EchoServer() as made:
        threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def proxy(server):
    with FaultProxy(f"http://127.0.0.1:{server.server_port}") as made:
        yield made


@pytest.fixture
def client(proxy):
    made = HTTPConnection(proxy.url.removeprefix("http://"), timeout=10)
    yield made
    made.close()


def ask(client, path=BULK, method="POST", body=b"", headers=None, **options):
    client.request(method, path, body, headers or {}, **options)
    reply = client.getresponse()
    return reply.status, dict(reply.getheaders()), reply.read()


def statuses(client, count, path=BULK):
    return [ask(client, path)[0] for _ in range(count)]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PROPFIND"])
def test_everything_goes_through_as_it_came(proxy, client, method):
    body = gzip.compress(bytes(range(256)))
    headers = {"Content-Encoding": "gzip", "X-Own": "yes", "Host": "papers.example"}
    status, answered, told = ask(client, BULK, method, body, headers)
    told = json.loads(told)
    assert status == 201
    assert answered["X-Elastic-Product"] == "Echo"
    assert answered["Content-Type"] == "application/vnd.echo+json"
    assert told["line"] == f"{method} {BULK} HTTP/1.1"
    assert told["sent"].encode("latin-1") == body
    assert headers.items() <= told["headers"].items()
    assert proxy.requests == [Request(method, BULK, body)]


def test_nothing_is_put_into_a_request_without_body(server, client):
    ask(client, "/", "GET", None)
    assert set(server.told[0]["headers"]) == {"Host", "Accept-Encoding"}


def test_a_gzipped_reply_keeps_its_bytes(client):
    _, answered, body = ask(client, headers={"Accept-Encoding": "gzip"})
    assert answered["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(body))["line"].startswith("POST")


def test_a_chunked_body_arrives_whole(server, proxy, client):
    ask(client, body=iter([b"one", b"two" * 5000]), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    assert proxy.requests[0].body == b"one" + b"two" * 5000
    assert server.told[0]["sent"].encode() == proxy.requests[0].body


def test_head_tells_the_length_and_brings_no_body(client):
    _, answered, body = ask(client, "/", "HEAD")
    assert body == b""
    assert int(answered["Content-Length"]) > 0
    assert statuses(client, 1) == [201]


def test_the_connection_is_kept(client):
    ask(client)
    socket = client.sock
    ask(client)
    assert client.sock is socket is not None


def test_fail_answers_in_the_servers_place(server, proxy, client):
    proxy.fail(status=429, times=2, match="_bulk", headers={"Retry-After": "1"}, body={"error": "busy"})
    proxy.fail(status=503, match="_bulk", body=b"\xff\x00")
    assert statuses(client, 1, "/papers/_search") == [201]
    status, answered, body = ask(client)
    assert (status, answered["Retry-After"], json.loads(body)) == (429, "1", {"error": "busy"})
    assert statuses(client, 1) == [429]
    assert ask(client)[::2] == (503, b"\xff\x00")
    assert statuses(client, 1) == [201]
    assert len(server.told) == 2
    assert len(proxy.requests) == 5


def test_a_fault_can_be_for_one_method_and_for_always_until_cleared(proxy, client):
    proxy.fail(status=500, times=ALWAYS, match=f"POST {BULK}")
    assert ask(client, BULK, "GET")[0] == 201
    assert statuses(client, 9) == [500] * 9
    proxy.clear()
    assert statuses(client, 1) == [201]


def test_the_body_of_a_failure_is_an_error_in_json_if_none_is_given(proxy, client):
    proxy.fail(status=500)
    _, answered, body = ask(client)
    assert answered["Content-Type"] == "application/json"
    assert json.loads(body)["status"] == 500


@pytest.mark.parametrize("after_forward", [False, True])
def test_cut_hangs_up_before_or_after_the_work_is_done(server, proxy, client, after_forward):
    proxy.cut(match="_bulk", after_forward=after_forward)
    with pytest.raises(RemoteDisconnected):
        ask(client)
    assert len(server.told) == after_forward
    client.close()
    assert statuses(client, 1) == [201]


def test_delay_holds_back_and_goes_with_another_fault(proxy, client):
    proxy.delay(1, times=2, match="_bulk")
    proxy.fail(status=429)
    started = time.monotonic()
    assert statuses(client, 1) == [429]
    assert time.monotonic() - started >= 1
    assert statuses(client, 1) == [201]
    assert time.monotonic() - started >= 2
    again = time.monotonic()
    statuses(client, 1)
    assert time.monotonic() - again < 1


def test_a_client_may_give_up_waiting(server, proxy):
    proxy.delay(0.3)
    impatient = HTTPConnection(proxy.url.removeprefix("http://"), timeout=0.05)
    with pytest.raises(TimeoutError):
        ask(impatient)
    impatient.close()


def test_the_end_of_the_block_does_not_wait_for_a_delay(server):
    def call():
        with pytest.raises(RemoteDisconnected):
            ask(client)

    with FaultProxy(f"http://127.0.0.1:{server.server_port}") as proxy:
        proxy.delay(60)
        client = HTTPConnection(proxy.url.removeprefix("http://"))
        caller = threading.Thread(target=call)
        caller.start()
        while not proxy.requests:
            time.sleep(0.01)
    caller.join(5)
    assert not caller.is_alive()
    assert server.told == []


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_rewrite_changes_the_json_of_a_reply(server, proxy, client, encoding):
    proxy.rewrite(lambda told: {"errors": True, "line": told["line"]}, match="_bulk")
    status, answered, body = ask(client, headers={"Accept-Encoding": encoding})
    assert (status, answered["X-Elastic-Product"]) == (201, "Echo")
    assert json.loads(body) == {"errors": True, "line": f"POST {BULK} HTTP/1.1"}
    assert len(server.told) == 1
    assert "errors" not in json.loads(ask(client)[2])


def test_a_rewrite_that_does_not_fit_fails_the_block(server):
    def block():
        with FaultProxy(f"http://127.0.0.1:{server.server_port}") as proxy:
            proxy.rewrite(lambda told: told["items"])
            with pytest.raises(RemoteDisconnected):
                ask(HTTPConnection(proxy.url.removeprefix("http://")))

    with pytest.raises(KeyError, match="items"):
        block()


def test_a_server_that_is_gone_is_a_cut(server, proxy, client):
    server.shutdown()
    server.server_close()
    with pytest.raises(RemoteDisconnected):
        ask(client)


def test_exactly_as_many_requests_fail_as_were_told_to_whoever_asks(server, proxy):
    proxy.fail(status=429, times=20)
    seen = []

    def work():
        own = HTTPConnection(proxy.url.removeprefix("http://"), timeout=10)
        seen.extend(statuses(own, 10))
        own.close()

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(seen) == [201] * 60 + [429] * 20
    assert len(proxy.requests) == 80
    assert len(server.told) == 60


@pytest.mark.parametrize("url", ["https://127.0.0.1:1", "embedded:folder", "http://127.0.0.1:1/prefix"])
def test_a_target_it_can_not_forward_to_is_refused(url):
    with pytest.raises(ValueError, match="forwards to http"):
        FaultProxy(url)
