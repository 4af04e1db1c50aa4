"""What `ses search` and `ses similar` print, and how words are given to them."""

from __future__ import annotations

import csv
import io
import json

import bibtexparser
import pytest
import rispy

from corpora.paper import Paper
from search_plugin.contract.schema import Field
from search_plugin.pages.hit import Hit
from search_plugin.pages.page import Page
from ses.terminal.printing import show_page
from tests.commands import call, fails, of, ses
from tests.encoders.checkpoints import make_cross_encoder
from tests.tiny import make_model


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    rows = [
        {"id": "a", "title": "Virus and lung", "year": 2020, "doi": "10.1000/a", "authors": ["Toth EA"]},
        {"id": "b", "title": "A virus", "year": 2022, "url": "https://example.org/b", "journal": "Nature"},
        {"id": "c", "title": "Élan of the lung", "year": 2018, "journal": "Nature"},
        {"id": "d", "title": "=Protein", "journal": "Cell"},
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = ses(folder, "index", "--corpus", "jsonl", "--path", folder / "corpus.jsonl", "--model", folder / "model")
    assert done.returncode == 0, done.stderr
    return folder


def titles(done):
    assert done.returncode == 0, done.stderr
    return [line[5:] for line in done.stdout.splitlines() if line[:3].strip().isdigit()]


def test_words_need_no_quotes_and_come_from_standard_input(home):
    quoted = ses(home, "search", "virus lung", "--mode", "lexical", "--json")
    plain = ses(home, "search", "virus", "lung", "--mode", "lexical", "--json")
    piped = call(["search", "-", "--mode", "lexical", "--json"], of(home), "virus\nlung\n")
    documents = [json.loads(done.stdout) for done in (quoted, plain, piped)]
    assert {document["query"] for document in documents} == {"virus lung"}
    assert [hit["paper"]["id"] for hit in documents[2]["hits"]] == ["a", "b", "c"]


def test_without_words_papers_are_listed(home):
    assert titles(ses(home, "search")) == ["A virus", "Virus and lung", "Élan of the lung", "=Protein"]
    assert titles(ses(home, "search", "", "--sort", "title")) == [
        "A virus",
        "Élan of the lung",
        "=Protein",
        "Virus and lung",
    ]
    done = ses(home, "search", "--filter", "journal=Nature", "--sort", "-title", "--size", "1", "--offset", "1")
    assert titles(done) == ["A virus"]
    assert "2 to 2 of 2 papers, sorted by title, the largest first, in index jsonl" in done.stdout
    nothing = ses(home, "search", "--filter", "year>3000")
    assert "Nothing found here: try a wider --filter" in nothing.stdout


def test_size_0_prints_facets_alone(home):
    done = ses(home, "search", "--size", "0", "--facet", "journal", "-q")
    assert done.stdout == "journal: Nature (2), Cell (1)\ncounted over 4 papers: all that match the filter\n"
    words = ses(home, "search", "virus", "--mode", "lexical", "--size", "0", "--facet", "journal")
    assert titles(words) == []
    assert "Nothing found" not in words.stdout
    assert "journal: Nature (1)" in words.stdout
    assert "2 candidates (2 by words)" in words.stdout


def test_quiet_prints_hits_alone_and_verbose_tells_times(home):
    sort = ("search", "virus", "--mode", "lexical", "--sort", "year")
    plain, quiet, verbose = (ses(home, *sort, *more) for more in ((), ("-q",), ("-v",)))
    assert titles(plain) == titles(quiet) == titles(verbose) == ["Virus and lung", "A virus"]
    assert plain.stdout.startswith("Only the 2 papers that the search found are sorted")
    assert "candidates" in plain.stdout
    assert "sorted" not in quiet.stdout
    assert "candidates" not in quiet.stdout
    assert "\nretrieve: " in verbose.stdout
    assert "retrieve: " not in plain.stdout
    assert ses(home, *sort, "--explain").stdout.count("ms") == verbose.stdout.count("ms") > 5


def test_links_are_shown(home):
    done = ses(home, "search", "--sort", "-year")
    assert "     2020 · Toth EA · a · https://doi.org/10.1000/a\n" in done.stdout
    assert "     2022 · Nature · b · https://example.org/b\n" in done.stdout
    assert "     2018 · Nature · c\n" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_terminal_gets_hyperlinks(home, monkeypatch):
    done = ses(home, "search", FORCE_COLOR="1", TERM="xterm-256color", NO_COLOR="")
    assert ";https://doi.org/10.1000/a\x1b\\" in done.stdout


def test_other_formats_hold_the_hits_and_nothing_else(home):
    asked = ("search", "virus", "--mode", "lexical", "--sort", "year")
    out = {form: ses(home, *asked, "--format", form) for form in ("json", "jsonl", "csv", "bibtex", "ris")}
    assert [hit["paper"]["id"] for hit in json.loads(out["json"].stdout)["hits"]] == ["a", "b"]
    assert json.loads(out["json"].stdout)["notes"]
    assert [json.loads(line)["id"] for line in out["jsonl"].stdout.splitlines()] == ["a", "b"]
    assert [row["id"] for row in csv.DictReader(io.StringIO(out["csv"].stdout))] == ["a", "b"]
    assert [entry.key for entry in bibtexparser.parse_string(out["bibtex"].stdout).entries] == [
        "toth2020virus",
        "2022virus",
    ]
    assert [record["id"] for record in rispy.loads(out["ris"].stdout)] == ["a", "b"]
    notes = {form: done.stderr for form, done in out.items()}
    assert notes.pop("json") == ""
    assert all("Only the 2 papers" in note for note in notes.values())
    assert ses(home, *asked, "--format", "csv", "--quiet").stderr == ""
    assert (
        ses(home, *asked, "--json").stdout.split('"milliseconds"')[0] == out["json"].stdout.split('"milliseconds"')[0]
    )
    assert rispy.loads(ses(home, "similar", "a", "--format", "ris").stdout)[0]["id"] != "a"
    formula = ses(home, "search", "protein", "--mode", "lexical", "--format", "csv", "-q").stdout
    assert ",'=Protein," in formula
    fails(ses(home, "search", "x", "--format", "docx"), 2, "'docx' is not one of 'text', 'json', 'jsonl'")


def test_a_model_ranks_again_and_explains_it(home):
    make_cross_encoder(home / "cross")
    given = (
        "search",
        "virus",
        "--rerank",
        home / "cross",
        "--rerank-depth",
        "2",
        "--rerank-budget",
        "60s",
        "--explain",
    )
    done = ses(home, *given)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("rerank: rank ") == 2
    first = done.stdout.split("rerank: rank 1, raw score ")[1].split(",")[0]
    assert f"score {first}\n" in done.stdout
    refused = ses(home, "search", "virus", "--rerank", home / "model")
    assert (refused.returncode, "is no reranker: its weights lack the head" in refused.stderr) == (2, True)


def test_added_values_are_told_as_people_read_them(capsys):
    fields = [
        *(Field(name, "number", origin="forecast") for name in ("impact", "impact_low", "impact_high")),
        *(Field("topic", "keyword"), Field("topic_x", "number"), Field("topic_y", "number")),
        *(Field("price", "number"), Field("price_low", "number"), Field("size_x", "number")),
    ]
    extra = {"impact": 71.6, "impact_low": 2.5, "impact_high": 98.3, "topic": "masks", "topic_x": 0.1, "topic_y": 0.2}
    extra |= {"price": 5, "price_low": 4, "size_x": 3}
    hit = Hit(1, Paper("a", "t", extra=extra), 1.0, {}, ())
    page = Page("i", "q", "lexical", "", "ses", (hit,), 1, 1, {}, None, {})
    show_page(page, {"as_json": False, "form": "text", "explain": False, "quiet": True}, fields=fields)
    assert capsys.readouterr().out.splitlines()[2] == (
        "     impact: forecast to be cited more than 72% of papers of its field and year (2 to 98) · topic: masks · "
        "price: 5 · price_low: 4 · size_x: 3"
    )
