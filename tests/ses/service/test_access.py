"""API keys: how they are kept, and what they let clients do."""

from __future__ import annotations

import base64
import hmac
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pkgutil import resolve_name

import pytest
from fastapi import Depends, FastAPI
from starlette.testclient import TestClient

from corpora.errors import InputError, NotFoundError, UnavailableError
from ses.service.access import needs
from ses.service.app import ROUTERS
from ses.service.keys import SCOPES, hashed, keys_of
from ses.service.settings import ServiceSettings
from tests.ses.service.layers import layered

pytestmark = pytest.mark.serve


@pytest.fixture
def keys(tmp_path):
    return keys_of(tmp_path)


def asking(tmp_path, **settings):
    """A client of an application with one route for each scope, which returns the name of the key."""
    app = FastAPI()
    for scope in SCOPES:
        app.add_api_route(f"/{scope}", lambda: {"status": "ok"}, dependencies=[Depends(needs(scope))], methods=["GET"])
    return layered(app, ServiceSettings(**settings), tmp_path)


def test_a_key_is_found_and_kept_as_a_hash_only_for_its_owner(keys):
    key = keys.create("catalogue", ["encode", "search"])
    found = keys.find(key)
    assert (found.name, found.scopes, found.expires) == ("catalogue", ("search", "encode"), "")
    content = keys.path.read_text()
    assert key not in content
    assert key.rpartition("_")[2] not in content
    assert found.sha256 == hashed(key)
    assert found.sha256 not in repr(found)
    if sys.platform != "win32":
        assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(keys.path.parent.stat().st_mode) == 0o700


def test_no_two_keys_are_alike_and_a_name_is_used_once(keys):
    assert keys.create("one", ["search"]) != keys.create("two", ["search"])
    with pytest.raises(InputError, match="There is a key one already"):
        keys.create("one", ["search"])
    assert len(keys.all()) == 2


@pytest.mark.parametrize(
    ("name", "scopes", "days"),
    [("", ["search"], 0), ("a\nb", ["search"], 0), ("a" * 65, ["search"], 0), ("a", [], 0), ("a", ["root"], 0)]
    + [("a", ["search"], days) for days in (-1, 36_501)],
)
def test_what_is_no_key_is_refused(keys, name, scopes, days):
    with pytest.raises(InputError):
        keys.create(name, scopes, days=days)
    assert not keys.path.exists()


def test_another_process_sees_new_and_revoked_keys(keys, tmp_path):
    server = keys_of(tmp_path)
    assert server.find("ses_" + "0" * 12 + "_" + "a" * 43) is None
    key = keys.create("one", ["search"])
    assert server.find(key).name == "one"
    keys.create("two", ["search"])
    keys.revoke("one")
    assert server.find(key) is None
    keys.revoke(next(iter(keys.all())))
    assert not server.all()
    with pytest.raises(NotFoundError, match="There is no key 'one'"):
        keys.revoke("one")


def test_a_key_expires(keys, monkeypatch):
    key = keys.create("one", ["search"], days=1)
    expires = datetime.fromisoformat(keys.find(key).expires)
    assert timedelta(hours=23) < expires - datetime.now(UTC) <= timedelta(days=1)
    found = keys.find(key)
    assert found.has_expired(expires)
    assert not found.has_expired(expires - timedelta(seconds=1))
    keys.path.write_text(keys.path.read_text().replace(found.expires, "2020-01-01T00:00:00+00:00"))
    assert keys.find(key) is None


def test_keys_that_are_made_at_once_are_all_kept(keys, tmp_path):
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda number: keys_of(tmp_path).create(f"n{number}", ["search"]), range(8)))
    assert [keys.find(key).name for key in made] == [f"n{number}" for number in range(8)]


def test_a_folder_in_place_of_the_lock_is_reported(keys):
    keys.path.with_suffix(".lock").mkdir(parents=True)
    with pytest.raises(UnavailableError, match=r"keys\.lock can't be locked \(Is a directory\)"):
        keys.create("one", ["search"])


@pytest.mark.parametrize("change", [lambda key: key[:-1], lambda key: key + "a", lambda key: key[:-1] + "é", str.upper])
def test_a_key_that_is_nearly_right_is_unknown(keys, change):
    assert keys.find(change(keys.create("one", ["search"]))) is None


