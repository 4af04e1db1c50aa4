"""The command line over a cluster: settings from the environment, exit codes, and nothing said but what is meant."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from search_plugin.engines.registry import connect
from tests.commands import in_a_process, of, ses
from tests.conftest import SECURED, server_connection, server_url
from tests.engines.conftest import empty
from tests.engines.pretender import PRODUCT, Answer, pretend, version
from tests.tiny import make_model, papers, write_jsonl

SECRET = "hidden-word"  # noqa: S105


def fails(done, code, *parts):
    """It failed with that code and one line, which says this and no secret."""
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("Error: ")
    assert SECRET not in done.stderr
    for part in parts:
        assert part in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "number"), [("opensearch", "3.6.0"), ("elasticsearch", "9.4.3")])
def test_what_clients_warn_of_and_log_does_not_reach_the_terminal(kind, number, tmp_path):
    told = {**PRODUCT, "Warning": f'299 {kind}-{number} "this is deprecated"'}
    reason = {"error": {"type": "some_exception", "reason": "no \x1b[31mway"}}
    for answer in (Answer(reason, 400, told), Answer({}, 200, told)):
        with pretend({"/": version(number, kind), "/ses.*.v*": answer}) as server:
            done = in_a_process(["search", "virus"], of(tmp_path, SES_ENGINE=server.url))
        wrong = answer.status != 200
        fails(
            done, 3 if wrong else 2, "answered 400 (no [31mway)" if wrong else "There is no index in http://127.0.0.1:"
        )


def test_the_programs_own_log_is_still_heard(tmp_path):
    code = "import logging; from ses.terminal import cli; cli._quieten(); logging.getLogger('ses').warning('heard')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "heard\n"


def test_mistaken_settings_are_told_without_secrets(tmp_path, impatient):
    fails(ses(tmp_path, "search", "x", SES_ENGINE=f"http://ada:{SECRET}@127.0.0.1:9200"), 2, "leave it out")
    fails(ses(tmp_path, "search", "x", SES_ENGINE="http://x", SES_ENGINE_PASSWORD=SECRET), 2, "set SES_ENGINE_USERNAME")
    fails(
        ses(tmp_path, "search", "x", SES_ENGINE="http://x", SES_ENGINE_API_KEY=f"{SECRET}\n"), 2, "SES_ENGINE_API_KEY"
    )
    fails(
        ses(tmp_path, "search", "x", SES_ENGINE="https://x", SES_ENGINE_CA="/none"), 2, "The setting engine_ca can't be"
    )
    fails(ses(tmp_path, "search", "x", SES_ENGINE="http://127.0.0.1:9"), 3, "http://127.0.0.1:9 does not answer (")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f'engine_pasword = "{SECRET}"', "There is no setting engine_pasword, the nearest is engine_password"),
        (f'engine_password = ["{SECRET}"]', "The setting engine_password can't be so ("),
    ],
)
def test_a_mistyped_secret_in_the_settings_file_is_not_shown(line, told, tmp_path, monkeypatch):
    (tmp_path / "ses.toml").write_text(line)
    monkeypatch.chdir(tmp_path)
    done = ses(tmp_path, "search", "x")
    fails(done, 2, told)


@pytest.fixture(params=[pytest.param(lane, marks=getattr(pytest.mark, lane)) for lane in SECURED])
def secured(request):
    """What the environment says of a server with TLS and a password."""
    engine = connect(server_url(request.param), server_connection(request.param))
    to = engine.cluster.connection
    yield {
        "SES_ENGINE": engine.url,
        "SES_ENGINE_USERNAME": to.username,
        "SES_ENGINE_PASSWORD": to.password,
        "SES_ENGINE_CA": str(to.ca_file),
        "SES_ENGINE_COMPRESS": "true",
    }
    empty(engine)


def test_indexes_and_searches_a_secured_cluster(secured, tmp_path):
    make_model(tmp_path / "model")
    write_jsonl(tmp_path / "corpus.jsonl", papers(60))
    given = ("index", "--corpus", "jsonl", "--path", tmp_path / "corpus.jsonl", "--model", tmp_path / "model")
    made = ses(tmp_path, *given, **secured)
    assert made.returncode == 0, made.stderr
    found = ses(tmp_path, "search", "virus lung", "--size", "5", "--facet", "journal", "--json", **secured)
    assert (found.returncode, found.stderr) == (0, "")
    page = json.loads(found.stdout)
    assert len(page["hits"]) == 5
    similar = ses(tmp_path, "similar", page["hits"][0]["paper"]["id"], **secured)
    assert (similar.returncode, similar.stderr) == (0, "")
    for done in (made, found, similar):
        assert secured["SES_ENGINE_PASSWORD"] not in done.stdout + done.stderr

    fails(ses(tmp_path, "search", "x", **{**secured, "SES_ENGINE_PASSWORD": SECRET}), 3, "requires a login")
    fails(ses(tmp_path, "search", "x", **{**secured, "SES_ENGINE_CA": ""}), 2, "The setting engine_ca can't be")
    untrusting = {name: value for name, value in secured.items() if name != "SES_ENGINE_CA"}
    fails(ses(tmp_path, "search", "x", **untrusting), 3, "does not trust; set SES_ENGINE_CA")
