"""Reviewers, topics and suggestions are the same on every engine."""

from __future__ import annotations

import pytest

import ses
from corpora.paper import Paper
from tests.engines.conftest import NEWEST, emptied
from tests.tiny import make_model

PROFILES = """reviewer,id,title,abstract,authors
ada,a1,virus lung cell,protein gene,Ada Byron
ada,a2,virus infection,immune response,Ada Byron
lise,a1,virus lung cell,protein gene,Lise Meitner
lise,l1,quantum star galaxy,water,Lise Meitner
rosa,r1,climate ocean soil,plant,Rosalind Franklin
"""
SUBMISSIONS = [
    Paper("s1", "virus lung cell", "protein gene", authors=("Grace Hopper",)),
    Paper("s2", "climate ocean soil", "plant", authors=("R Franklin",)),
]


@pytest.fixture(params=NEWEST)
def engine(request, tmp_path):
    yield from emptied(request.param, tmp_path)


@pytest.fixture
def library(engine, tmp_path):
    model = make_model(tmp_path / "model")
    opened = ses.open(engine.url, model=str(model), data_dir=tmp_path / "data", cache_dir=tmp_path / "cache")
    (tmp_path / "p.csv").write_text(PROFILES)
    opened.reviewers.index("reviewers", tmp_path / "p.csv")
    return opened


def test_reviewers_are_matched(library):
    found = library.reviewers.match(SUBMISSIONS, index="reviewers", factors=("semantic", "words"), ranked=True)
    by_paper = {paper: [one for one in found.matches if one.submission == paper] for paper in ("s1", "s2")}
    assert {one.reviewer for one in by_paper["s1"]} == {"ada", "lise", "rosa"}
    assert {one.reviewer for one in by_paper["s2"]} == {"ada", "lise"}
    assert found.conflicts == {"co-author": 1}
    told = library.reviewers.explain(SUBMISSIONS, "s1", "ada", index="reviewers", factors=("words",))
    assert [near.paper.id for near in told.factors["words"].nearest] == ["a1", "a2"]


def test_topics_are_written_and_counted(library):
    found = library.topics("reviewers", count=2)
    page = library["reviewers"].search("virus climate quantum", mode="lexical", facets=["topic"])
    assert dict(page.facets.counts["topic"]) == {topic.label: topic.size for topic in found.topics}


def test_suggestions_for_a_manuscript(library):
    (best, *_) = library["reviewers"].suggest("references", text="virus lung cell\nprotein gene")
    assert (best.name, best.title) == ("a1", "virus lung cell")
    assert {one.name for one in library["reviewers"].suggest("reviewers", text="virus")} == {"ada", "lise", "rosa"}
