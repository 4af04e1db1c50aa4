"""What `ses index` says of papers that a corpus deletes, retracts or drops, and how `ses search` shows them."""

from __future__ import annotations

import json

import pytest

from tests.commands import fails, ses
from tests.tiny import make_model, papers, write_jsonl


@pytest.fixture
def home(tmp_path):
    make_model(tmp_path / "model")
    return tmp_path


def article(pmid, title, types="Journal Article"):
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><Journal><JournalIssue><PubDate><Year>1999</Year>"
        f"</PubDate></JournalIssue><Title>J</Title></Journal><ArticleTitle>{title}</ArticleTitle><PublicationTypeList>"
        f"<PublicationType UI='D0'>{types}</PublicationType></PublicationTypeList></Article></MedlineCitation>"
        "</PubmedArticle>"
    )


def index(home, corpus, path, *arguments):
    given = ("--corpus", corpus, "--path", home / path, "--index", "all", "--model", home / "model", *arguments)
    done = ses(home, "index", *given)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_deletion_deletes_and_a_retraction_shows(home):
    whole = article(1, "Virus in the lung", "Retracted Publication") + article(2, "Virus of the star")
    (home / "first.xml").write_text(f"<PubmedArticleSet>{whole}</PubmedArticleSet>")
    gone = "<DeleteCitation><PMID>2</PMID><PMID>3</PMID></DeleteCitation>"
    (home / "update.xml").write_text(f"<PubmedArticleSet>{gone}</PubmedArticleSet>")
    assert "2 papers\nFrom pubmed: 2 new" in index(home, "pubmed", "first.xml")
    shown = ses(home, "search", "virus").stdout
    assert "1. [retracted] Virus in the lung" in shown or "2. [retracted] Virus in the lung" in shown
    assert shown.count("retracted") == 1
    hits = json.loads(ses(home, "search", "virus", "--filter", "retracted=true", "--json").stdout)["hits"]
    assert [(hit["paper"]["id"], hit["paper"]["retracted"], hit["paper"]["origins"]) for hit in hits] == [
        ("1", True, ["pubmed"])
    ]
    told = index(home, "pubmed", "update.xml")
    assert "0 duplicates, 1 deleted by the corpus, 0 deleted by pruning, 0 rejected" in told
    report = json.loads(index(home, "pubmed", "update.xml", "--json"))
    assert (report["deletions"], report["deleted_by_corpus"], report["papers"]) == (2, 0, 1)


@pytest.mark.slow
def test_two_files_are_two_origins_unless_the_user_names_one(home):
    for name, written in (("a", papers(4)), ("b", papers(8)[2:])):
        write_jsonl(home / f"{name}.jsonl", written)
        index(home, "jsonl", f"{name}.jsonl")
    counted = ses(home, "search", "virus lung cell", "--facet", "corpus", "--json", "--mode", "vector").stdout
    a, b = (f"jsonl:{home.name}/{name}.jsonl" for name in "ab")
    assert json.loads(counted)["facets"]["counts"]["corpus"] == [[b, 6], [a, 4]]
    write_jsonl(home / "a.jsonl", papers(1))
    told = index(home, "jsonl", "a.jsonl", "--prune")
    assert f"From {a}: 0 new" in told
    assert "1 deleted by pruning" in told
    assert "No longer in this corpus, but kept since another corpus holds them: 2" in told
    # Under a name of its own, a corpus keeps its papers wherever its file lies.
    index(home, "jsonl", "a.jsonl", "--origin", "library")
    (home / "a.jsonl").rename(home / "moved.jsonl")
    assert json.loads(index(home, "jsonl", "moved.jsonl", "--origin", "library", "--prune", "--json"))["deleted"] == 0
    given = ("--corpus", "jsonl", "--path", home / "moved.jsonl", "--origin", "")
    fails(ses(home, "index", *given), 2, "An origin can't be named ''; give --origin up to 200 visible characters")
