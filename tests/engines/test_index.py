"""What is written is there, once, whole and searchable."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.filters.matching import matches
from tests.engines.conftest import (
    DIMENSION,
    EVERYWHERE,
    NEWEST_STORED,
    SCHEMA,
    documents,
    emptied,
    facets_of,
    filled_in,
    kept_on,
    opened,
)
from tests.search_plugin.filters.filtered import exact_filter


@pytest.fixture(params=EVERYWHERE)
def engine(request, tmp_path):
    yield from emptied(request.param, tmp_path)


kept = kept_on(EVERYWHERE)
filled = opened


def test_gives_back_papers_hashes_and_vectors_as_written(filled):
    written = {document.paper.id: document for document in documents(200)}
    ids = [*written][:50]
    assert filled.count() == 200
    assert filled.schema == SCHEMA
    assert filled.papers(ids) == {id_: written[id_].paper for id_ in ids}
    assert filled.hashes([*ids, "none"]) == {id_: written[id_].content_hash for id_ in ids}
    for field in ("prx", "clf"):
        stored = filled.vectors(ids, field)
        assert all(np.array_equal(stored[id_], written[id_].vectors[field]) for id_ in ids)


def test_upsert_replaces_by_id_and_delete_removes(engine):
    filled = filled_in(engine)
    old = documents(200)[3]
    new = Document(replace(old.paper, title="neutrino"), "other", {**old.vectors, "prx": -old.vectors["prx"]})
    filled.upsert([new])
    filled.delete(["p00004", "none"])
    filled.finish()
    assert filled.count() == 199
    assert filled.papers(["p00003"])["p00003"].title == "neutrino"
    assert filled.hashes(["p00003", "p00004"]) == {"p00003": "other"}
    found = filled.search(Plan("neutrino", (), None, 10))["lexical"]
    assert [hit.id for hit in found] == ["p00003"]


def test_new_papers_are_found_before_and_after_finish(engine):
    filled = filled_in(engine)
    paper = replace(documents(1)[0].paper, id="new", title="neutrino oscillation")
    vector = np.eye(DIMENSION, dtype=np.float32)[0]
    filled.upsert([Document(paper, "h", {"prx": vector, "clf": np.zeros(8, np.float32)})])
    plan = Plan("neutrinos", (VectorClause("prx", vector),), None, 5)
    for _ in range(2):
        legs = filled.search(plan)
        assert legs["lexical"][0].id == "new"  # found by its stem
        assert legs["prx"][0].id == "new"
        assert legs["prx"][0].score == pytest.approx(1.0, abs=1e-6)
        filled.finish()


def test_vector_leg_equals_exact_search(filled):
    written = documents(200)
    matrix = np.stack([document.vectors["prx"] for document in written])
    query = np.random.default_rng(9).standard_normal(DIMENSION).astype(np.float32)
    expected = matrix @ query / np.linalg.norm(query)
    order = np.argsort(-expected)[:20]
    hits = filled.search(Plan("", (VectorClause("prx", query),), None, 20))["prx"]
    assert [hit.id for hit in hits] == [written[i].paper.id for i in order]
    assert [hit.score for hit in hits] == pytest.approx(list(expected[order]), abs=1e-5)


def test_cosine_does_not_depend_on_the_lengths_of_vectors(engine):
    draw = np.random.default_rng(4)
    given = documents(90)
    lengths = 10.0 ** draw.uniform(-3, 3, len(given))
    matrix = np.stack([one.vectors["prx"] for one in given])
    index = engine.build("lengths", SCHEMA, "here")
    index.upsert(
        [
            Document(one.paper, one.content_hash, one.vectors | {"prx": np.float32(length) * one.vectors["prx"]})
            for one, length in zip(given, lengths, strict=True)
        ]
    )
    query = draw.standard_normal(DIMENSION).astype(np.float32)
    expected = matrix @ query / np.linalg.norm(query)
    order = np.argsort(-expected)[:20]
    for exact in (False, True):
        index.finish()
        for longer in (np.float32(0.01), np.float32(100)):
            hits = index.search(Plan("", (VectorClause("prx", longer * query),), None, 20, exact=exact))["prx"]
            assert [hit.id for hit in hits] == [given[row].paper.id for row in order]
            assert [hit.score for hit in hits] == pytest.approx(list(expected[order]), abs=1e-4)


def test_l2_scores_are_minus_the_distance(filled):
    written = documents(200)
    matrix = np.stack([document.vectors["clf"] for document in written])
    query = np.ones(8, dtype=np.float32)
    distances = np.linalg.norm(matrix - query, axis=1)
    hits = filled.search(Plan("", (VectorClause("clf", query),), None, 5))["clf"]
    assert [hit.score for hit in hits] == pytest.approx(sorted(-distances, reverse=True)[:5], abs=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "year>=2015",
        "not journal=Nature",
        "author='Ada Byron' and year<2000",
        "field in (Physics, Biology)",
        "not year exists",
    ],
)
def test_filters_hold_in_every_leg_and_in_the_counts(filled, text):
    condition = exact_filter(text)
    passing = {document.paper.id for document in documents(200) if matches(condition, document.paper)}
    assert 0 < len(passing) < 200
    query = np.ones(DIMENSION, dtype=np.float32)
    plan = Plan("virus protein cell gene lung", (VectorClause("prx", query),), condition, 200)
    legs = filled.search(plan)
    assert {hit.id for hit in legs["prx"]} == passing
    assert {hit.id for hit in legs["lexical"]} <= passing
    assert legs["lexical"]
    assert facets_of(filled, plan, passing, ["venue"], 10).matches == len(passing)


def test_ties_come_in_the_order_of_ids(engine):
    filled = filled_in(engine)
    twins = [replace(documents(1)[0].paper, id=id_, title="neutrino", abstract="") for id_ in ("z", "a", "m")]
    vector = np.eye(DIMENSION, dtype=np.float32)[1]
    filled.upsert([Document(paper, "h", {"prx": vector, "clf": np.zeros(8, np.float32)}) for paper in twins])
    legs = filled.search(Plan("neutrino", (VectorClause("prx", vector),), None, 3))
    assert [hit.id for hit in legs["lexical"]] == ["a", "m", "z"]
    assert [hit.id for hit in legs["prx"]] == ["a", "m", "z"]


def test_no_words_known_gives_no_lexical_hits(filled):
    assert filled.search(Plan("xyzzy", (), None, 10)) == {"lexical": []}
    facets = facets_of(filled, Plan("xyzzy", (), None, 10), [], ["year"], 5)
    assert (facets.matches, facets.counts) == (0, {"year": ()})


def test_facets_count_all_matches_not_the_window(filled):
    plan = Plan("virus", (), None, 3)
    with_virus = [d.paper for d in documents(200) if "virus" in f"{d.paper.title} {d.paper.abstract}".split()]
    facets = facets_of(
        filled, plan, [hit.id for hit in filled.search(plan)["lexical"]], ["venue", "authors", "year"], 3
    )
    assert facets.matches == len(with_virus) > 3

    def top(values):
        counts = {value: values.count(value) for value in set(values)}
        return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:3])

    assert facets.counts["venue"] == top([paper.venue for paper in with_virus if paper.venue])
    assert facets.counts["authors"] == top([author for paper in with_virus for author in paper.authors])
    assert facets.counts["year"] == top([paper.year for paper in with_virus if paper.year])


def test_facets_count_a_paper_once_however_often_it_says_so(engine):
    filled = filled_in(engine)
    twice = replace(documents(1)[0].paper, id="twice", title="neutrino", authors=("Ada Byron", "Bo Li", "Ada Byron"))
    vector = np.eye(DIMENSION, dtype=np.float32)[2]
    filled.upsert([Document(twice, "h", {"prx": vector, "clf": np.zeros(8, np.float32)})])
    # Both legs bring it, and so does the list of what was found.
    plan = Plan("neutrino", (VectorClause("prx", vector),), None, 1)
    facets = facets_of(filled, plan, ["twice", "twice"], ["id", "authors"], 9)
    assert facets.matches == 1
    assert facets.counts == {"id": (("twice", 1),), "authors": (("Ada Byron", 1), ("Bo Li", 1))}


def test_words_are_never_query_syntax(filled):
    with_virus = {d.paper.id for d in documents(200) if "virus" in f"{d.paper.title} {d.paper.abstract}".split()}
    assert 10 < len(with_virus) < 190
    # As syntax, most of these would match everything, match less, or be an error.
    for text in ('virus" OR *:*', "-virus", "virus~2 ^5 +(", "(virus", "virus AND NOT cell*"):
        plain = filled.search(Plan(re.sub(r"\W+", " ", text), (), None, 200))["lexical"]
        assert filled.search(Plan(text, (), None, 200))["lexical"] == plain
        assert with_virus <= {hit.id for hit in plain}
    for text in (
        "*",
        "?",
        "*:*",
        "id:p00003",
        "authors:byron",
        "vir*",
        "/vi.*/",
        "'; DROP TABLE",
        "[2000 TO *]",
        "病毒",
        "فيروس",
    ):
        assert filled.search(Plan(text, (), None, 200))["lexical"] == []
    quoted = exact_filter('venue="O\'Brien\\\\ \\"x\\" or 1=1"')
    assert filled.search(Plan("virus", (), quoted, 200))["lexical"] == []


def test_a_vector_of_another_length_is_refused_both_ways(filled):
    with pytest.raises(InputError, match=r"query's vector has 3 numbers and the index holds vectors of 16"):
        filled.search(Plan("", (VectorClause("prx", np.ones(3, np.float32)),), None, 5))
    document = documents(1)[0]
    with pytest.raises(InputError, match="gives vectors of 5 numbers and the index holds 16; index again with fresh"):
        filled.upsert([replace(document, vectors={"prx": np.ones(5, np.float32), "clf": np.ones(8, np.float32)})])
    with pytest.raises(InputError, match="holds no rgn vectors, only: prx, clf"):
        filled.search(Plan("", (VectorClause("rgn", np.ones(3, np.float32)),), None, 5))


@pytest.mark.slow
@pytest.mark.parametrize("engine", NEWEST_STORED, indirect=True)
def test_large_indexes_find_the_nearest_too_with_and_without_a_filter(engine):
    count = 6_000
    written = documents(count)
    # One vector each: a graph of so many takes a server its time.
    index = engine.build("large", replace(SCHEMA, vectors=SCHEMA.vectors[:1]), "source")
    index.upsert([replace(one, vectors={"prx": one.vectors["prx"]}) for one in written])
    index.finish()
    matrix = np.stack([document.vectors["prx"] for document in written])
    draw = np.random.default_rng(3)
    for condition in (None, exact_filter("year=1999 and journal=Nature")):
        passing = [i for i, d in enumerate(written) if condition is None or matches(condition, d.paper)]
        for _ in range(5):
            query = draw.standard_normal(DIMENSION).astype(np.float32)
            nearest = sorted(passing, key=lambda i: -float(matrix[i] @ query))[:10]
            hits = index.search(Plan("", (VectorClause("prx", query),), condition, 10))["prx"]
            assert [hit.id for hit in hits] == [written[i].paper.id for i in nearest]
