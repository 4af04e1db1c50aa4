"""`ses reviewers` and `library.reviewers` on the embedded engine."""

from __future__ import annotations

import csv
import json

import pytest

import ses as api
from corpora.paper import Paper
from tests import tiny
from tests.commands import fails, ses
from tests.encoders.checkpoints import make_sentence_transformers
from tests.tiny import make_model

PROFILES = """reviewer,id,title,abstract,authors
ada,a1,virus lung cell,protein gene,Ada Byron; Lise Meitner
ada,a2,virus infection,immune response,Ada Byron
lise,a1,virus lung cell,protein gene,Ada Byron; Lise Meitner
lise,l1,quantum star galaxy,water,Lise Meitner
rosa,r1,climate ocean soil,plant,Rosalind Franklin
"""
SUBMISSIONS = """id,title,abstract,authors,affiliation
s1,virus lung cell,protein gene,Grace Hopper,Leeds
s2,climate ocean soil,plant,Rosalind Franklin,York
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviewers")
    make_model(folder / "model")
    (folder / "profiles.csv").write_text(PROFILES)
    (folder / "submissions.csv").write_text(SUBMISSIONS)
    done = ses(folder, "reviewers", "index", "--path", folder / "profiles.csv", "--model", folder / "model", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["reviewers"], told["papers"], told["one_paper"]) == (3, 4, ["rosa"])
    return folder


def matched(home, *options):
    done = ses(home, "reviewers", "match", "--submissions", home / "submissions.csv", "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def pairs(told):
    return {(one["paper"], one["reviewer"]) for one in told["matches"]}


def test_a_submission_like_a_paper_goes_to_its_authors(home):
    told = matched(home, "--per-paper", 1, "--aggregate", "max")
    assert ("s1", "ada") in pairs(told) or ("s1", "lise") in pairs(told)
    assert told["matches"][0]["semantic"] == pytest.approx(1, abs=0.02)
    assert told["conflicts"] == {"co-author": 1}
    assert ("s2", "rosa") not in pairs(told)
    assert told["notes"] == ["1 reviewer (rosa) with one paper only: their scores rest on it alone."]


def test_people_choose_capacities_names_and_institutions(home):
    (home / "people.csv").write_text("reviewer,name,institution,capacity\nada,,Leeds,1\nlise,,,2\nnew,,,1\nrosa,,,0\n")
    told = matched(
        home, "--people", home / "people.csv", "--column", "institutions=affiliation", "--per-paper", 1, "--capacity", 0
    )
    assert pairs(told) == {("s1", "lise"), ("s2", "ada")} or pairs(told) == {("s1", "lise"), ("s2", "lise")}
    assert told["conflicts"] == {"institution": 1, "co-author": 1}
    assert told["notes"][0] == "1 reviewer (new) without papers in the index: they get no submissions."


def test_only_listed_reviewers_are_chosen_from(home):
    (home / "few.csv").write_text("reviewer,name\nlise,\n")
    assert {one["reviewer"] for one in matched(home, "--people", home / "few.csv", "--ranked")["matches"]} == {"lise"}


def test_declared_conflicts_and_factors_and_csv(home):
    (home / "conflicts.csv").write_text("paper,reviewer\ns1,ada\n")
    out = home / "out.csv"
    given = ("--conflicts", home / "conflicts.csv", "--factor", "words", "--factor", "semantic", "--combine", "ranks")
    told = matched(home, *given, "--per-paper", 1, "--fair", "--out", out)
    assert told["conflicts"]["declared"] == 1
    assert ("s1", "lise") in pairs(told)
    with out.open() as file:
        rows = list(csv.DictReader(file))
    head = ["paper", "title", "reviewer", "name", "score", "rank", "words", "semantic", "bid", "nearest"]
    assert [list(row) for row in rows] == [head] * 2
    assert next(row for row in rows if row["paper"] == "s1")["nearest"] == "virus lung cell; quantum star galaxy"
    assert {(row["paper"], row["reviewer"]) for row in rows} == pairs(told)


def test_a_match_says_who_and_why(home, tmp_path):
    (tmp_path / "people.csv").write_text("reviewer,name\nada,Ada Byron\nlise,\n")
    given = ("--people", tmp_path / "people.csv", "--per-paper", 1, "--conflicts", tmp_path / "conflicts.csv")
    (tmp_path / "conflicts.csv").write_text("paper,reviewer\ns1,lise\n")
    given += ("--factor", "words", "--html", tmp_path / "page.html")
    first = matched(home, *given)["matches"][0]
    assert (first["title"], first["reviewer"], first["name"]) == ("virus lung cell", "ada", "Ada Byron")
    assert [(near["id"], near["title"]) for near in first["nearest"]] == [
        ("a1", "virus lung cell"),
        ("a2", "virus infection"),
    ]
    assert first["nearest"][0]["similarity"] == pytest.approx(1)
    shown = ses(home, "reviewers", "match", "--submissions", home / "submissions.csv", *given).stdout.splitlines()
    assert shown[0] == "s1  virus lung cell"
    assert shown[1].startswith("  ada  Ada Byron: score ")
    assert shown[2] == "    1.000  virus lung cell (a1)"
    page = (tmp_path / "page.html").read_text()
    assert ">virus lung cell (s1)<" in page
    assert "virus lung cell (1.00); virus infection (" in page
    assert "Bars. 0 submissions, reviewers: 1.000; 2 submissions, reviewers: 1.000." in page


def test_bids_are_read_shown_and_counted(home, tmp_path):
    (tmp_path / "bids.csv").write_text("paper,reviewer,bid\ns1,rosa,Very High\ns1,lise,low\ns1,ada,\ns2,lise,0.25\n")
    given = ("--bids", tmp_path / "bids.csv", "--per-paper", 1, "--html", tmp_path / "page.html")
    told = matched(home, *given, "--bid-weight", 9)
    assert {(one["paper"], one["reviewer"]): one["bid"] for one in told["matches"]} == {
        ("s1", "rosa"): 1.0,
        ("s2", "lise"): 0.25,
    }
    assert told["worst_submission"] == "s2"
    submissions = ("--submissions", home / "submissions.csv")
    shown = ses(home, "reviewers", "match", *submissions, *given, "--bid-weight", 9).stdout
    assert "  rosa: score " in shown
    assert ", bid +1)\n" in shown
    assert "\nOf 2 reviews, 2 have a bid above 0, and 0 one below 0\n" in shown
    assert "; the worst submission, s2, has " in shown
    page = (tmp_path / "page.html").read_text()
    assert ">bid<" in page
    assert ">+0.25<" in page
    plain = ses(home, "reviewers", "match", *submissions, "--per-paper", 1, "--html", tmp_path / "page.html").stdout
    assert "bid" not in plain
    assert ">bid<" not in (tmp_path / "page.html").read_text()
    why = ("--paper", "s1", "--reviewer", "lise", "--bids", tmp_path / "bids.csv")
    assert "\nBid: -0.5\n" in ses(home, "reviewers", "explain", *submissions, *why).stdout


def test_what_can_not_be_matched_is_one_sentence(home, tmp_path):
    base = ("reviewers", "match", "--submissions", home / "submissions.csv")
    fails(ses(home, *base, "--capacity", 1, "--per-paper", 2), 2, "room for 3 reviews and 4 are needed", "--capacity")
    fails(ses(home, *base, "--factor", "topic"), 2, "has no clf vectors of its own", "leave topic out")
    index = ("reviewers", "index", "--path", home / "profiles.csv", "--index", "cosine", "--model", tmp_path / "model")
    make_sentence_transformers(tmp_path / "model", seed=4)
    assert ses(home, *index).returncode == 0
    hint = "index again with --fresh and --formats prx,clf, for vectors with the papers' words beside them"
    fails(ses(home, *base, "--factor", "topic", "--index", "cosine"), 2, "has no clf vectors of its own", hint)
    fails(ses(home, *base, "--factor", "citation"), 2, "no references", "no instruction for citation")
    (tmp_path / "c.csv").write_text("paper,reviewer\ns1,nobody\n")
    fails(ses(home, *base, "--conflicts", tmp_path / "c.csv"), 2, "no reviewer 'nobody'")
    (tmp_path / "s.csv").write_text("id,title\ns,one\ns,two\n")
    fails(ses(home, "reviewers", "match", "--submissions", tmp_path / "s.csv"), 2, "Two submissions have the id s")
    (tmp_path / "p.csv").write_text("id,title\ns,one\n")
    fails(ses(home, "reviewers", "index", "--path", tmp_path / "p.csv"), 2, "no column reviewer", "--column")
    explained = ("reviewers", "explain", "--submissions", home / "submissions.csv")
    fails(ses(home, *explained, "--paper", "x", "--reviewer", "ada"), 2, "no submission 'x'", "such as s1")
    fails(ses(home, *explained, "--paper", "s1", "--reviewer", "x"), 2, "no reviewer 'x' among the 3")


@pytest.mark.slow
def test_topics_are_compared_where_the_model_has_vectors_for_them(tmp_path):
    codes = make_model(tmp_path / "codes", codes=True)
    (tmp_path / "profiles.csv").write_text(PROFILES)
    (tmp_path / "submissions.csv").write_text(SUBMISSIONS)
    read = ("reviewers", "index", "--path", tmp_path / "profiles.csv", "--model", codes)
    asked = ("reviewers", "match", "--submissions", tmp_path / "submissions.csv", "--factor", "topic", "--ranked")
    assert ses(tmp_path, *read).returncode == 0
    fails(ses(tmp_path, *asked), 2, "holds no clf vectors, only: prx")
    assert ses(tmp_path, *read, "--index", "both", "--formats", "prx,clf").returncode == 0
    best = ("--aggregate", "max")
    told = matched(tmp_path, *asked[4:], "--index", "both", *best)
    assert told["matches"][0]["topic"] == pytest.approx(1, abs=0.02)
    # Submissions are read by the model that made the vectors of the papers.
    own = make_model(tmp_path / "own", seed=1, width=32)
    assert ses(tmp_path, "index", "--index", "both", "--fresh", "--own", f"clf={own}").returncode == 0
    told = matched(tmp_path, *asked[4:], "--index", "both", *best)
    assert told["matches"][0]["topic"] == pytest.approx(1, abs=0.02)


def test_topics_have_the_words_of_the_submissions_where_the_index_has_words(tmp_path):
    model = make_sentence_transformers(tmp_path / "model", seed=4, layers=1)
    more = "".join(f"ada,m{at},{one.title},{one.abstract},Ada Byron\n" for at, one in enumerate(tiny.papers(60)))
    (tmp_path / "profiles.csv").write_text(PROFILES + more)
    (tmp_path / "submissions.csv").write_text(SUBMISSIONS)
    read = ("reviewers", "index", "--path", tmp_path / "profiles.csv", "--model", model, "--formats", "prx,clf")
    assert ses(tmp_path, *read).returncode == 0
    told = matched(tmp_path, "--factor", "topic", "--ranked", "--aggregate", "max")
    assert told["matches"][0]["topic"] == pytest.approx(1, abs=0.02)


def test_an_explanation_names_the_nearest_papers(home):
    given = ("--paper", "s2", "--reviewer", "rosa", "--factor", "words", "--json")
    done = ses(home, "reviewers", "explain", "--submissions", home / "submissions.csv", *given)
    told = json.loads(done.stdout)
    assert told["conflict"] == "co-author"
    assert told["factors"]["words"]["rank"] == 1
    assert [near["id"] for near in told["factors"]["words"]["nearest"]] == ["r1"]
    assert told["factors"]["words"]["nearest"][0]["similarity"] == pytest.approx(1)


def test_a_paper_that_nobody_has_any_more_is_deleted(home, tmp_path):
    rows = PROFILES.splitlines(keepends=True)
    for kept, papers in ((rows[:4], 2), (rows, 4)):
        (tmp_path / "p.csv").write_text("".join(kept))
        done = ses(
            home, "reviewers", "index", "--path", tmp_path / "p.csv", "--model", home / "model", "--index", "again"
        )
        assert f"with {papers} papers" in done.stdout, done.stderr


def test_rows_without_a_reviewer_are_rejected_and_counted(home, tmp_path):
    (tmp_path / "p.csv").write_text(PROFILES + ",x,soil,,\n")
    done = ses(home, "reviewers", "index", "--path", tmp_path / "p.csv", "--model", home / "model", "--index", "other")
    assert done.returncode == 1
    assert "Rejected, line 7: It names no reviewer." in done.stdout


@pytest.mark.slow
def test_python_matches_papers_of_a_program(home, monkeypatch):
    monkeypatch.setenv("SES_DATA_DIR", str(home / "data"))
    library = api.open(cache_dir=home / "cache")
    found = library.reviewers.match([Paper("s", "virus lung cell", "protein gene")], index="reviewers", ranked=True)
    assert [one.rank for one in found.matches] == [1, 2, 3]
    assert found.matches[-1].reviewer in ("lise", "rosa")
    library.index("plain", [Paper("a", "t")])
    with pytest.raises(api.InputError, match="has no field reviewers"):
        library.reviewers.match([Paper("s", "t")], index="plain")
