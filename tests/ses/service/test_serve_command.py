"""`ses serve keys`, and the warning of `ses serve`."""

from __future__ import annotations

import json

import pytest

import ses
from ses.service.keys import keys_of
from ses.service.settings import load_service_settings, warnings_of
from tests.commands import call
from tests.tiny import make_model, papers

pytestmark = pytest.mark.serve


def serve(folder, *arguments):
    run = call(("serve", "keys", *arguments), {"SES_DATA_DIR": str(folder)})
    return run.returncode, run.stdout, run.stderr


def test_a_key_is_shown_once_listed_and_revoked(tmp_path):
    code, out, _ = serve(tmp_path, "create", "a b", "--scope", "search", "--scope", "encode", "--days", "2")
    key = out.strip()
    assert code == 0
    assert keys_of(tmp_path).find(key).scopes == ("search", "encode")
    code, out, _ = serve(tmp_path, "list")
    assert out.startswith(f"a b: {key[:16]}_..., search, encode, created 20")
    assert "never expires" not in out
    code, out, _ = serve(tmp_path, "list", "--json")
    (listed,) = json.loads(out)["keys"]
    assert listed.keys() == {"id", "name", "scopes", "created", "expires"}
    assert key.rpartition("_")[2] not in out
    assert serve(tmp_path, "revoke", "a b")[0] == 0
    assert keys_of(tmp_path).find(key) is None
    code, _, error = serve(tmp_path, "revoke", "a b")
    assert (code, error) == (2, "Error: There is no key 'a b'; create the first key.\n")
    assert "No keys yet" in serve(tmp_path, "list")[1]


def test_the_default_index_of_a_service_is_named_by_an_option(tmp_path, monkeypatch):
    served = []
    monkeypatch.setattr("ses.service.run.run", lambda library, *_: served.append(library.default().name))
    model = str(make_model(tmp_path / "model"))
    library = ses.open(tmp_path / "indexes", model=model, data_dir=tmp_path, cache_dir=tmp_path / "cache")
    for name in ("first", "second", "third"):
        library.index(name, papers(3))
    environment = {"SES_DATA_DIR": str(tmp_path), "SES_ENGINE": f"embedded:{tmp_path / 'indexes'}", "SES_MODEL": model}
    for chosen in ("first", "second", "third"):
        assert call(("serve", "--index", chosen), environment).returncode == 0
    assert served == ["first", "second", "third"]


@pytest.mark.parametrize(
    ("host", "anonymous", "keys", "warned"),
    [
        ("0.0.0.0", ("search",), False, True),  # noqa: S104 - the point of the test
        ("::", ("search",), False, True),
        ("library.example", ("search", "encode"), False, True),
        ("192.0.2.1", (), False, False),
        ("192.0.2.1", ("search",), True, False),
        ("127.0.0.2", ("search",), False, False),
        ("::1", ("search",), False, False),
        ("localhost", ("search",), False, False),
    ],
)
def test_a_public_address_without_keys_warns(tmp_path, host, anonymous, keys, warned):
    if keys:
        keys_of(tmp_path).create("one", ["search"])
    settings = load_service_settings(host=host, anonymous=anonymous)
    found = list(warnings_of(settings, keys_of(tmp_path)))
    assert len(found) == warned
    if warned:
        assert f"{host} can be reached from other machines" in found[0]
        assert f"may {' and '.join(anonymous)} (" in found[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("anonymous", ["write"]),
        ("hosts", ["a b"]),
        ("hosts", ["https://library.example"]),
        ("hosts", ["a\r\nSet-Cookie: x"]),
        ("proxies", ["10.0.0.1/8"]),
        ("proxies", ["proxy.example"]),
        ("origins", ["library.example"]),
        ("origins", ["https://library.example/path"]),
        ("rate_per_key", "many"),
        ("rate_per_key", "0/minute"),
        ("rate_per_address", 5),
        ("max_body", 0),
        ("log_addresses", "all"),
        ("log_queries", "perhaps"),
    ],
)
def test_a_setting_that_opens_more_than_it_says_is_refused(name, value):
    from corpora.errors import InputError

    with pytest.raises(InputError, match=f"The setting {name} can't be"):
        load_service_settings(**{name: value})


def test_settings_may_be_texts_of_the_environment(monkeypatch):
    monkeypatch.setenv("SES_SERVE_ANONYMOUS", "")
    monkeypatch.setenv("SES_SERVE_PROXIES", "10.0.0.0/8, 2001:db8::1")
    monkeypatch.setenv("SES_SERVE_RATE_PER_KEY", "off")
    monkeypatch.setenv("SES_SERVE_HOSTS", "Library.Example")
    settings = load_service_settings()
    assert settings.anonymous == ()
    assert [str(one) for one in settings.proxies] == ["10.0.0.0/8", "2001:db8::1/128"]
    assert settings.rate_per_key is None
    assert settings.hosts == ("library.example",)
