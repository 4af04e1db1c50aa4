"""The client of a service: errors, retries, credentials, and servers that answer anything."""

import http.server
import threading
from contextlib import contextmanager

import orjson
import pytest

import ses
from search_plugin.contract.connection import Connection
from ses.remote import client as remote_client
from ses.remote.client import ServiceClient
from tests.corpora.test_fetching import listening

pytestmark = pytest.mark.serve

INDEXES = {"indexes": [{"name": "papers", "default": True, "papers": 3, "model": "tiny"}]}
SECRET = "hush-hush"  # noqa: S105


@contextmanager
def serving(*answers):
    """A server that gives answers one after another, the last one for ever; and the requests it got."""
    asked, left = [], list(answers)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, dict(self.headers)))
            status, headers, content = left.pop(0) if len(left) > 1 else left[0]
            content = content if isinstance(content, bytes) else orjson.dumps(content)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/ses", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def problem(status, detail, hint="", **headers):
    content = {"status": status, "detail": detail, **({"hint": hint} if hint else {})}
    return status, {"Content-Type": "application/problem+json", **headers}, content


@pytest.fixture
def waits(monkeypatch):
    """What the client waited, without waiting."""
    found = []
    monkeypatch.setattr("time.sleep", found.append)
    return found


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_service_is_asked_again_when_it_says(waits, status):
    busy = problem(status, "It is busy.", **{"Retry-After": "3"})
    with serving(busy, busy, (200, {}, INDEXES)) as (url, asked), ses.open(url) as library:
        assert library.indexes() == ["papers"]
    assert [path for path, _ in asked] == ["/ses/v1/indexes"] * 4
    assert waits == [3.0, 3.0]


def test_it_is_not_asked_for_ever(waits):
    with (
        serving(problem(503, "The model is missing; train one.", "train one", **{"Retry-After": "99999"})) as (
            url,
            asked,
        ),
        pytest.raises(ses.UnavailableError, match=r"^The model is missing; train one\.$") as caught,
    ):
        ses.open(url)
    assert (caught.value.sentence, caught.value.hint) == ("The model is missing", "train one")
    assert len(asked) == remote_client.ATTEMPTS
    assert waits == [10.0] * (remote_client.ATTEMPTS - 1)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ses.InputError),
        (404, ses.NotFoundError),
        (409, ses.ConflictError),
        (410, ses.InputError),
        (413, ses.InputError),
        (401, ses.UnavailableError),
        (500, ses.UnavailableError),
    ],
)
def test_other_errors_are_said_at_once(status, kind):
    with serving(problem(status, "It is so.")) as (url, asked), pytest.raises(kind, match=r"^It is so\.$") as caught:
        ses.open(url)
    assert type(caught.value) is kind
    assert len(asked) == 1


def test_no_server_at_all(waits):
    with serving((200, {}, INDEXES)) as (url, _):
        pass
    with pytest.raises(ses.UnavailableError, match=f"The service {url} does not answer"):
        ses.open(url)
    assert len(waits) == remote_client.ATTEMPTS - 1
    assert max(waits) <= 1.0


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((200, {}, b"<html>"), "since it is no JSON"),
        ((200, {}, b"null"), "can't be read, since"),
        ((200, {}, {"indexes": [{"name": 3}]}), "RemoteEntry lacks or does not know default, model, papers"),
        ((200, {}, {"indexes": {}}), "is not tuple"),
        ((403, {}, b"<html>"), "answers with the status 403"),
        ((400, {}, {"detail": 3}), "answers with the status 400"),
        ((302, {"Location": "https://elsewhere.example/"}, b""), "has moved to 'https://elsewhere.example/'; give its"),
        ((200, {"Content-Encoding": "gzip"}, b"no gzip"), "does not answer"),
    ],
)
def test_a_server_that_is_no_service(waits, answer, sentence):
    with serving(answer) as (url, _), pytest.raises(ses.UnavailableError, match=sentence):
        ses.open(url)


