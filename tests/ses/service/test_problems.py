"""What an error says of the machine is for admins and the log, not for everybody."""

from __future__ import annotations

import json
import logging

import pytest

import ses
from corpora.errors import ConflictError, InputError, NotFoundError, UnavailableError
from ses.service.keys import keys_of
from ses.service.problems import problem, public_message
from ses.service.service import Service
from ses.settings import load_settings
from tests.serving import service_over

pytestmark = pytest.mark.serve


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (
            UnavailableError("The server at http://es-1.internal:9200 does not answer (timed out)", "start it"),
            "The server at … does not answer (timed out); start it.",
        ),
        (UnavailableError("es-1.internal: Name or service not known"), "…: Name or service not known"),
        (UnavailableError("No route to 10.0.0.7:9200, nor to [fd00::1]:9200."), "No route to …, nor to …."),
        (UnavailableError("The folder /srv/ses data/indexes/a.v1 is missing."), "The folder … is missing."),
        (UnavailableError("/var/cache/models/x.onnx can't be read (5)."), "… can't be read (5)."),
        (UnavailableError(r"C:\Users\ada\model can't be read."), "… can't be read."),
        (UnavailableError("The service has just started; wait."), "The service has just started; wait."),
        (UnavailableError("Give 1/2 and n/a, 3.2.1."), "Give 1/2 and n/a, 3.2.1."),
        (ConflictError("Another run writes /var/lock/a."), "Another run writes …."),
        (NotFoundError("There is no index in https://es-1.internal:9200 yet"), "There is no index in https://… yet"),
        (NotFoundError("The index holds no paper 'https://a.org/b'"), "The index holds no paper 'https://a.org/b'"),
        (InputError("The query /etc/passwd can't be read"), "The query /etc/passwd can't be read"),
    ],
)  # fmt: skip
def test_places_are_left_out(error, shown):
    settings = load_settings(engine="https://ada:secret@es-1.internal:9200", data_dir="/srv/ses data")
    assert public_message(error, settings) == shown


def test_readers_and_programs_see_no_place_and_an_admin_does(tmp_path, small_model, monkeypatch, caplog):
    from starlette.testclient import TestClient

    library = ses.open(
        tmp_path / "indexes", model=small_model, data_dir=tmp_path / "data", cache_dir=tmp_path / "cache"
    )
    key = keys_of(library.data_dir).create("ada", ["search", "admin"])
    sentence = f"The server at http://10.0.0.7:9200 and {tmp_path / 'cache' / 'x'} do not answer; wait."

    def away(*_):
        raise UnavailableError(sentence)

    monkeypatch.setattr(Service, "_watcher", away)
    monkeypatch.setattr(Service, "ready", away)
    logging.getLogger("ses.service").propagate = True
    paths = ["/", "/?query=a", "/help", "/papers/a", "/map", "/v1/search", "/v1/papers/a", "/search.atom", "/readyz"]
    with TestClient(service_over(library), raise_server_exceptions=False) as client:
        for path in paths:
            for accept in ("text/html, */*;q=0.1", "*/*"):
                answer = client.get(path, headers={"Accept": accept})
                assert answer.status_code == 503, path
                assert "The server at … and … do not answer; wait." in answer.text, path
                assert "10.0.0.7" not in answer.text
                assert str(tmp_path) not in answer.text
        for path, body in (("/v1/encode", {"texts": ["a"]}), ("/v1/embeddings", {"input": "a"})):
            answer = client.post(path, json=body)
            assert (answer.status_code, "10.0.0.7" in answer.text) == (503, False)
        answer = client.get("/v1/search", headers={"X-API-Key": key})
        assert answer.json()["detail"] == sentence
        assert sentence in caplog.text


@pytest.mark.parametrize(
    ("status", "more", "content", "headers"),
    [
        (404, {}, {"title": "Not Found", "status": 404}, {}),
        (503, {}, {"title": "Service Unavailable", "status": 503}, {"retry-after": "5"}),
        (
            503,
            {"hint": "ask <load>", "request_id": "r1", "headers": {"Retry-After": "9", "X-A": "b"}},
            {"title": "Service Unavailable", "status": 503, "hint": "ask <load>", "request": "r1"},
            {"retry-after": "9", "x-a": "b"},
        ),
    ],
)
def test_a_problem_is_of_the_form_of_rfc_9457(status, more, content, headers):
    reply = problem(status, "It is away.", **more)
    assert json.loads(reply.body) == {"type": "about:blank", "detail": "It is away.", **content}
    sent = {name: value for name, value in reply.headers.items() if name not in ("content-length", "content-type")}
    assert (reply.status_code, reply.headers["content-type"], sent) == (status, "application/problem+json", headers)
