"""What the embedded engine does otherwise in a large index: the results are those of a small one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, TermGroup, TermVariant, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.embedded import legs
from search_plugin.engines.embedded import queries as word_queries
from search_plugin.engines.registry import connect
from search_plugin.filters.parse import parse_filter
from search_plugin.request import SearchRequest
from search_plugin.search import search

SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", 4, "cosine"),))
COMMON = ["cell", "gene", "lung", "heart", "brain"]
GROUPS = {
    "a rare word": TermGroup("gene", (TermVariant("locus"),)),
    "a rare phrase": TermGroup("heart", (TermVariant("cardiac organ", 0.5),)),
    "two": TermGroup("brain lung", (TermVariant("locus"), TermVariant("cardiac organ"))),
    "a frequent word": TermGroup("gene", (TermVariant("cell"),)),
    "a word of no paper": TermGroup("gene", (TermVariant("genes"), TermVariant("nothing"))),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    draw = random.Random(0)

    def text(number):
        words = draw.choices(COMMON, k=draw.randint(3, 12))
        if number % 300 == 0:
            words.insert(draw.randrange(len(words)), "locus")
        if number % 250 == 0:
            words.insert(draw.randrange(len(words)), "cardiac organ")
        return " ".join(words)

    index = connect(f"embedded:{tmp_path_factory.mktemp('large')}").build("papers", SCHEMA, "s")
    papers = [Paper(f"{number:04}", text(number), text(number), year=1900 + number % 100) for number in range(1_200)]
    vectors = np.random.default_rng(0).normal(size=(len(papers), 4)).astype(np.float32)
    index.upsert([Document(paper, "h", {"prx": vector}) for paper, vector in zip(papers, vectors, strict=True)])
    return index


def as_large(monkeypatch, papers):
    monkeypatch.setattr(word_queries, "LARGE", papers)


def found(index, plan):
    return {name: [(hit.id, pytest.approx(hit.score)) for hit in hits] for name, hits in index.search(plan).items()}


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("where", ["", "year>=1950"])
def test_both_legs_find_the_same(index, group, where, monkeypatch):
    clause = VectorClause("prx", np.ones(4, np.float32))
    filtered = parse_filter(where, SCHEMA.fields) if where else None
    plan = Plan(f"lung {group.typed}", (clause,), filtered, 400, plain="lung", groups=(group,))
    as_large(monkeypatch, 10**9)
    expected = index.search(plan)
    as_large(monkeypatch, 0)
    assert found(index, plan) == {name: [(hit.id, hit.score) for hit in hits] for name, hits in expected.items()}


@pytest.mark.parametrize(
    ("where", "window", "spare", "asked"),
    [
        ("year>=1950", 20, 1.5, [60]),  # half of the papers pass, so twice as many are looked for, and some more
        ("year<1910", 20, 1.5, [300]),
        ("year<1909", 20, 1.5, [20]),  # too few pass
        ("year>=1950", 20, 0.6, [24, 20]),  # not enough of those found pass
        ("year>=1950", 1_000, 1.5, [3_000]),  # all are found
        ("title says heart", 20, 1.5, [20]),  # which papers pass is not known without asking tantivy for each
        ("year>=1950 AND NOT title says heart", 20, 1.5, [20]),
        ("", 20, 1.5, [20]),
    ],
)
def test_the_best_that_pass_a_filter_are_looked_for_among_the_best(index, where, window, spare, asked, monkeypatch):
    sizes, best = [], legs._best
    monkeypatch.setattr(legs, "_SPARE", spare)
    plan = Plan("lung gene", (), parse_filter(where, SCHEMA.fields) if where else None, window, plain="lung gene")
    as_large(monkeypatch, 10**9)
    expected = index.search(plan)
    as_large(monkeypatch, 0)
    monkeypatch.setattr(legs, "_best", lambda *given: sizes.append(given[-1]) or best(*given))
    assert found(index, plan) == {name: [(hit.id, hit.score) for hit in hits] for name, hits in expected.items()}
    assert sizes == asked


@pytest.mark.parametrize(
    ("group", "queries"), [("a rare word", 2), ("two", 2), ("a frequent word", 1), ("a word of no paper", 1)]
)
def test_only_rare_spellings_are_searched_by_themselves(index, group, queries, monkeypatch):
    as_large(monkeypatch, 0)
    plan = Plan("lung", (), None, 10, plain="lung", groups=(GROUPS[group],))
    searcher = index._snapshot().searcher
    assert len(word_queries.ranking(index._words, searcher, plan)) == queries
    as_large(monkeypatch, 10**9)
    assert len(word_queries.ranking(index._words, searcher, plan)) == 1


def test_an_error_in_the_other_leg_is_told(index, monkeypatch):
    as_large(monkeypatch, 0)
    with pytest.raises(InputError, match="has 3 numbers and the index holds vectors of 4"):
        index.search(Plan("lung", (VectorClause("prx", np.ones(3, np.float32)),), None, 10))


def test_a_query_of_identifiers_alone_has_no_legs(index, monkeypatch):
    as_large(monkeypatch, 0)
    assert [hit.paper.id for hit in search(index, SearchRequest("0007")).hits] == ["0007"]


def test_the_legs_run_at_the_same_time(index, monkeypatch):
    import threading

    as_large(monkeypatch, 0)
    together = threading.Barrier(2, timeout=20)
    for name in ("lexical_leg", "vector_leg"):
        run = getattr(legs, name)
        monkeypatch.setattr(legs, name, lambda *given, run=run: (together.wait(), run(*given))[1])
    assert len(index.search(Plan("lung", (VectorClause("prx", np.ones(4, np.float32)),), None, 10))) == 2
