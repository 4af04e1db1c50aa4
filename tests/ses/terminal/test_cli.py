"""The command line as a user runs it: its output and its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ses.settings import load_settings
from tests.commands import fails, in_a_process, of, ses
from tests.tiny import make_model, papers, write_jsonl


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data folder with an index `jsonl` in it, its corpus and its model."""
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    write_jsonl(folder / "corpus.jsonl", papers(60))
    done = ses(folder, "index", "--corpus", "jsonl", "--path", folder / "corpus.jsonl", "--model", folder / "model")
    assert done.returncode == 0, done.stderr
    assert ses(folder, "indexes", "use", "jsonl").returncode == 0
    return folder


def test_searches_with_everything(home):
    done = ses(home, "search", "virus lung", "--filter", "year>=2000", "--facet", "journal", "--explain", "--size", "3")
    assert done.returncode == 0, done.stderr
    for part in (
        "  1. ",
        "lexical: rank",
        "prx: rank",
        "gives",
        "journal: ",
        "papers that hold a word of the query",
        "1 to 3 of",
        "\nretrieve: ",
        "\nrender: ",
    ):
        assert part in done.stdout
    document = json.loads(
        ses(home, "search", "virus lung", "--filter", "year>=2000", "--facet", "journal", "--json").stdout
    )
    assert len(document["hits"]) == 10
    assert all(hit["paper"]["year"] >= 2000 for hit in document["hits"])
    assert document["facets"]["counts"]["journal"]


def test_a_model_given_by_a_relative_path_is_found_from_anywhere(home, tmp_path, monkeypatch):
    given = ("--corpus", "jsonl", "--path", home / "corpus.jsonl", "--index", "relative", "--limit", "5")
    assert ses(home, "index", *given, "--model", os.path.relpath(home / "model")).returncode == 0
    monkeypatch.chdir(tmp_path)
    done = ses(home, "search", "virus", "--index", "relative")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_typed_queries_say_what_they_rule_out(home):
    def texts(*arguments):
        done = ses(home, "search", *arguments, "--json", "--size", "60", "--index", "jsonl")
        document = json.loads(done.stdout)
        return [f"{hit['paper']['title']} {hit['paper']['abstract']}".split() for hit in document["hits"]]

    found = texts("virus -lung", "--window", "60")
    assert found
    assert not any("lung" in text for text in found)
    assert any("lung" in text for text in texts("virus -lung", "--literal"))
    assert all("virus" in text and "lung" in text for text in texts("virus AND lung"))
    assert texts("virus year:2000..2004") == texts("virus", "--filter", "year>=2000 and year<=2004") != []
    assert texts("virus author:'x", "--window", "60") == texts("virus author:'x", "--literal", "--filter", "year<0")
    done = ses(home, "search", "virus year:soon")
    assert done.stdout.startswith("The value in year:soon can't be read, so it was taken as words; write year:2019 or ")


def test_finding_nothing_is_no_error_and_says_so(home):
    done = ses(home, "search", "virus", "--filter", "year>3000", "--facet", "journal")
    assert done.returncode == 0, done.stderr
    assert "Nothing found here: try other words" in done.stdout
    assert "journal: no values" in done.stdout


def test_similar_and_lexical_need_no_model(home):
    (home / "model").rename(home / "hidden")
    try:
        assert ses(home, "similar", "p00003").returncode == 0
        assert ses(home, "search", "virus", "--mode", "lexical").returncode == 0
        fails(ses(home, "search", "virus"), 2, "There is no model")
    finally:
        (home / "hidden").rename(home / "model")


def test_indexing_again_says_unchanged_in_json_alone(home):
    done = ses(home, "index", "--corpus", "jsonl", "--path", home / "corpus.jsonl", "--model", home / "model", "--json")
    assert json.loads(done.stdout)["unchanged"] == 60
    assert done.returncode == 0


def test_rejected_rows_give_exit_code_1_and_a_list(home, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"id": "a", "title": "virus"}\nnot json\n{"id": "b"}\n')
    done = ses(
        home,
        "index",
        "--corpus",
        "jsonl",
        "--path",
        tmp_path / "bad.jsonl",
        "--index",
        "bad",
        "--model",
        home / "model",
        "--json",
    )
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (report["new"], report["rejected"]) == (1, 2)
    lines = [json.loads(line) for line in Path(report["dead_letter"]).read_text().splitlines()]
    assert [line["line"] for line in lines] == [2, 3]


