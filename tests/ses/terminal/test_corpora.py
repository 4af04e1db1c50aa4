"""`ses corpora check`, and what `ses index` says of the columns of a corpus."""

from __future__ import annotations

import json

import pytest

from tests.commands import fails, ses
from tests.tiny import make_model

TABLE = "Title,Erschienen,Shelf,Notes\n" + "".join(f"Bees {n},{2000 + n},R {n},\x1b[31m?\n" for n in range(3))


@pytest.fixture
def home(tmp_path):
    make_model(tmp_path / "model")
    (tmp_path / "a.csv").write_text(TABLE)
    return tmp_path


def test_a_file_is_checked_and_not_indexed(home):
    done = ses(home, "corpora", "check", home / "a.csv", "--field", "shelf=keyword")
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    assert first.endswith("a.csv as csv: 3 papers, 0 deleted, 0 rejected")
    assert lines == [
        "name        read as      records  example",
        "Title       title              3  Bees 0",
        "Erschienen  not read           3  2000",
        "Shelf       field shelf        3  R 0",
        "Notes       not read           3  [31m?",
        "Of 3 records lack: title 0, abstract 3, year 3, authors 3, venue 3, DOI 3",
        "3 of 3 records have no year, and Erschienen has years, such as 2000; try --column year=Erschienen.",
    ]
    assert "No indexes yet" in ses(home, "indexes", "list").stdout
    done = ses(home, "corpora", "check", home / "a.csv", "--column", "year=Erschienen", "--json")
    document = json.loads(done.stdout)
    assert (document["papers"], document["rejected"]) == (3, [])
    assert document["account"]["lacking"]["year"] == 0
    assert [(one["name"], one["became"]) for one in document["account"]["columns"]] == [
        ("Title", "read"),
        ("Erschienen", "read"),
        ("Shelf", "not read"),
        ("Notes", "not read"),
    ]


def test_rejected_records_give_an_exit_code_and_their_reasons(home):
    (home / "a.jsonl").write_text('{"id": 1, "Titel": "On the sleep of bees"}\n' * 5)
    done = ses(home, "corpora", "check", home / "a.jsonl")
    assert done.returncode == 1
    assert "Line 1 is rejected: The record has neither title nor abstract." in done.stdout
    assert "2 more are rejected" in done.stdout
    assert "Titel has short texts, such as On the sleep of bees; try --column title=Titel." in done.stdout


def test_what_can_not_be_checked(home):
    fails(ses(home, "corpora", "check", "https://x.example/oai"), 2, "is an address")
    fails(ses(home, "corpora", "check", home / "b.csv"), 2, "There is no file")
    (home / "c.txt").write_text("Hello")
    fails(ses(home, "corpora", "check", home / "c.txt"), 2, "It is not clear how to read")


def test_index_says_what_matters(home):
    arguments = ("index", "--corpus", "csv", "--path", home / "a.csv", "--index", "all", "--model", home / "model")
    told = ses(home, *arguments).stdout
    assert "Many papers lack: abstract 3 of 3\n" in told
    assert f"Not read: Erschienen, Shelf, Notes; `ses corpora check {home / 'a.csv'} --corpus csv` shows all\n" in told
    assert told.endswith("Erschienen has years, such as 2000; try --column year=Erschienen.\n")
    for again in ((), ("--fresh",)):  # an update, and a build that is read twice
        account = json.loads(ses(home, *arguments, *again, "--json").stdout)["account"]
        assert account["records"] == 3
        assert [one["records"] for one in account["columns"]] == [3, 3, 3, 3]
    rebuilt = ses(home, "index", "--index", "all", "--fresh", "--model", home / "model", "--json")
    assert json.loads(rebuilt.stdout)["account"] is None