def test_all_guesses_take_the_same_comparison(keys, monkeypatch):
    compared = []

    def compare(one, other):
        compared.append((len(one), len(other)))
        return one == other

    key = keys.create("one", ["search"])
    monkeypatch.setattr(hmac, "compare_digest", compare)
    wrong = key[:-1] + ("a" if key[-1] != "a" else "b")
    for guess in (wrong, "ses_" + "0" * 12 + "_" + "a" * 43, "x", ""):
        assert keys.find(guess) is None
    assert keys.find(key)
    assert compared == [(64, 64)] * 5


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[{"id": "a"}]'])
def test_a_damaged_file_lets_nobody_in(keys, tmp_path, content):
    key = keys.create("one", ["search"])
    keys.path.write_text(content)
    with pytest.raises(UnavailableError, match="is damaged"):
        keys.find(key)
    reply = asking(tmp_path).get("/admin", headers={"X-API-Key": key})
    assert reply.status_code == 503
    assert "is damaged" in reply.json()["detail"]


def basic(password):
    return {"Authorization": "Basic " + base64.b64encode(f"reader:{password}".encode()).decode()}


def test_a_key_opens_what_its_scopes_say(keys, tmp_path):
    client = asking(tmp_path, anonymous=())
    key = keys.create("editor", ["search", "write"])
    for headers in ({"Authorization": f"Bearer {key}"}, {"authorization": f"bearer  {key}"}, {"X-API-Key": key}):
        assert {scope: client.get(f"/{scope}", headers=headers).status_code for scope in SCOPES} == {
            "search": 200,
            "encode": 403,
            "write": 200,
            "admin": 403,
        }
    assert "the scope encode" in client.get("/encode", headers={"X-API-Key": key}).json()["detail"]


def test_a_password_never_writes(keys, tmp_path):
    client = asking(tmp_path, anonymous=())
    key = keys.create("all", list(SCOPES))
    found = {scope: client.get(f"/{scope}", headers=basic(key)).status_code for scope in SCOPES}
    assert found == {"search": 200, "encode": 200, "write": 403, "admin": 403}


@pytest.mark.parametrize("anonymous", [(), ("search",), ("encode",), ("search", "encode")])
def test_who_has_no_key_may_do_what_is_chosen(tmp_path, anonymous):
    client = asking(tmp_path, anonymous=anonymous)
    for scope in SCOPES:
        for headers in ({}, {"Authorization": "Bearer none"}, {"Authorization": "Basic é"}, {"X-API-Key": ""}):
            reply = client.get(f"/{scope}", headers={name: value.encode() for name, value in headers.items()})
            assert reply.status_code == (200 if scope in anonymous else 401)
            if reply.status_code == 401:
                assert reply.headers["www-authenticate"].startswith('Bearer realm="ses", Basic realm="ses"')
                assert f"the scope {scope}" in reply.json()["detail"]


def test_a_revoked_key_is_refused_even_where_none_is_needed(keys, tmp_path):
    client = asking(tmp_path)
    key = keys.create("one", ["search"])
    assert client.get("/search", headers={"X-API-Key": key}).status_code == 200
    keys.revoke("one")
    reply = client.get("/search", headers={"X-API-Key": key})
    assert reply.status_code == 401
    assert "was revoked" in reply.json()["detail"]


def test_every_route_says_what_it_needs():
    open_to_all = ("/healthz", "/readyz", "/metrics", "/static/", "/openapi.json")
    for router in map(resolve_name, ROUTERS):
        for route in router.routes:
            scopes = [getattr(one.call, "scope", None) for one in route.dependant.dependencies]
            assert {*scopes} <= {None, *SCOPES}, f"{route.path} needs a scope that no key can have"
            assert any(scopes) or route.path.startswith(open_to_all), f"{route.path} needs a dependency `needs(...)`"


def test_a_service_reads_the_keys_of_its_library(client, library):
    assert isinstance(client, TestClient)
    key = keys_of(library.data_dir).create("of the library", ["search"])
    try:
        assert client.get("/v1/search", params={"query": "virus"}, headers={"X-API-Key": key}).status_code == 200
    finally:
        keys_of(library.data_dir).revoke("of the library")
    assert client.get("/v1/search", params={"query": "virus"}, headers={"X-API-Key": key}).status_code == 401
