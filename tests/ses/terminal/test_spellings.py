"""Spellings, corrections and synonyms on the command line."""

from __future__ import annotations

import json

import pytest

from corpora.paper import Paper
from tests.commands import fails, ses
from tests.tiny import make_model, write_jsonl


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    titles = ["A virus", "Virus and lung", "The virus of bats", "A tumour"]
    write_jsonl(folder / "corpus.jsonl", [Paper(str(at), title) for at, title in enumerate(titles)])
    done = ses(folder, "index", "--corpus", "jsonl", "--path", folder / "corpus.jsonl", "--model", folder / "model")
    assert done.returncode == 0, done.stderr
    (folder / "synonyms.txt").write_text("Schnupfen => lung\n", encoding="utf-8")
    return folder


def titles(done):
    assert done.returncode == 0, done.stderr
    return [hit["paper"]["title"] for hit in json.loads(done.stdout)["hits"]]


def test_a_correction_is_shown_and_can_be_undone(home):
    asked = ("search", "viurs", "--mode", "lexical")
    assert 'No paper says "viurs": searched for "virus".' in ses(home, *asked).stdout
    assert len(titles(ses(home, *asked, "--json"))) == 3
    assert titles(ses(home, *asked, "--verbatim", "--json")) == []


def test_a_file_of_synonyms_is_an_option_or_a_setting(home):
    asked = ("search", "Schnupfen", "--mode", "lexical", "--json")
    assert titles(ses(home, *asked)) == []
    assert titles(ses(home, *asked, "--synonyms", home / "synonyms.txt")) == ["Virus and lung"]
    assert titles(ses(home, *asked, SES_SYNONYMS=str(home / "synonyms.txt"))) == ["Virus and lung"]
    fails(ses(home, *asked, "--synonyms", home / "none.txt"), 2, "can't be read (No such file or directory)")


def test_a_translation_shows_what_a_pasted_search_is_without_a_search(home):
    done = ses(home, "search", "--translate", "exp lungs/ and virus$.ti.")
    note, condition = done.stdout.splitlines()
    assert condition == "lungs AND title:virus*"
    assert note.endswith("without narrower headings.")
    as_json = json.loads(ses(home, "search", "--translate", "virus[ti] AND oxford[ad]", "--json").stdout)
    assert as_json["condition"] == "title:virus"
    assert as_json["words"] == "virus"
    assert len(as_json["notes"]) == 1
    assert "plain words" in ses(home, "search", "--translate", "lung virus").stdout
    fails(ses(home, "search", "--translate", "1 and 2"), 2, "lines of a search history")
