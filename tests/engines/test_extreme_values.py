"""What is long, odd, many or somebody else's: taken whole, or refused in a sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.tree import Compare
from search_plugin.filters.matching import matches
from tests.engines.conftest import (
    CLUSTERS,
    DIMENSION,
    NEWEST_CLUSTERS,
    NEWEST_STORED,
    SCHEMA,
    documents,
    every_engine,
    facets_of,
)
from tests.search_plugin.filters.filtered import exact_filter

ODD = [
    *("a/b", "a b", " a", "A", "a", 'say "x"', "it's", "back\\slash", "a,b", "*", "?q=1&x#y", "%2e%2e", "..", "."),
    *("_all", "_doc", "-1", "null", "{}", "病毒/é👩‍🔬", "nul\0", "a\nb", "x" * 512, "x" * 600, "x" * 599 + "y"),
    "é" * 400,
]


def document(paper, row=1):
    rng = np.random.default_rng(row)
    prx, clf = (rng.standard_normal(size).astype(np.float32) for size in (DIMENSION, 8))
    return Document(paper, paper.content_hash(), {"prx": prx, "clf": clf})


def test_any_id_is_an_id(engine):
    index = engine.build("odd", SCHEMA, "source")
    written = {id_: document(Paper(id_, "neutrino", authors=("", id_)), row) for row, id_ in enumerate(ODD)}
    assert index.upsert([*written.values()]) == []
    assert index.upsert([*written.values()]) == []
    index.finish()
    assert index.count() == len(ODD) == len(set(ODD))
    assert sorted(index.ids()) == sorted(ODD)
    assert index.papers(ODD) == {id_: given.paper for id_, given in written.items()}
    assert index.hashes(ODD) == {id_: given.content_hash for id_, given in written.items()}
    stored = index.vectors(ODD, "clf")
    assert all(stored[id_].tobytes() == given.vectors["clf"].tobytes() for id_, given in written.items())
    for id_ in ODD:
        plan = Plan("neutrino", (VectorClause("prx", written[id_].vectors["prx"]),), Compare("id", "=", id_), 9, True)
        assert [[hit.id for hit in found] for found in index.search(plan).values()] == [[id_], [id_]]
        assert facets_of(index, plan, [id_], ["id"], 3).counts == {"id": ((id_, 1),)}
    index.delete(ODD[::2])
    assert sorted(index.ids()) == sorted(ODD[1::2])


@pytest.mark.slow
@pytest.mark.parametrize("engine", NEWEST_STORED, indirect=True)
def test_thousands_at_once(engine):
    count = 10_050
    written = documents(count)
    # One vector each: a graph of so many takes a server its time.
    schema = replace(SCHEMA, vectors=SCHEMA.vectors[:1])
    index = engine.build("many", schema, "source")
    assert index.upsert([replace(one, vectors={"prx": one.vectors["prx"]}) for one in written]) == []
    index.finish()
    ids = [given.paper.id for given in written]
    assert index.count() == index.count("prx") == count
    assert sorted(index.ids()) == ids
    assert index.papers(ids[:10_000]) == {given.paper.id: given.paper for given in written[:10_000]}
    matrix = np.stack([given.vectors["prx"] for given in written])
    query = np.random.default_rng(4).standard_normal(DIMENSION).astype(np.float32)
    order = [ids[row] for row in np.argsort(-(matrix.astype(np.float64) @ query))]
    plan = Plan("virus", (VectorClause("prx", query),), None, 10_000, exact=True)
    legs = index.search(plan)
    exact = [hit.id for hit in legs["prx"]]
    assert len(exact) == 10_000
    # A pair may be nearer to each other than single precision tells apart.
    assert sum(a != b for a, b in zip(exact, order, strict=False)) <= 40
    assert exact[:500] == order[:500]
    having = {g.paper.id for g in written if "virus" in f"{g.paper.title} {g.paper.abstract}".split()}
    assert {hit.id for hit in legs["lexical"]} == having
    assert facets_of(index, plan, exact, ["venue"], 3).matches == len(having | set(exact))
    index.delete(ids[:2_500])
    assert index.count() == count - 2_500
    assert index.hashes(ids[2_490:2_510]) == {g.paper.id: g.content_hash for g in written[2_500:2_510]}


@pytest.mark.slow
@every_engine
def test_a_query_may_be_as_long_as_one_is_allowed_to_be(filled):
    assert filled.search(Plan("virus " * 250, (), None, 5))["lexical"]
    assert filled.search(Plan("a" * 9_993 + " virus", (), None, 5))["lexical"]
    longest = Plan(("virus " + " ".join(map(str, range(9_999))))[:10_000], (), None, 5)
    if hasattr(filled, "cluster") and filled.cluster.product.kind == "opensearch":  # which takes 1,024 words
        with pytest.raises(InputError, match="so many words or conditions at once; shorten the query or filter"):
            filled.search(longest)
    else:
        assert filled.search(longest)["lexical"]


@every_engine
def test_many_conditions_hold_at_once(filled):
    text = "year>=1995 and year<=2020 and not journal=Nature and author exists and field in (Medicine, Biology)"
    where = exact_filter(text)
    passing = {given.paper.id for given in documents(200) if matches(where, given.paper)}
    plan = Plan("virus protein cell", (VectorClause("prx", np.ones(DIMENSION, np.float32)),), where, 200)
    assert 3 < len(passing) < 100
    assert {hit.id for hit in filled.search(plan)["prx"]} == passing
    assert facets_of(filled, plan, passing, ["venue"], 9).matches == len(passing)


@pytest.mark.parametrize("engine", CLUSTERS, indirect=True)
def test_what_a_cluster_will_not_take_is_refused_by_name(engine):
    index = engine.build("odd", SCHEMA, "source")
    good = document(Paper("good", "t"))
    zeros, nan = np.zeros(DIMENSION, np.float32), np.full(DIMENSION, np.nan, np.float32)
    refused = index.upsert(
        [
            document(Paper("long", "t", authors=("x" * 40_000,))),
            document(Paper("far", "t", year=2**40)),
            replace(document(Paper("zero", "t")), vectors={**good.vectors, "prx": zeros}),
            replace(document(Paper("nan", "t")), vectors={**good.vectors, "prx": nan}),
            Document(Paper("half", "\ud800"), "hash", good.vectors),
            good,
        ]
    )
    assert [refusal.id for refusal in refused] == ["long", "far", "zero", "nan", "half"]
    assert all("would not take it: " in refusal.reason for refusal in refused[:4])
    assert list(index.ids()) == ["good"]


@pytest.mark.parametrize("engine", NEWEST_CLUSTERS, indirect=True)
def test_names_and_documents_of_others_are_left_alone(engine):
    call = engine.cluster.call
    call("PUT", "/ses-test-foreign", {"aliases": {"ses-test-alias": {}}})
    try:
        for name in ("ses-test-foreign", "ses-test-alias"):
            with pytest.raises(InputError, match=f"index or alias {name} that ses did not make; choose another name"):
                engine.build(name, SCHEMA, "source")
        assert "ses-test-foreign" in call("GET", "/ses-test-alias")
    finally:
        call("DELETE", "/ses-test-foreign")
    index = engine.build("papers", SCHEMA, "source")
    index.upsert(documents(3))
    index.finish()
    call("PUT", f"/{index.physical}/_doc/theirs", {"title": "virus"}, params={"refresh": "true"})
    with pytest.raises(UnavailableError, match=r"holds a document.* that ses did not write"):
        index.search(Plan("virus", (), None, 10))
    call("PUT", f"/{index.physical}/_doc/theirs", {"id": "theirs", "title": "virus"}, params={"refresh": "true"})
    assert index.hashes(["theirs"]) == {"theirs": ""}
    assert index.count() - 1 == index.count("prx") == 3
    with pytest.raises(UnavailableError, match="holds a document theirs that ses did not write, or not whole"):
        index.vectors(["theirs"], "prx")
