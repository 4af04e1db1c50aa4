"""`ses doctor` over a folder and without an engine; clusters are in tests/engines/test_diagnosis.py."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version

import pytest
from filelock import FileLock

from encoders.runtimes.hardware import Processor
from search_plugin.contract.diagnosis import Finding
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.registry import connect
from ses.terminal import checkup
from tests.commands import fails, ses
from tests.engines.conftest import SCHEMA
from tests.engines.pretender import Answer, pretend
from tests.engines.test_diagnosis import many_papers
from tests.tiny import make_model, papers, write_jsonl

NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data folder with an index `jsonl` in it, its corpus and its model."""
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    write_jsonl(folder / "corpus.jsonl", papers(60))
    done = ses(folder, "index", "--corpus", "jsonl", "--path", folder / "corpus.jsonl", "--model", folder / "model")
    assert done.returncode == 0, done.stderr
    return folder


def told(home, *arguments, code=0, **environment):
    done = ses(home, "doctor", "--json", *arguments, **{"SES_MODEL": str(home / "model"), **environment})
    assert done.returncode == code, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.slow
def test_tells_what_is_installed_and_found(home):
    found = told(home)
    assert found["python"] == platform.python_version()
    parts = {part["package"]: part for part in found["parts"]}
    assert parts["opensearch-py"]["extra"] == "opensearch"
    for name, part in parts.items():
        if part["version"] is not None:
            assert part["version"] == version(name)
    (index,) = found["engine"]["indexes"]
    assert (index["name"], index["generation"], index["papers"], index["leftovers"]) == ("jsonl", 1, 60, [])
    assert [(vector["field"], vector["count"]) for vector in index["vectors"]] == [("prx", 60)]
    assert index["fingerprint"] == found["model"]["fingerprint"] != ""
    assert found["index_models"][index["model"]]["folder"] == str(home / "model")
    details = found["engine"]["details"]
    assert details["folder"] == str(home / "data/indexes")
    assert index["disk_bytes"] == sum(
        path.stat().st_size for path in (home / "data/indexes/jsonl.v1").rglob("*") if path.is_file()
    )
    assert details["size_bytes"] >= index["disk_bytes"]
    assert details["free_bytes"] > 0
    assert (found["engine"]["product"], found["engine"]["joins"]) == ("tantivy", ["ses"])
    assert found["troubles"] == []


@pytest.mark.slow
def test_tells_the_same_to_people(home):
    done = ses(home, "doctor", SES_MODEL=str(home / "model"))
    assert (done.returncode, done.stderr) == (0, "")
    for part in (
        f"Python {platform.python_version()}",
        f"Engine embedded:{home / 'data/indexes'}: tantivy",
        "Index jsonl: version 1; 60 papers",
        "prx: 60 vectors of ",
        "No problems found.",
        "[SES_MODEL]",
    ):
        assert part in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("saturates", "line"), [(True, "int8 is hardly faster than fp32 here"), (False, "int8")])
def test_tells_what_the_processor_means_for_speed(saturates, line, home, monkeypatch):
    monkeypatch.setattr(checkup, "products_saturate", lambda: saturates)
    monkeypatch.setattr(checkup, "processor", lambda: Processor("A Fast One", 7, "avx2 avx512_vnni"))
    lines = ses(home, "doctor", SES_MODEL=str(home / "model")).stdout.splitlines()
    place = lines.index("Processor: A Fast One, 7 cores (avx2, vnni)")
    assert lines[place + 1].startswith(f"  {line}")
    assert ("no VNNI" in lines[place + 1]) == saturates


@pytest.mark.slow
def test_a_check_is_a_function_of_the_list(home, monkeypatch):
    found = Finding("shelf", {"books": 3}, "Shelf: 3 books", "The shelf is full; take a book off.")
    monkeypatch.setattr(checkup, "CHECKS", (*checkup.CHECKS, lambda _: iter([found])))
    kept = told(home)
    assert (kept["shelf"], kept["troubles"]) == ({"books": 3}, [found.trouble])
    lines = ses(home, "doctor", SES_MODEL=str(home / "model")).stdout.splitlines()
    assert lines[-3:] == ["Shelf: 3 books", "Problems", f"  {found.trouble}"]


