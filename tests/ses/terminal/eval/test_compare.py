"""`ses eval compare`, and `--report` of `ses eval retrieval`, as a user runs them."""

from __future__ import annotations

import json
import sys

import pytest

from corpora.checksums import sha256_of
from corpora.paper import Paper
from tests.beir_folders import write_beir
from tests.commands import fails, ses
from tests.tiny import make_model


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A BEIR folder, a model, and two runs that differ in one query of three."""
    folder = tmp_path_factory.mktemp("compare")
    make_model(folder / "model")
    texts = {"d1": "virus in the lung", "d2": "star and galaxy", "d3": "soil and water", "d4": "heart and blood"}
    written = [Paper(name, text, f"{text} of a study") for name, text in texts.items()]
    queries = {"q1": "virus <lung>", "q2": "galaxy", "q3": "water"}
    judged = {"q1": {"d1": 1}, "q2": {"d2": 1}, "q3": {"d3": 1, "gone": 1}}
    write_beir(folder / "data-set", written, queries, test=judged)
    (folder / "base.trec").write_text("q1 Q0 d4 1 2 t\nq1 Q0 d1 2 1 t\nq2 Q0 d2 1 1 t\nq9 Q0 d1 1 1 t\n")
    (folder / "new.trec").write_text("q1 Q0 d1 1 2 t\nq2 Q0 d2 1 1 t\nq2 Q0 nowhere 2 0 t\n")
    return folder


def compare(home, *arguments):
    return ses(home, "eval", "compare", home / "base.trec", home / "new.trec", *arguments)


def test_prints_means_differences_changes_and_what_is_missing(home):
    done = compare(home, "--data", home / "data-set", "--measure", "MRR", "--measure", "P@1", "--top", "1")
    assert done.returncode == 0, done.stderr
    for line in (
        "Queries that changed: MRR, base to new",
        "q1     virus <lung>  0.500  1.000  +0.500",
        "the 1 largest of 1 changes; 2 queries have the same value in both",
        "base lacks judged queries: q3",
        "base has queries without judgments: q9",
        "judged documents not in the corpus: 1",
    ):
        assert line in done.stdout.splitlines()
    assert "corrected for all 2 comparisons" in done.stdout
    assert "few queries (1 differ): p randomization can't be below 1.0000 there, and is too small" in done.stdout


def test_json_and_a_report_at_once(home, tmp_path):
    done = compare(home, "--qrels", home / "data-set/qrels/test.tsv", "--json", "--report", tmp_path / "r.html")
    told = json.loads(done.stdout)
    (pair,) = told["pairs"]
    assert (pair["measure"], pair["baseline"], pair["run"], pair["better"]) == ("nDCG@10", "base", "new", 1)
    # One query of three differs: both ways of giving it its values are as far apart.
    assert pair["p_randomization"] == 1.0
    assert told["coverage"]["new"]["unjudged_documents"] == 1
    assert told["coverage"]["base"]["missing_queries"] == ["q3"]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("<svg ") == 2
    assert "base.trec" in page
    options = ("--seed", "7", "--resamples", "300", "--report", tmp_path / "r.json")
    compare(home, "--qrels", home / "data-set/qrels/test.tsv", *options)
    made = json.loads((tmp_path / "r.json").read_text())["provenance"]
    assert made["settings"] == {"resamples": "300", "seed": "7", "drop_same_id": "False"}
    files = [home / name for name in ("base.trec", "new.trec", "data-set/qrels/test.tsv")]
    assert made["data"] == {str(path): sha256_of(path) for path in files}


def test_runs_of_the_same_name_go_by_their_paths(home, tmp_path):
    other = tmp_path / "base.trec"
    other.write_text((home / "new.trec").read_text())
    arguments = ("--qrels", home / "data-set/qrels/test.tsv", "--json")
    told = json.loads(ses(home, "eval", "compare", home / "base.trec", other, *arguments).stdout)
    assert [told["pairs"][0][side] for side in ("baseline", "run")] == [str(home / "base.trec"), str(other)]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["base.trec", "--qrels", "data-set/qrels/test.tsv"], ["two run files or more"]),
        (["base.trec", "new.trec"], ["no judgments", "--qrels", "--data"]),
        (["base.trec", "new.trec", "--qrels", "x", "--data", "y"], ["given twice", "either --qrels or --data"]),
        (["base.trec", "base.trec", "--qrels", "data-set/qrels/test.tsv"], ["given twice"]),
        (["base.trec", "none.trec", "--qrels", "data-set/qrels/test.tsv"], ["no file", "none.trec"]),
        (["base.trec", "new.trec", "--qrels", "data-set/qrels/test.tsv", "--measure", "F1"], ["no measure 'F1'"]),
        (["base.trec", "new.trec", "--data", "data-set", "--split", "dev"], ["no split 'dev'", "test"]),
        (["base.trec", "new.trec", "--qrels", "x", "--report", "r.pdf"], [".md, .html, .tex, .json"]),
    ],
)
def test_wrong_usage_is_one_plain_sentence(home, arguments, parts):
    placed = [home / one if "." in one or one == "data-set" else one for one in arguments]
    fails(ses(home, "eval", "compare", *placed), 2, *parts)


def test_retrieval_writes_a_report_that_names_model_and_engine(home, tmp_path):
    from encoders.registry import find_model

    given = ("--data", home / "data-set", "--model", home / "model", "--mode", "lexical", "--mode", "vector")
    done = ses(home, "eval", "retrieval", *given, "--report", tmp_path / "r.json")
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "r.json").read_text())
    made = told["provenance"]
    assert list(made["models"].values()) == [find_model(str(home / "model")).card.fingerprint]
    assert made["engine"].lower().startswith("tantivy")
    assert made["runtime"].startswith("onnx")
    assert made["python"] == ".".join(map(str, sys.version_info[:3]))
    assert str(home / "data-set" / "qrels" / "test.tsv") in made["data"]
    assert [row["mode"] for row in told["rows"]] == ["lexical", "vector"]
    assert {pair["measure"] for pair in told["pairs"]} == {"nDCG@10", "MAP", "Recall@100", "MRR@10"}
    assert set(told["per_unit"]["lexical"]["MAP"]) == {"q1", "q2", "q3"}
    assert told["seconds"].keys() == {"lexical", "vector"}
    assert all(seconds > 0 for seconds in told["seconds"].values())
