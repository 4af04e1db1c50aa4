"""`ses search --all`: every paper of a Boolean search once, counted exactly, as a file for other programs."""

from __future__ import annotations

import csv
import io
import json

import bibtexparser
import pytest
import rispy

from corpora.paper import Paper
from tests.commands import fails, ses
from tests.tiny import make_model, write_jsonl

SUBJECTS, ANIMALS = ("cancer", "bees", "bridges"), ("mice", "humans")
PAPERS = [
    Paper(
        f"p{number:04}",
        f"{SUBJECTS[number % 3]} study {number}",
        f"About {ANIMALS[number % 2]}.",
        year=2000 + number % 7,
    )
    for number in range(2_500)
]


def about(word):
    return {paper.id for paper in PAPERS if word in paper.title + paper.abstract}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    corpus = write_jsonl(folder / "corpus.jsonl", PAPERS)
    done = ses(folder, "index", "--corpus", "jsonl", "--path", corpus, "--model", folder / "model", "--index", "t")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "matching"),
    [
        ("cancer AND mice", about("cancer") & about("mice")),
        ("(cancer OR bees) NOT mice", (about("cancer") | about("bees")) - about("mice")),
        ("NOT cancer", {paper.id for paper in PAPERS} - about("cancer")),
        ('"bees study" OR year:2003', about("bees study") | {paper.id for paper in PAPERS if paper.year == 2003}),
        ("bees", about("bees")),
        ("", {paper.id for paper in PAPERS}),
    ],
)
def test_every_paper_that_matches_is_printed_once_and_counted(home, query, matching):
    done = ses(home, "search", "--index", "t", "--all", "--format", "jsonl", "--", query)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line)["id"] for line in done.stdout.splitlines()]
    assert sorted(found) == sorted(matching)
    assert f"{len(matching):,} papers" in done.stderr.splitlines()


def test_each_format_holds_all_papers_as_one_file(home):
    printed = {
        form: ses(home, "search", "--index", "t", "--all", "--format", form, "cancer AND mice").stdout
        for form in ("ris", "bibtex", "csv")
    }
    ids = sorted(about("cancer") & about("mice"))
    assert sorted(record["id"] for record in rispy.loads(printed["ris"])) == ids
    assert sorted(row["id"] for row in csv.DictReader(io.StringIO(printed["csv"]))) == ids
    entries = bibtexparser.parse_string(printed["bibtex"]).entries
    assert len({entry.key for entry in entries}) == len(ids)


def test_a_mode_that_is_named_adds_papers_near_in_meaning(home):
    near = ses(home, "search", "--index", "t", "--all", "--mode", "hybrid", "--format", "jsonl", "bees")
    page = json.loads(ses(home, "search", "--index", "t", "--json", "bees").stdout)
    assert page["near"] > 0
    assert page["matches"] == len(about("bees"))
    assert len(near.stdout.splitlines()) == page["matches"] + page["near"]


def test_all_is_for_other_programs_and_from_the_first(home):
    fails(ses(home, "search", "--index", "t", "--all", "bees"), 2, "--format one of jsonl, csv, bibtex, ris, csl")
    fails(ses(home, "search", "--index", "t", "--all", "--json", "bees"), 2, "choose with --format one of")
    asked = ("search", "--index", "t", "--all", "--format", "ris", "--offset", "5", "bees")
    fails(ses(home, *asked), 2, "All results are read from the first one")


def test_without_notes_the_number_is_not_printed(home):
    done = ses(home, "search", "--index", "t", "--all", "--format", "ris", "--quiet", "bees")
    assert done.stderr == ""
