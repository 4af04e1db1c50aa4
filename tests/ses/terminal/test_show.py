"""`ses show`, and identifiers on the command line."""

from __future__ import annotations

import json

import pytest

from tests.commands import ses
from tests.tiny import make_model

ROWS = [
    {
        "id": "a",
        "title": "Virus and lung",
        "abstract": "cell",
        "doi": "10.1000/A",
        "authors": ["Toth, Eric A.", "Kim, Mi-Na"],
    },
    {"id": "b", "title": "Heart and blood", "pmid": 12345, "retracted": True, "shelf": "B 12"},
    {"id": "c", "title": "Heart and brain", "pmid": 12345},
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("show")
    make_model(folder / "model")
    (folder / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in ROWS))
    given = ["--path", folder / "rows.jsonl", "--model", folder / "model", "--field", "shelf=keyword"]
    done = ses(folder, "index", "--corpus", "jsonl", *given)
    assert done.returncode == 0, done.stderr
    return folder


def test_whole_records_are_shown_by_any_identifier(home):
    shown = ses(home, "show", "https://doi.org/10.1000/a", "b")
    assert shown.returncode == 0, shown.stderr
    first, second = shown.stdout.strip().split("\n\n")
    assert first.splitlines()[:-1] == [
        "id: a",
        "title: Virus and lung",
        "abstract: cell",
        "authors: Toth, Eric A.; Kim, Mi-Na",
        "identifiers: doi:10.1000/a",
    ]
    assert first.splitlines()[-1].startswith("origins: jsonl")
    assert (second.splitlines()[-3], second.splitlines()[-1]) == ("retracted: yes", "shelf: B 12")


def test_json_is_a_list_and_an_identifier_may_name_several(home):
    papers = json.loads(ses(home, "show", "pmid:12345", "b", "--json").stdout)
    assert [paper["id"] for paper in papers] == ["b", "c"]
    assert papers[0]["extra"] == {"shelf": "B 12"}
    assert papers[0]["identifiers"] == ["pmid:12345"]


def test_a_paper_that_is_not_there_is_an_error(home):
    done = ses(home, "show", "10.1000/none")
    assert done.returncode == 2
    assert "holds no paper '10.1000/none'" in done.stderr


def test_a_search_says_how_a_paper_was_found(home):
    done = ses(home, "search", "10.1000/A")
    assert "Found by its DOI 10.1000/a." in done.stdout
    assert "found by its DOI 10.1000/a" in done.stdout
    assert "1 to 1 of 1 candidate (looked up)" in done.stdout
    assert "Toth, Eric A.; Kim, Mi-Na" in done.stdout
    page = json.loads(ses(home, "search", "Toth EA", "--json").stdout)
    assert page["notes"] == ["Papers by Toth, Eric A., the latest first."]
    assert page["hits"][0]["known_by"] == "author"


def test_similar_takes_a_doi(home):
    done = ses(home, "similar", "doi:10.1000/a", "--json")
    assert {hit["paper"]["id"] for hit in json.loads(done.stdout)["hits"]} == {"b", "c"}
