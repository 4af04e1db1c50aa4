"""`ses indexes` and `ses delete`, and the default index of searches."""

from __future__ import annotations

import json
import os
import pty

import pytest

from tests.commands import fails, in_a_process, of, ses
from tests.tiny import make_model, papers, write_jsonl


@pytest.fixture
def home(tmp_path):
    """A data folder with the indexes `a` of 12 papers and `b` of 7, and a model."""
    make_model(tmp_path / "model")
    for name, count in (("a", 12), ("b", 7)):
        corpus = write_jsonl(tmp_path / f"{name}.jsonl", papers(count))
        done = index(tmp_path, name, corpus)
        assert done.returncode == 0, done.stderr
    return tmp_path


def index(home, name, corpus, *more):
    return ses(home, "index", "--corpus", "jsonl", "--path", corpus, "--index", name, "--model", home / "model", *more)


def searched(home, *arguments, **environment):
    done = ses(home, "search", "virus", "--mode", "lexical", "--json", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["index"]


@pytest.mark.slow
def test_the_default_is_a_setting(home, tmp_path, monkeypatch):
    assert searched(home) == "a"  # the first one
    assert "a (default): " in ses(home, "indexes", "list").stdout
    assert "Searches use b now" in ses(home, "indexes", "use", "b").stdout
    assert searched(home) == "b"
    assert "Searches use a now" in ses(home, "indexes", "use", "a").stdout
    assert searched(home) == "a"
    # Writing another one changes nothing.
    index(home, "b", home / "b.jsonl")
    assert searched(home) == "a"
    assert searched(home, "--index", "b") == "b"
    assert searched(home, SES_INDEX="b") == "b"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ses.toml").write_text('index = "b"\n')
    assert searched(home) == "b"
    assert searched(home, SES_INDEX="a") == "a"
    done = ses(home, "indexes", "use", "a")
    assert "But SES_INDEX or ses.toml names b, which takes precedence." in done.stdout
    (tmp_path / "ses.toml").unlink()
    fails(ses(home, "search", "virus", SES_INDEX="none"), 2, "There is no index 'none'", "choose one of")
    fails(ses(home, "indexes", "use", "none"), 2, "There is no index 'none'")


@pytest.mark.slow
def test_the_default_belongs_to_an_engine_and_goes_with_its_index(home):
    ses(home, "indexes", "use", "a")
    other = f"embedded:{home / 'other'}"
    fails(ses(home, "search", "virus", "--engine", other), 2, "There is no index in", "yet")
    index(home, "c", home / "b.jsonl", "--engine", other)
    assert searched(home, "--engine", other) == "c"
    settings = json.loads(ses(home, "doctor", "--json", SES_MODEL=str(home / "model")).stdout)["settings"]
    (told,) = (setting for setting in settings if setting["name"] == "index")
    assert (told["value"], told["source"]) == ("a", str(home / "data/default-indexes.json"))
    assert ses(home, "indexes", "drop", "a", "--yes").stdout == "The index a is deleted.\n"
    assert searched(home) == "b"


def test_a_default_that_somebody_else_deleted_is_told(home):
    ses(home, "indexes", "use", "a")
    for path in (home / "data/indexes").glob("a.*"):
        path.unlink() if path.is_file() else path.rename(home / "moved")
    fails(ses(home, "search", "virus"), 2, "The default index a does not exist any more", "ses indexes use NAME`: b")
    (home / "data/default-indexes.json").write_text("[")
    fails(ses(home, "search", "virus"), 3, "default-indexes.json can't be read", "delete it")
    (home / "data/default-indexes.json").write_text("[]")
    fails(ses(home, "search", "virus"), 3, "was not written by ses")


def test_lists_and_shows(home):
    ses(home, "indexes", "use", "b")
    lines = ses(home, "indexes", "list").stdout.splitlines()
    assert [line.split(", published")[0] for line in lines] == [
        f"{told} papers, {home / 'model'}" for told in ("a: 12", "b (default): 7")
    ]
    listed = json.loads(ses(home, "indexes", "list", "--json").stdout)["indexes"]
    assert [(row["name"], row["default"], row["papers"]) for row in listed] == [("a", False, 12), ("b", True, 7)]
    shown = ses(home, "indexes", "show").stdout
    for part in ("Index b (default): version 1, published 20", "7 papers", "7 for prx, 64 numbers each", "english"):
        assert part in shown
    assert "origins: jsonl:" in shown
    assert "year (number)" in shown
    assert json.loads(ses(home, "indexes", "show", "a", "--json").stdout)["papers"] == 12
    fails(ses(home, "indexes", "show", "none"), 2, "no index 'none'")


def test_a_damaged_index_does_not_hide_the_others(home):
    (home / "data/indexes/a.v1/facts.json").write_text("x")
    done = ses(home, "indexes", "list")
    assert done.returncode == 0
    damaged, whole = done.stdout.splitlines()
    assert damaged.startswith("a: The index a in ")
    assert whole.startswith("b: 7 papers")
    assert ses(home, "indexes", "drop", "a", "--yes").returncode == 0
    assert searched(home) == "b"


def test_an_empty_list_says_how_to_begin(tmp_path):
    assert ses(tmp_path, "indexes", "list").stdout == "No indexes yet; make one with `ses index --corpus NAME`.\n"
    assert json.loads(ses(tmp_path, "indexes", "list", "--json").stdout) == {"indexes": []}


def test_copies(home):
    assert ses(home, "indexes", "copy", "a", "c").stdout == "The index c is a copy of a: 12 papers.\n"
    assert searched(home, "--index", "c") == "c"
    fails(ses(home, "indexes", "copy", "a", "b"), 2, "There is an index b already", "drop it")
    fails(ses(home, "indexes", "copy", "none", "d"), 2, "no index 'none'")
    fails(ses(home, "indexes", "copy", "a", "A B"), 2, "can't be named 'A B'")


@pytest.mark.slow
def test_drop_asks_on_a_terminal_and_needs_yes_elsewhere(home):
    fails(ses(home, "indexes", "drop", "a"), 2, "say --yes to delete it")
    fails(ses(home, "indexes", "drop", "none", "--yes"), 2, "no index 'none'")
    for answer, told, left in ((b"n\n", "Nothing was deleted.\n", True), (b"y\n", "The index a is deleted.\n", False)):
        ours, theirs = pty.openpty()
        os.write(ours, answer)
        done = in_a_process(["indexes", "drop", "a"], of(home), stdin=theirs)
        os.close(ours)
        os.close(theirs)
        assert "Delete the index a with all its versions?" in done.stderr
        assert (done.returncode, done.stdout) == (0, told), done.stderr
        names = [row["name"] for row in json.loads(ses(home, "indexes", "list", "--json").stdout)["indexes"]]
        assert ("a" in names) == left


@pytest.mark.slow
def test_rollback_goes_back_once(home):
    index(home, "a", home / "a.jsonl", "--fresh", "--limit", "5")
    done = ses(home, "index", "--rollback", "--index", "a")
    assert done.stdout == "Searching version 1 of a again; the newer one is not used any more.\n"
    fails(ses(home, "index", "--rollback", "--index", "a"), 2, "no earlier version to go back to")
    assert json.loads(ses(home, "indexes", "show", "a", "--json").stdout)["papers"] == 12
    found = ses(home, "doctor", SES_MODEL=str(home / "model")).stdout
    assert "No problems found." in found
    assert "--rollback" not in found


def test_deletes(home):
    ses(home, "indexes", "use", "a")
    done = ses(home, "delete", "p00001", "p00002", "none", "p00001")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "Papers deleted from the index a: 2.\nNot in the index: 1 (none).\n"
    done = ses(home, "delete", "p00003", "--index", "b", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"index": "b", "deleted": 1, "missing": []})
    fails(ses(home, "delete", "p00003", "--index", "none"), 2, "no index 'none'")
    assert ses(home, "delete").returncode == 2
    assert "10 papers" in ses(home, "indexes", "show", "a").stdout


@pytest.mark.slow
def test_ids_to_delete_are_piped(home):
    done = in_a_process(["delete", "-", "p00003", "--index", "a"], of(home), input="p00001\n\n p00002 \n", stdin=None)
    assert (done.returncode, done.stdout) == (0, "Papers deleted from the index a: 3.\n"), done.stderr


def test_papers_that_left_the_corpus_are_told(home):
    write_jsonl(home / "a.jsonl", papers(9))
    done = index(home, "a", home / "a.jsonl")
    assert "No longer in this corpus, and still in the index: 3; --prune deletes those" in done.stdout
    assert "No longer" not in index(home, "a", home / "a.jsonl", "--limit", "4").stdout
    assert "3 deleted by pruning" in index(home, "a", home / "a.jsonl", "--prune").stdout
    assert "No longer" not in index(home, "a", home / "a.jsonl").stdout