@pytest.mark.parametrize(
    "wrong", [{"published": "yesterday"}, {"language": "zz"}, {"disk_bytes": "1"}, {"bm25": {"k1": "x"}}]
)
def test_facts_that_can_not_be_are_refused(wrong):
    odd = {"indexes": [{**INDEXES["indexes"][0], **wrong}]}
    with (
        serving((200, {}, INDEXES), (200, {}, odd)) as (url, _),
        ses.open(url) as library,
        pytest.raises(ses.UnavailableError, match=f"The answer of {url} can't be read, since"),
    ):
        library.describe("papers")


def test_an_older_service_says_less_of_an_index():
    with serving((200, {}, INDEXES)) as (url, _), ses.open(url) as library:
        facts = library.describe("papers")
    assert (facts.papers, facts.published, facts.schema.model, facts.schema.vectors) == (3, None, "tiny", ())


def test_an_answer_that_never_ends_is_given_up():
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    with (
        listening(after=head, slowly=b" " * 1000) as url,
        pytest.raises(ses.UnavailableError, match=r"since it takes more than 0\.2 s"),
    ):
        ses.open(url, engine_timeout=0.2)


def test_a_page_that_grows_when_unpacked_is_not_read(monkeypatch):
    import gzip

    monkeypatch.setattr(remote_client, "LARGEST", 1 << 20)
    bomb = gzip.compress(b" " * (8 << 20))
    assert len(bomb) < 1 << 17
    with (
        serving((200, {"Content-Encoding": "gzip"}, bomb)) as (url, _),
        pytest.raises(ses.UnavailableError, match="since it has more than 1 MiB"),
    ):
        ses.open(url)


def test_an_answer_without_end_is_not_read(monkeypatch):
    monkeypatch.setattr(remote_client, "LARGEST", 1 << 20)
    with serving((200, {}, b" " * (3 << 20))) as (url, _), pytest.raises(ses.UnavailableError, match="more than 1 MiB"):
        ses.open(url)


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"engine_api_key": SECRET}, f"Bearer {SECRET}"),
        ({"engine_token": SECRET}, f"Bearer {SECRET}"),
        ({"engine_username": "ada", "engine_password": "b"}, "Basic YWRhOmI="),
        ({}, None),
    ],
)
def test_credentials_go_to_the_service_alone(settings, sent, monkeypatch):
    with (
        serving((200, {}, INDEXES)) as (other, theirs),
        serving((302, {"Location": f"{other}/v1/indexes"}, b"")) as (url, asked),
    ):
        monkeypatch.setenv("HTTP_PROXY", other)
        monkeypatch.setenv("http_proxy", other)
        with pytest.raises(ses.UnavailableError, match="has moved"):
            ses.open(url, **settings)
    assert asked[0][1].get("authorization") == sent
    assert not theirs


@pytest.mark.parametrize("url", ["http://ada:b@host/ses", "http://host/ses?a=b", "http:///ses", "ftp://host/ses"])
def test_what_is_no_url_of_a_service(url):
    with pytest.raises(ses.InputError) as caught:
        ServiceClient(url, Connection())
    assert "ada:b" not in f"{caught.value}"


def test_a_url_without_a_path_is_asked_as_a_cluster_first():
    home = (200, {"Content-Type": "text/html"}, b"<html>")
    with serving(home, (200, {}, INDEXES)) as (url, asked), ses.open(url.removesuffix("/ses")) as library:
        assert library.indexes() == ["papers"]
    assert [path for path, _ in asked] == ["/", "/v1/indexes", "/v1/indexes"]
    with serving(home) as (url, _), pytest.raises(ses.UnavailableError, match="neither OpenSearch nor Elasticsearch"):
        ses.open(url.removesuffix("/ses"))
    with serving(problem(401, "Give a key."), (200, {}, INDEXES)) as (url, _):
        assert ses.open(url.removesuffix("/ses")).indexes() == ["papers"]
