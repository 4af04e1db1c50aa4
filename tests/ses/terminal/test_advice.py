"""What `ses doctor` advises works when it is followed to the letter, on the embedded engine."""

from __future__ import annotations

import json
import shutil

import pytest

from search_plugin.engines.registry import connect
from tests.commands import ses
from tests.engines.conftest import SCHEMA, documents
from tests.tiny import make_model, papers, write_jsonl


@pytest.fixture
def home(tmp_path):
    """A data folder with an index `jsonl` in it, its corpus and its model."""
    make_model(tmp_path / "model")
    write_jsonl(tmp_path / "corpus.jsonl", papers(60))
    assert index(tmp_path).returncode == 0
    return tmp_path


def index(home, *more, name="jsonl"):
    given = ("--corpus", "jsonl", "--path", home / "corpus.jsonl", "--model", home / "model", "--index", name)
    return ses(home, "index", *given, *more)


def troubles(home, **environment):
    done = ses(home, "doctor", "--json", **{"SES_MODEL": str(home / "model"), **environment})
    return json.loads(done.stdout)["troubles"]


def advised(home, *parts, **environment):
    """The only problem that the doctor tells, which gives the advice."""
    (trouble,) = troubles(home, **environment)
    for part in parts:
        assert part in trouble, trouble
    return trouble


def check_healthy(home, count=60):
    assert troubles(home) == []
    assert json.loads(ses(home, "indexes", "show", "jsonl", "--json").stdout)["papers"] == count
    done = ses(home, "search", "virus lung", SES_MODEL=str(home / "model"))
    assert (done.returncode, done.stderr) == (0, "")


def begin(home, name):
    engine = connect(f"embedded:{home / 'data/indexes'}")
    engine.build(name, SCHEMA, "source").upsert(documents(3))


@pytest.mark.slow
def test_an_interrupted_build_beside_an_index(home):
    begin(home, "jsonl")
    advised(home, "has left version 2", "index the same papers again to finish it, or any with --fresh")
    index(home, "--fresh")
    check_healthy(home)


@pytest.mark.slow
def test_an_interrupted_first_build_is_finished(home):
    shutil.rmtree(home / "data/indexes/jsonl.v1")
    (home / "data/indexes/jsonl.json").unlink()
    begin(home, "jsonl")
    advised(home, "has left version 1", "index the same papers again to finish it, or drop the index")
    index(home)
    check_healthy(home)


@pytest.mark.slow
def test_an_interrupted_first_build_is_dropped(home):
    begin(home, "other")
    advised(home, "build of the index other", "or drop the index")
    assert ses(home, "indexes", "drop", "other", "--yes").returncode == 0
    check_healthy(home)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["papers", "vector_prx.vectors", "rows"])
@pytest.mark.parametrize("by_corpus", [True, False])
def test_a_file_that_changed(home, file, by_corpus):
    path = home / "data/indexes/jsonl.v1" / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    assert any("index again with --fresh" in trouble for trouble in troubles(home))
    if by_corpus:
        done = index(home, "--fresh")
    else:
        done = ses(home, "index", "--index", "jsonl", "--fresh", "--model", home / "model")
        if done.returncode:
            # Its own papers are damaged, and the message says what to do instead.
            assert "its corpus again, with --corpus and --fresh" in " ".join(done.stderr.split()), done.stderr
            done = index(home, "--fresh")
    assert done.returncode == 0, done.stderr
    check_healthy(home)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["facts.json", "words/meta.json", "commits"])
def test_a_file_that_can_not_be_read(home, file):
    (home / "data/indexes/jsonl.v1" / file).write_bytes(b"x")
    advised(home, "index again with --fresh")
    done = ses(home, "index", "--index", "jsonl", "--fresh", "--model", home / "model")
    assert done.returncode == 3
    assert "index its corpus again, with --corpus and --fresh" in " ".join(done.stderr.split())
    assert index(home, "--fresh").returncode == 0
    check_healthy(home)


@pytest.mark.slow
def test_a_pointer_that_can_not_be_read(home):
    (home / "data/indexes/jsonl.json").write_text("{")
    check_healthy(home)  # the doctor makes it again
    assert index(home).returncode == 0
    check_healthy(home)


@pytest.mark.slow
def test_a_model_that_changed(home):
    make_model(home / "model", seed=3)
    advised(home, "was made by another", "or index again with --fresh")
    assert index(home, "--fresh").returncode == 0
    check_healthy(home)


@pytest.mark.slow
def test_a_model_that_is_gone(home):
    (home / "model").rename(home / "hidden")
    other = make_model(home / "other", seed=4)
    advised(home, "can be searched by words only, until its model is found", SES_MODEL=str(other))
    assert ses(home, "search", "virus", "--mode", "lexical").returncode == 0
    (home / "hidden").rename(home / "model")
    check_healthy(home)


@pytest.mark.slow
def test_a_default_index_that_is_gone(home):
    index(home, name="other")
    ses(home, "indexes", "use", "other")
    ses(home, "indexes", "drop", "other", "--yes")
    check_healthy(home)