def test_rolls_back(home):
    given = (
        "index",
        "--corpus",
        "jsonl",
        "--path",
        home / "corpus.jsonl",
        "--index",
        "swap",
        "--model",
        home / "model",
        "--json",
    )
    assert json.loads(ses(home, *given).stdout)["generation"] == 1
    assert json.loads(ses(home, *given, "--fresh", "--limit", "5").stdout)["papers"] == 5
    assert "version 1 of swap" in ses(home, "index", "--rollback", "--index", "swap").stdout
    assert json.loads(ses(home, *given).stdout)["unchanged"] == 60


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (["index"], 2, ["--corpus NAME", "cord19"]),
        (["index", "--corpus", "arkiv"], 2, ["no corpus 'arkiv'"]),
        (["index", "--corpus", "jsonl"], 2, ["with --path"]),
        (["index", "--corpus", "jsonl", "--path", "/none.jsonl"], 2, ["There is no file /none.jsonl"]),
        (["index", "--corpus", "cord19", "--path", "x", "--column", "title=T"], 2, ["--column works with jsonl, csv"]),
        (["index", "--corpus", "csv", "--path", "x", "--column", "title"], 2, ["ATTRIBUTE=COLUMN"]),
        (["index", "--corpus", "csv", "--path", "x", "--formats", "abc"], 2, ["clf, rgn, prx, qry"]),
        (["index", "--corpus", "csv", "--path", "x", "--index", "A B"], 2, ["can't be named 'A B'"]),
        (["index", "--corpus", "csv", "--path", "x", "--model", "none"], 2, ["There is no model 'none'"]),
        (["index", "--corpus", "csv", "--path", "x", "--model", "allenai/none"], 3, ["can't be fetched from the hub"]),
        (["index", "--corpus", "csv", "--path", "x", "--engine", "solr://x"], 2, ["no engine for 'solr://x'"]),
        (["index", "--rollback"], 2, ["Say which index"]),
        (["search", "x", "--sort", "venue"], 2, ["can't be sorted by 'venue'; choose one of title, year"]),
        (["search", "--rerank", "complete"], 2, ["papers are listed and not ranked; leave --rerank out"]),
        (["search", "x", "--index", "none"], 2, ["There is no index 'none'", "jsonl"]),
        (["search", "x", "--filter", "colour=red"], 2, ["no field 'colour'", "venue", "year"]),
        (["search", "x", "--filter", "year>="], 2, ["at character 7: expected a value"]),
        (["search", "x", "--fusion", "sum"], 2, ["no fusion 'sum'"]),
        (["search", "x", "--weight", "bm25=1"], 2, ["names no leg"]),
        (["search", "x", "--weight", "lexical"], 2, ["LEG=NUMBER"]),
        (["search", "x", "--mode", "vector", "--size", "1000"], 2, ["ask for a --window of at least 1000"]),
        (["search", "x", "--rerank", "magic"], 2, ["no reranker 'magic'", "complete"]),
        (["search", "x", "--join", "engine"], 2, ["This engine can't join the legs", "let ses join them"]),
        (["search", "x", "--runtime", "tensorrt"], 2, ["no runtime 'tensorrt'"]),
        (["search", "x", "--model", "all-MiniLM-L6-v2"], 2, ["was made by the model", "all-MiniLM-L6-v2"]),
        (["similar", "none"], 2, ["holds no paper 'none'"]),
        (["eval", "retrieval", "--data", "/none"], 2, ["/none"]),
    ],
)
def test_wrong_usage_is_one_plain_sentence(home, arguments, code, parts):
    fails(ses(home, *arguments), code, *parts)


def test_a_megabyte_of_query_is_refused(home):
    # A command line holds 128 KiB an argument at most; what a shell lets through must still be refused plainly.
    fails(ses(home, "search", "a" * 100_000), 2, "The query has 100,000 characters")


def test_nothing_indexed_yet_says_how_to_begin(tmp_path):
    fails(ses(tmp_path, "search", "virus"), 2, "There is no index", "index some papers first")


def test_a_wrong_setting_says_where(home):
    fails(ses(home, "search", "x", SES_PRECISION="int4"), 2, "precision", "SES_PRECISION")
    fails(ses(home, "search", "x", SES_DATA_DIR="/dev/null/x"), 3, "can't be written")


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ses.toml").write_text('model = "file"\nruntime = "openvino"\n')
    monkeypatch.setenv("SES_MODEL", "environment")
    settings = load_settings(model=None)
    assert (settings.model, settings.runtime) == ("environment", "openvino")
    assert load_settings(model="flag").model == "flag"


@pytest.mark.slow
def test_a_process_searches_as_its_user_does(home):
    for name in ([sys.executable, "-m", "ses"], [str(Path(sys.executable).with_name("ses"))]):
        command = [*name, "search", "virus lung", "--json", "--mode", "lexical"]
        done = subprocess.run(command, capture_output=True, env=os.environ | of(home), check=True)
        assert done.stderr == b""
        hits = json.loads(ses(home, "search", "virus lung", "--json", "--mode", "lexical").stdout)["hits"]
        assert json.loads(done.stdout)["hits"] == hits
    fails(in_a_process(["search", "x", "--fusion", "sum"], of(home)), 2, "no fusion 'sum'")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device is always full here")
def test_a_full_disk_under_the_output_is_told(home):
    with Path("/dev/full").open("w") as full:
        buffered = {"PYTHONUNBUFFERED": ""}  # as for users: Python tries once more to write at exit
        done = in_a_process(["models", "list"], buffered, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 3
    assert done.stderr.startswith("Error: A disk is full")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(home):
    command = f"{sys.executable} -m ses search virus --mode lexical --json --size 50 | head -c 10"
    given = {"capture_output": True, "text": True, "check": True}
    done = subprocess.run(["/bin/bash", "-c", command], env=os.environ | of(home), **given)
    assert (len(done.stdout), done.stderr) == (10, "")


def test_words_after_a_minus_are_no_options(tmp_path):
    fails(ses(tmp_path, "search", "-masks"), 2, "No such option", "Put -- before words that begin with a minus.")
    fails(ses(tmp_path, "search", "--", "-masks"), 2, "There is no index")


def test_a_file_without_a_corpus_is_looked_at(tmp_path):
    (tmp_path / "papers").write_text('{"id": "a", "title": "Virus"}\n')
    done = ses(tmp_path, "index", "--path", tmp_path / "papers")
    fails(
        done,
        2,
        "Say what to index, with --corpus NAME",
        f"crossref, oai, index; {tmp_path / 'papers'} looks like jsonl.",
    )
    fails(ses(tmp_path, "index", "--path", tmp_path / "none"), 2, "crossref, oai, index.")
    (tmp_path / "papers").write_bytes(b"<html>")
    fails(ses(tmp_path, "index", "--path", tmp_path / "papers"), 2, "crossref, oai, index.")
