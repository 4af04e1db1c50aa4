"""What the users of the HTTP client share; servers that answer anything are in the tests of these."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from corpora.http_client import HttpClient, TransientError, is_loopback, read_all, retried


@pytest.fixture
def server():
    """A server of HTTP/1.1 whose `/end` has moved from every other path, and the connections that it was asked on."""
    connections = set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            connections.add(self.client_address)
            moved = self.path != "/end"
            body = b"moved " * 9_999 if moved else b"there"
            self.send_response(302 if moved else 200)
            if moved:
                self.send_header("Location", "/end")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_):
            pass  # a client that hangs up in the middle of a body

    with Quiet(("127.0.0.1", 0), Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}", connections
        made.shutdown()


def test_answers_that_are_read_share_a_connection(server):
    url, connections = server
    client = HttpClient(5, 5, proxies=False)
    for _ in range(3):
        with client.send("GET", f"{url}/end", {}) as reply:
            assert read_all(reply, 100, 5) == b"there"
    assert len(connections) == 1
    client.close()


def test_the_body_of_a_redirect_is_in_nobodys_way(server):
    url, _ = server
    client = HttpClient(5, 5, proxies=False)
    for path in ("/a", "/b", "/c", "/d", "/e"):
        with client.follow(f"{url}{path}", lambda _: {}, lambda *_: True) as reply:
            assert read_all(reply, 100, 5) == b"there"
    client.close()


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://localhost:1/a", True),
        ("http://a.localhost", True),
        ("http://127.9.9.9", True),
        ("https://[::1]:9200", True),
        ("http://localhost.example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("http://192.168.0.1", False),
        ("", False),
    ],
)
def test_an_address_is_one_of_this_machine(url, own):
    assert is_loopback(url) is own


def test_a_request_is_made_until_it_succeeds_or_was_made_often_enough():
    failures = [TransientError("away", 3.0), TransientError("late")]
    left, paused = list(failures), []

    def request():
        if left:
            raise left.pop(0)
        return "there"

    assert retried(request, 3, lambda error, attempt: paused.append((error, attempt))) == "there"
    assert paused == [(failures[0], 1), (failures[1], 2)]
    left = list(failures)
    with pytest.raises(TransientError, match="late"):
        retried(request, 2, lambda *_: None)
    with pytest.raises(ValueError, match="no more"):
        retried(lambda: (_ for _ in ()).throw(ValueError("no more")), 9, paused.append)
