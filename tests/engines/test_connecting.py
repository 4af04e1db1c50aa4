"""Who is there, may we come in, and is it what we can talk to: each answered in one sentence, with no secret in it."""

from __future__ import annotations

import logging
import socket
import sys
from base64 import b64encode
from dataclasses import replace

import pytest

from corpora.errors import InputError, UnavailableError
from search_plugin.contract.connection import Connection
from search_plugin.engines.registry import connect
from tests.engines.conftest import SCHEMA
from tests.engines.pretender import Answer, make_certificate, pretend, version

SECRET = "hidden-word"  # noqa: S105
KINDS = {"opensearch": "3.6.0", "elasticsearch8": "8.16.6", "elasticsearch9": "9.4.3"}
PASSWORD = Connection(username="ada", password=SECRET)
CREDENTIALS = {
    "basic": (PASSWORD, "Basic " + b64encode(f"ada:{SECRET}".encode()).decode()),
    "key": (replace(PASSWORD, api_key="a2V5"), "ApiKey a2V5"),
    "token": (replace(PASSWORD, token="dG9r"), "Bearer dG9r"),  # noqa: S106
    "none": (Connection(), None),
}


def root(kind):
    return {"/": version(KINDS[kind], kind)}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate"), "IP:127.0.0.1")