@pytest.mark.slow
def test_tells_where_each_setting_comes_from(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ses.toml").write_text('threads = 3\nruntime = "openvino"\nengine_token = "hidden-in-file"\n')
    done = ses(
        home,
        "doctor",
        "--json",
        "--engine",
        f"embedded:{tmp_path / 'x'}",
        SES_RUNTIME="onnx",
        SES_MODEL=str(home / "model"),
        SES_ENGINE="embedded:elsewhere",
        SES_ENGINE_USERNAME="ada",
        SES_ENGINE_PASSWORD="hidden-in-environment",  # noqa: S106
    )
    assert done.returncode == 0, done.stderr
    assert "hidden" not in done.stdout
    settings = {
        setting["name"]: (setting["value"], setting["source"]) for setting in json.loads(done.stdout)["settings"]
    }
    file = str(tmp_path / "ses.toml")
    assert settings["engine"] == (f"embedded:{tmp_path / 'x'}", "flag")
    assert settings["threads"] == ("3", file)
    assert settings["runtime"] == ("onnx", "SES_RUNTIME")
    assert settings["precision"] == ("", "default")
    assert settings["engine_token"] == ("set", file)
    assert settings["engine_password"] == ("set", "SES_ENGINE_PASSWORD")
    assert settings["engine_api_key"] == ("not set", "default")


@pytest.mark.slow
def test_without_an_engine_it_tells_the_rest_and_fails(home, impatient):
    found = told(home, "--engine", NOWHERE, code=3)
    assert found["engine"] is None
    assert found["model"]["folder"] == str(home / "model")
    assert len(found["troubles"]) == 1
    assert f"{NOWHERE} does not answer" in found["troubles"][0]
    done = ses(home, "doctor", "--engine", NOWHERE, SES_MODEL=str(home / "model"))
    assert done.returncode == 3
    assert f"Engine {NOWHERE}: does not answer" in done.stdout


@pytest.mark.slow
def test_a_model_that_is_gone_or_another_is_told(home, tmp_path):
    other = make_model(tmp_path / "other", seed=5)
    (home / "model").rename(home / "hidden")
    try:
        (trouble,) = told(home, SES_MODEL=str(other), code=3)["troubles"]
        assert trouble.startswith("The index jsonl can be searched by words only, until its model is found: There is")
        other.rename(home / "model")
        (trouble,) = told(home)["troubles"]
        assert trouble.startswith("The index jsonl was made by another ")
        (home / "model").rename(other)
    finally:
        (home / "hidden").rename(home / "model")


@pytest.mark.slow
def test_a_default_model_that_is_not_there_is_told(home):
    found = told(home, SES_MODEL="no-such-model", code=3)
    assert found["model"]["folder"] is None
    assert "no-such-model" in found["troubles"][0]
    assert found["engine"]["indexes"][0]["papers"] == 60


@pytest.mark.slow
def test_what_an_interrupted_build_left_is_told_unless_it_goes_on(home, tmp_path):
    engine = connect(f"embedded:{tmp_path / 'indexes'}")
    engine.build("a", IndexSchema("m", "f", (paper_vector("prx", 4, "cosine"),)), "source")
    (trouble,) = told(home, "--engine", engine.url)["troubles"]
    assert trouble.startswith("An interrupted build of the index a has left version 1; index the same papers")
    with FileLock(tmp_path / "indexes" / "a.lock"):
        found = told(home, "--engine", engine.url)
    assert (found["troubles"], found["engine"]["indexes"][0]["details"]) == ([], {"being_written": True})


@pytest.mark.slow
def test_a_damaged_index_is_told_beside_the_others(home, tmp_path):
    import shutil

    shutil.copytree(home / "data/indexes", tmp_path / "indexes")
    (tmp_path / "indexes" / "bad.json").write_text("?")
    found = told(home, "--engine", f"embedded:{tmp_path / 'indexes'}")
    assert {index["name"]: index["papers"] for index in found["engine"]["indexes"]} == {"bad": 0, "jsonl": 60}
    assert "delete it: there is no version of the index" in found["troubles"][0]


@pytest.mark.slow
def test_a_file_that_changed_on_the_disk_is_told(home, tmp_path):
    import shutil

    folder = tmp_path / "indexes"
    shutil.copytree(home / "data/indexes", folder)
    assert told(home, "--engine", f"embedded:{folder}")["troubles"] == []
    vectors = next(folder.rglob("*.vectors"))
    content = bytearray(vectors.read_bytes())
    content[1] ^= 1
    vectors.write_bytes(content)
    (trouble,) = told(home, "--engine", f"embedded:{folder}")["troubles"]
    assert (
        trouble
        == f"Files of the index jsonl changed after they were written ({vectors.name}); index again with --fresh."
    )


@pytest.mark.slow
def test_what_a_server_says_cannot_steer_the_terminal(home):
    answers = many_papers(SCHEMA, Product("opensearch", "2.19.0", (2, 19)))
    named = Answer({"cluster_name": "mine\x1b[31m\r\x07\u202e", "status": "red"})
    refusal = Answer({"error": {"type": "x", "reason": "no \x1b]0;way"}, "status": 403}, 403)
    with pretend(answers | {"/_cluster/health": named, "/_cat/plugins": refusal}) as server:
        done = ses(home, "doctor", "--engine", server.url, SES_MODEL=str(home / "model"))
    assert "mine[31m" in done.stdout
    assert "no ]0;way" in done.stdout
    assert [sign for sign in done.stdout if not sign.isprintable() and sign != "\n"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--engine", "solr://x"], "no engine for"),
        (["--index", "none"], "There is no index 'none'"),
        (["--engine", "http://ada:secret@localhost"], "seen by everyone"),
    ],
)
def test_wrong_usage(home, arguments, part):
    done = ses(home, "doctor", *arguments, SES_MODEL=str(home / "model"))
    fails(done, 2, part)
    assert "secret" not in done.stderr


@pytest.mark.slow
def test_a_setting_that_is_no_utf8_is_told_without_the_bytes_that_are_none(home):
    found = told(home, SES_INDEX="oth\udcffer")
    assert [one["value"] for one in found["settings"] if one["name"] == "index"] == ["other"]
