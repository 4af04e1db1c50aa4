"""A server over http and https, and a proxy, which note what they are sent."""

import gzip
import socket
import ssl
import threading
from base64 import b64decode
from contextlib import ExitStack, closing, contextmanager, suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import fetching, obtaining
from corpora.errors import InputError, UnavailableError
from corpora.fetching import Fetcher, Reply, _wait_of, checked_status
from corpora.http_client import seconds_of
from corpora.installed import DISTRIBUTION
from corpora.obtaining import Visitor
from tests.engines.pretender import make_certificate

SECRET = Visitor("me@example.org", "me", "a:secret")


@contextmanager
def serve(answer, certificate=None):
    """Serve what `answer` returns for a path: status, headers and body; `asked` has the path and headers of each."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            """Say nothing of clients that hang up over a certificate."""

    server = Server(("127.0.0.1", 0), Handler)
    server.asked = []
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.url = f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def get(url, visitor=SECRET, waits=None, **more):
    with closing(Fetcher(visitor, [].append if waits is None else waits.append, **more)) as fetcher:
        return fetcher.get(url, {})


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    made = make_certificate(tmp_path, "IP:127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(made))
    return made


def test_credentials_are_sent_over_https_and_to_this_machine_alone(certificate):
    told = (200, {"X-Some": "a"}, b"yes")
    with serve(lambda path: told, certificate) as safe, serve(lambda path: told) as own:
        reply = get(f"{safe.url}/a", headers={"X-Key": "k"})
        assert (reply.status, reply.body, reply.headers["x-some"]) == (200, b"yes", "a")
        get(own.url)
    (_, sent), (_, here) = *safe.asked, *own.asked
    assert b64decode(sent["authorization"].removeprefix("Basic ")) == b"me:a:secret"
    assert (sent["x-key"], sent["user-agent"].partition(" ")[2]) == ("k", "(mailto:me@example.org)")
    assert "authorization" in here
    for visitor, headers in ((SECRET, {}), (Visitor(), {"X-Key": "k"})):
        with pytest.raises(InputError, match=r"sent to example\.org in plain text"):
            get("http://example.org/a", visitor, headers=headers)
    with pytest.raises(InputError, match="seen by everyone"):
        get("https://me:secret@example.org/")
    assert "secret" not in repr(SECRET)


def test_a_visitor_says_what_it_is_and_who_is_answerable(monkeypatch):
    # The package index has a stranger's `ses`, whose version may be installed too.
    monkeypatch.setattr(obtaining, "installed_version", {"ses": "9", DISTRIBUTION: "1.2"}.get)
    assert Visitor("me@example.org").headers() == {"User-Agent": "ses/1.2 (mailto:me@example.org)"}
    monkeypatch.setattr(obtaining, "installed_version", {"ses": "9"}.get)
    assert Visitor().headers() == {"User-Agent": "ses/0"}


@pytest.mark.parametrize(
    ("status", "error", "says"),
    [
        (401, UnavailableError, "refuses us .HTTP 401.; set SES_HARVEST_USERNAME"),
        (403, UnavailableError, "refuses us .HTTP 403."),
        (404, InputError, "There is nothing at http://a .HTTP 404."),
        (201, UnavailableError, "answers with HTTP 201"),
        (410, UnavailableError, "answers with HTTP 410"),
    ],
)
def test_a_status_that_is_an_error_is_said(status, error, says):
    with pytest.raises(error, match=says):
        checked_status("http://a", Reply(status, b""))
    assert checked_status("http://a", Reply(200, b"x")).body == b"x"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 501, 505])
def test_what_may_succeed_later_is_asked_again(status):
    answers = [(status, {}, b"no"), (200, {}, b"yes")]
    with serve(lambda path: answers.pop(0)) as server:
        assert get(server.url).body == (b"no" if status in (501, 505) else b"yes")


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 305, 307, 308])
def test_statuses_that_lead_on(status):
    with serve(lambda path: (200, {}, b"there") if path == "/b" else (status, {"Location": "/b"}, b"")) as server:
        assert get(f"{server.url}/a").body == (b"there" if status in (301, 302, 303, 307, 308) else b"")


def test_a_server_whose_certificate_is_unknown_is_sent_nothing(certificate, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    with serve(lambda path: (200, {}, b""), certificate) as safe:
        waits = []
        with pytest.raises(UnavailableError, match=r"(?i)can't be reached \(.*certificate"):
            get(safe.url, waits=waits)
        assert safe.asked == waits == []


def test_an_address_that_never_answered_is_told_at_once():
    waits = []
    with pytest.raises(UnavailableError, match=r"host\.invalid/a can't be reached \(.*check the address"):
        get("http://host.invalid/a", Visitor(), waits)
    assert waits == []


@contextmanager
def listening(*, full=False, after=b"", slowly=b""):
    """Take connections and never answer; or take none; or send some bytes at once and others one by one."""
    with socket.create_server(("127.0.0.1", 0), backlog=0 if full else 5) as server, ExitStack() as held:

        def talk():
            with suppress(OSError):
                while True:
                    client = held.enter_context(server.accept()[0])
                    client.sendall(after)
                    for byte in slowly:
                        sleep(0.02)
                        client.sendall(bytes([byte]))

        for _ in range(3 if full else 0):  # so that the next one waits
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        if not full:
            threading.Thread(target=talk, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/a"


@pytest.mark.parametrize(("full", "said"), [(True, "connect timeout"), (False, "Read timed out")])
def test_a_server_that_never_answered_is_asked_once(full, said, monkeypatch):
    monkeypatch.setattr(fetching, "_CONNECT_SECONDS", 0.2)
    monkeypatch.setattr(fetching, "_READ_SECONDS", 0.2)
    waits = []
    with listening(full=full) as url, pytest.raises(UnavailableError, match=rf"/a can't be reached \(.*{said}"):
        get(url, Visitor(), waits)
    assert waits == []


def test_an_answer_that_comes_byte_by_byte_has_an_end(monkeypatch):
    monkeypatch.setattr(fetching, "_LONGEST_REPLY", 0.2)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    with (
        listening(after=head, slowly=b"x" * 1000) as url,
        pytest.raises(UnavailableError, match=r"/a takes more than 0\.2 s"),
    ):
        get(url, Visitor())


def test_whole_answers_are_read_in_every_form():
    text = b"a\xc3\xa9" * 100_000
    with serve(lambda path: (200, {"Content-Encoding": "gzip"}, gzip.compress(text))) as server:
        assert get(server.url).body == text
    pieces = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (text[:9], text[9:80_000], text[80_000:]))
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with listening(after=head + pieces + b"0\r\n\r\n") as url:
        assert get(url, Visitor()).body == text


def test_a_proxy_that_is_not_there_is_told_at_once(monkeypatch):
    waits = []
    for proxy in ("http://host.invalid:1", "no proxy"):
        monkeypatch.setenv("http_proxy", proxy)
        with pytest.raises(UnavailableError, match="can't be reached"):
            get("http://example.org/a", Visitor(), waits)
    assert waits == []


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://127.0.0.1:99999/a", "https://", "ftp://example.org", "http://a b/", "a", ""]
)
def test_what_is_no_address(url):
    with pytest.raises(InputError, match="is no address of the web"):
        get(url, Visitor())


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:99999/a", "https://", "http://a b/"])
def test_a_redirect_to_no_address_is_not_followed(url):
    with (
        serve(lambda path: (302, {"Location": url}, b"")) as server,
        pytest.raises(UnavailableError, match=r"sends us on to .*, which is not safe"),
    ):
        get(f"{server.url}/a", Visitor())


def test_redirects_never_leave_https_nor_take_secrets_along(certificate):
    with serve(lambda path: (200, {}, b"other")) as other:
        said = f"sends us on to {other.url}/b, which is not safe"
        away = (302, {"Location": f"{other.url}/b"}, b"")
        with serve(lambda path: away, certificate) as safe, pytest.raises(UnavailableError, match=said):
            get(safe.url)
        assert not other.asked
        with serve(lambda path: (307, {"Location": f"{other.url}/c"}, b"")) as plain:
            assert get(plain.url, headers={"X-Key": "k"}).body == b"other"
        assert {"authorization", "x-key"} <= plain.asked[0][1].keys()
        assert not {"authorization", "x-key"} & other.asked[0][1].keys()
    left = [(301, {"Location": "next"}, b"")] * 5
    with serve(lambda path: left.pop() if left else (200, {}, b"there")) as steps:
        assert get(steps.url).body == b"there"
    assert "authorization" in steps.asked[-1][1]
    with serve(lambda path: (301, {"Location": "next"}, b"")) as circle:
        with pytest.raises(UnavailableError, match="more than 5 times"):
            get(circle.url)
        assert len(circle.asked) == 6


def test_the_proxy_of_the_environment_is_used(monkeypatch):
    with serve(lambda path: (200, {}, b"by proxy")) as proxy, serve(lambda path: (200, {}, b"itself")) as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert get("http://example.invalid/a?b=c", Visitor()).body == b"by proxy"
        assert proxy.asked[0][0] == "http://example.invalid/a?b=c"
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert get(server.url).body == b"itself"


def test_waits_as_the_server_asks():
    answers = [
        (503, {"Retry-After": "7"}, b""),
        (429, {"Retry-After": formatdate(time() + 60, usegmt=True)}, b""),
        (500, {}, b""),
        (200, {"Backoff": "9"}, b"yes"),
    ]
    waits = []
    with serve(lambda path: answers.pop(0)) as server:
        assert get(server.url, waits=waits).body == b"yes"
    assert (waits[0], 55 < waits[1] <= 60, waits[2:]) == (7, True, [8, 9])
    with serve(lambda path: (503, {}, b"")) as server:
        with pytest.raises(UnavailableError, match="HTTP 503"):
            get(server.url)
        assert len(server.asked) == 6


@given(st.text(max_size=12) | st.from_regex(r"\A[0-9]{1,12}\Z") | st.datetimes().map(lambda day: day.strftime("%c")))
def test_any_header_gives_a_time_to_wait_or_none(text):
    for wait in (_wait_of({"Retry-After": text}), seconds_of(text)):
        assert wait is None or 0 <= wait < 1e12