@pytest.fixture
def closed_port():
    """A port on which nobody listens, held so that nobody will."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def refused(kind, match, url, connection=None):
    """Connect and ask; the error in its one sentence, which shows no secret and leads to none."""
    with pytest.raises(kind, match=match) as caught:
        connect(url, connection).names()
    assert SECRET not in f"{caught.value!r} {caught.value}"
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("credentials", CREDENTIALS)
def test_credentials_go_with_every_request_over_tls(kind, credentials, certificate, caplog):
    caplog.set_level(logging.DEBUG)
    connection, header = CREDENTIALS[credentials]
    with pretend(root(kind), certificate) as server:
        engine = connect(server.url, replace(connection, ca_file=certificate))
        assert engine.names() == []
    assert [line for line, _ in server.seen] == ["GET /", "GET /ses.*.v*"]
    assert [told.get("authorization") for _, told in server.seen] == [header] * 2
    assert SECRET not in caplog.text + repr(engine.cluster.connection)
    assert header is None or header.split()[1] not in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_ca_file_the_machines_own_certificates_are_trusted(kind, certificate, monkeypatch):
    with pretend(root(kind), certificate) as server:
        refused(
            UnavailableError, "does not trust; set SES_ENGINE_CA to the file of the authority", server.url, PASSWORD
        )
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert connect(server.url, PASSWORD).names() == []


def test_certificates_that_do_not_fit_are_told_before_any_credential_is_sent(certificate, tmp_path):
    other = make_certificate(tmp_path, "DNS:localhost")
    with pretend(root("opensearch"), other) as server:
        of_another = replace(PASSWORD, ca_file=certificate)
        refused(UnavailableError, "does not trust; set SES_ENGINE_CA", server.url, of_another)
        told = "certificate that is not valid .*127.0.0.1.*; write the URL with a name that it was made for"
        refused(UnavailableError, told, server.url, replace(PASSWORD, ca_file=other))
        named = server.url.replace("127.0.0.1", "localhost")
        assert connect(named, replace(PASSWORD, ca_file=other)).names() == []
    for unusable in (other.with_suffix(".key"), tmp_path / "none.pem", tmp_path):
        refused(InputError, "can't be read as a file of certificates", server.url, replace(PASSWORD, ca_file=unusable))
    assert len(server.seen) == 2


def test_the_wrong_scheme_is_told_both_ways(certificate, impatient):
    with pretend(root("opensearch"), certificate) as server:
        plain = server.url.replace("https:", "http:")
        refused(UnavailableError, "does not answer .*; start it, or check engine", plain, PASSWORD)
    with pretend(root("opensearch")) as server:
        refused(UnavailableError, "does not speak TLS; write the URL with http://", server.url.replace(":", "s:", 1))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"http://ada:{SECRET}@127.0.0.1:9200", "leave it out, and set SES_ENGINE_USERNAME"),
        (f"http://127.0.0.1:9200,https://ada:{SECRET}@x", "leave it out"),
        (f"http://ada:{SECRET}/#,?@127.0.0.1:9200", "leave it out"),
        (f"ada:{SECRET}@127.0.0.1:9200", "no engine for '127.0.0.1:9200'"),
        ("http://127.0.0.1:9200/papers", r"write it as http://HOST:PORT\."),
        ("http://127.0.0.1:9200?pretty", r"write it as http://HOST:PORT\."),
        ("http://", r"write it as http://HOST:PORT\."),
        ("http://x:99999", r"write it as http://HOST:PORT\."),
        ("http://x,", r"The engine '' can't be read"),
        ("http://x,https://y", "mix http and https"),
    ],
)
def test_urls_that_cannot_be_used_are_refused_and_show_no_password(url, said):
    refused(InputError, said, url)


@pytest.mark.parametrize(
    ("credentials", "said"),
    [
        ({"password": SECRET}, "set SES_ENGINE_USERNAME too"),
        ({"username": "a:b", "password": SECRET}, "colon"),
        ({"api_key": f"{SECRET}\n"}, "SES_ENGINE_API_KEY holds a space, a line break"),
        ({"token": f"{SECRET} é"}, "SES_ENGINE_TOKEN holds a space"),
    ],
)
def test_credentials_that_cannot_be_sent_are_refused_and_not_shown(credentials, said):
    with pytest.raises(InputError, match=said) as caught:
        Connection(**credentials)
    assert SECRET not in str(caught.value)


def test_credentials_do_not_follow_a_redirect():
    with pretend(root("opensearch")) as elsewhere:
        moved = Answer({}, 302, {"Location": f"{elsewhere.url}/"})
        with pretend({"/": moved}) as server:
            refused(UnavailableError, "answers with a redirect, which is not followed", server.url, PASSWORD)
    assert elsewhere.seen == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (version("7.17.9", "elasticsearch"), r"Elasticsearch 7\.17\.9, and ses works with 8\.x from 8\.16 or 9\.x"),
        (version("8.15.5", "elasticsearch"), r"Elasticsearch 8\.15\.5, and ses works with 8\.x from 8\.16"),
        (version("10.0.0", "elasticsearch"), r"Elasticsearch 10\.0\.0, and ses works with"),
        (version("1.3.20", "opensearch"), r"OpenSearch 1\.3\.20, and ses works with 2\.x from 2\.19 or 3\.x from 3\.0"),
        (version("2.18.0", "opensearch"), r"OpenSearch 2\.18\.0"),
        (version("8.16\x1b[2J", "elasticsearch"), "neither OpenSearch nor Elasticsearch; check engine"),
        (Answer({"version": "8.16"}), "neither"),
        (Answer([1]), "neither"),
        (Answer(b"<html>It works!</html>"), "neither"),
        (Answer(b"<html>no</html>", 404), "answered 404"),
        (Answer({"error": {"type": "security_exception", "reason": "no"}}, 401), "requires a login; set SES_ENGINE_US"),
        (Answer({"error": {"type": "security_exception", "reason": "not you"}}, 403), r"not allow this \(not you\)"),
    ],
)
def test_servers_that_ses_cannot_work_with_are_told(answer, said):
    with pretend({"/": answer}) as server:
        refused(UnavailableError, said, server.url, PASSWORD)
    assert len(server.seen) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_something_on_the_way_that_answers_for_the_server_is_told(kind):
    for body in (b"<html>maintenance</html>", b'{"half'):
        with pretend({**root(kind), "/ses.*.v*": Answer(body)}) as server:
            refused(UnavailableError, "something other than JSON; check engine, and any proxy", server.url, PASSWORD)


def test_a_proxy_that_drops_the_products_header_is_told():
    with pretend({**root("elasticsearch9"), "/ses.*.v*": Answer({}, headers={})}) as server:
        refused(UnavailableError, "without the header X-Elastic-Product", server.url)


def test_a_server_without_the_vector_plugin_is_told_before_anything_is_made():
    answers = {"/papers/_alias": Answer({}, 404), "/_cat/plugins": Answer([{"component": "opensearch-sql"}])}
    with pretend(root("opensearch") | answers) as server:
        engine = connect(server.url)
        with pytest.raises(UnavailableError, match="lacks the plugin opensearch-knn, which holds vectors; run"):
            engine.build("papers", SCHEMA, "source")
    assert not any(line.startswith("PUT") for line, _ in server.seen)


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_that_is_not_installed_is_told_by_the_command_that_installs_it(kind, monkeypatch):
    for module in ("opensearchpy", "elasticsearch8", "elasticsearch9", "elasticsearch"):
        monkeypatch.setitem(sys.modules, module, None)
    command = "pip install 'ses-scholar[opensearch]'" if kind == "opensearch" else f"pip install '{kind}'"
    with pretend(root(kind)) as server:
        assert command in refused(UnavailableError, "which is not installed; run", server.url)


def test_the_clients_major_version_is_the_servers(monkeypatch):
    import elasticsearch8

    monkeypatch.setitem(sys.modules, "elasticsearch8", None)
    monkeypatch.setitem(sys.modules, "elasticsearch9", None)
    monkeypatch.setitem(sys.modules, "elasticsearch", elasticsearch8)
    with pretend(root("elasticsearch8")) as server:
        assert connect(server.url).names() == []
    assert "compatible-with=8" in server.seen[1][1]["accept"]
    with pretend(root("elasticsearch9")) as server:
        refused(UnavailableError, "Elasticsearch 9.4.3 needs the client of its own major version", server.url)


def test_hosts_that_do_not_answer_are_passed_over(closed_port, impatient):
    down = f"http://127.0.0.1:{closed_port}"
    for kind in KINDS:
        with pretend(root(kind)) as server:
            engine = connect(f"{down},{server.url}")
            assert [engine.names() for _ in range(4)] == [[]] * 4
    refused(UnavailableError, rf"{down} does not answer \(.*[Rr]efused.*\); start it, or check engine", down, PASSWORD)


def test_a_cluster_without_any_extra_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnavailableError, match=r"needs its client, .*; run `pip install '.+\[opensearch\]'` or"):
        connect("http://127.0.0.1:1")
