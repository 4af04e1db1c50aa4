"""Vectors of passages, many for each paper: a paper is as near as its nearest passage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import PAPER_FIELDS, Field, IndexSchema, VectorField, paper_vector
from search_plugin.engines.cluster.diagnosis.indexes import estimate_index
from search_plugin.engines.cluster.dialect import GRAPH
from search_plugin.filters.matching import matches
from tests.conftest import SERVERS
from tests.engines.conftest import ENGINES, another, emptied, facets_of, publish
from tests.search_plugin.filters.filtered import exact_filter
from tests.tiny import papers

COUNT, WIDTH = 120, 8
PASSAGES = VectorField("vector_rgn_passages", "rgn", WIDTH, "cosine", "passage")
FIELDS = (*PAPER_FIELDS, Field("shelf", "keyword"))
SCHEMA = IndexSchema("tiny", "0123", (paper_vector("prx", 4, "l2"), PASSAGES), fields=FIELDS)
ALONE = "p00007"
"""A paper without passages."""


def documents():
    draw = np.random.default_rng(5)
    made = []
    for number, paper in enumerate(papers(COUNT)):
        count = 0 if paper.id == ALONE else 1 + number % 5
        passages = draw.standard_normal((count, WIDTH)).astype(np.float32)
        prx = draw.standard_normal(4).astype(np.float32)
        made.append(Document(paper, paper.content_hash(), {"prx": prx, "rgn": passages}))
    return made


def best(documents, query, similarity="cosine"):
    """The closeness of each paper's nearest passage, by id, by the formula."""
    found = {}
    for one in documents:
        rows = one.vectors["rgn"].astype(float)
        if not len(rows):
            continue
        if similarity == "l2":
            found[one.paper.id] = -np.linalg.norm(rows - query, axis=1).min()
        else:
            found[one.paper.id] = (rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)).max()
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def query_vector(seed=3):
    return np.random.default_rng(seed).standard_normal(WIDTH).astype(np.float32)


def fill(engine, schema=SCHEMA, name="papers"):
    return publish(engine, documents(), schema=schema, name=name)


@pytest.fixture(scope="module", params=ENGINES)
def passages(request, tmp_path_factory):
    """An index that no test changes."""
    for engine in emptied(request.param, tmp_path_factory.mktemp("passages")):
        yield fill(engine)


def nearest(index, query, where=None, window=COUNT, *, exact=False):
    return index.search(Plan("", (VectorClause("rgn", query),), where, window, exact))["rgn"]


def test_passages_and_the_schema_come_back_as_written(passages):
    written = {one.paper.id: one for one in documents()}
    assert passages.schema == SCHEMA
    assert (passages.count(), passages.count("prx"), passages.count("rgn")) == (COUNT, COUNT, COUNT - 1)
    held, read = passages.vectors(list(written), "rgn"), passages.documents(list(written), ["rgn", "prx"])
    for id_, one in written.items():
        assert held[id_].shape == one.vectors["rgn"].shape
        np.testing.assert_allclose(held[id_], one.vectors["rgn"], atol=1e-6)
        np.testing.assert_allclose(read[id_].vectors["rgn"], one.vectors["rgn"], atol=1e-6)
        assert read[id_].vectors["prx"].shape == (4,)


@pytest.mark.parametrize("exact", [False, True])
def test_a_paper_is_as_near_as_its_nearest_passage_and_found_once(passages, exact):
    for seed in range(3):
        expected = best(documents(), query_vector(seed))
        hits = nearest(passages, query_vector(seed), exact=exact)
        assert [hit.id for hit in hits] == list(expected)
        assert [hit.score for hit in hits] == pytest.approx(list(expected.values()), abs=1e-5)
        few = nearest(passages, query_vector(seed), window=7, exact=exact)
        assert [hit.id for hit in few] == list(expected)[:7]


@pytest.mark.parametrize(
    "text",
    [
        "year>=2015",
        "not year=2015",
        "not journal=Nature",
        "journal exists",
        "not year exists",
        "year<2000 or not author='Ada Byron'",
        "author='Ada Byron' and not journal=Nature",
        "id in (p00001, p00002, p00007)",
        "text says virus",
        "not text says virus",
    ],
)
def test_filters_are_of_papers_and_hold_inside_the_search(passages, text):
    where = exact_filter(text)
    passing = [one for one in documents() if matches(where, one.paper)]
    expected = best(passing, query_vector())
    assert 0 < len(expected) < COUNT - 1
    for exact in (False, True):
        hits = nearest(passages, query_vector(), where, exact=exact)
        assert [hit.id for hit in hits] == list(expected)
        few = nearest(passages, query_vector(), where, 2, exact=exact)
        assert [hit.id for hit in few] == list(expected)[:2]


def test_papers_are_counted_and_listed_not_passages(passages):
    plan = Plan("virus", (VectorClause("rgn", query_vector()),), exact_filter("not year=2015"), COUNT, column="venue")
    legs = passages.search(plan)
    passing = {one.paper.id: one.paper for one in documents() if one.paper.year != 2015}
    assert {hit.id for hit in legs["rgn"]} == passing.keys() - {ALONE}
    assert all(hit.value == passing[hit.id].venue for hit in legs["rgn"] if hit.value)
    facets = facets_of(passages, plan, passing, ["year"], 5)
    assert facets.matches == len(passing)
    assert sorted(passages.ids()) == sorted(one.paper.id for one in documents())


def test_updates_keep_passages_and_deletions_remove_them(engine):
    index = fill(engine)
    first, second, third = list(best(documents(), query_vector()))[:3]
    assert index.update({first: {"shelf": "A 1"}, "none": {"shelf": "B"}}) == ["none"]
    written = {one.paper.id: one for one in documents()}
    fewer = replace(written[third], vectors={**written[third].vectors, "rgn": -written[third].vectors["rgn"][:1]})
    index.delete([second])
    assert index.upsert([fewer]) == []
    index.finish()
    np.testing.assert_allclose(index.vectors([first], "rgn")[first], written[first].vectors["rgn"], atol=1e-6)
    assert index.vectors([third], "rgn")[third].shape == (1, WIDTH)
    assert nearest(index, query_vector(), exact_filter("shelf='A 1'", FIELDS))[0].id == first
    changed = [one for one in documents() if one.paper.id not in (second, third)]
    expected = best([*changed, fewer], query_vector())
    for exact in (False, True):
        hits = nearest(index, query_vector(), exact=exact)
        assert [hit.id for hit in hits] == list(expected)
    assert (index.count(), index.count("rgn")) == (COUNT - 1, COUNT - 2)


def test_an_index_with_passages_is_opened_resumed_copied_and_diagnosed(engine):
    fill(engine)
    assert another(engine).open("papers").schema == SCHEMA
    again = engine.build("next", SCHEMA, "source")
    assert another(engine).build("next", SCHEMA, "source").generation == again.generation
    copied = engine.copy("papers", "twin", lambda _: None)
    assert [hit.id for hit in nearest(copied, query_vector())] == list(best(documents(), query_vector()))
    (state,) = [one for one in engine.diagnose("papers").indexes if one.name == "papers"]
    assert state.troubles == ("In the index papers, 1 of 120 papers have no rgn vector; index again with <fresh>.",)
    assert {one.field: one.count for one in state.vectors} == {"prx": COUNT, "rgn": COUNT - 1}
    if hasattr(engine, "cluster"):  # which keeps graphs of all passages in memory
        passages = sum(len(one.vectors["rgn"]) for one in documents())
        expected = estimate_index(SCHEMA, {"prx": COUNT, "rgn": passages}, GRAPH["m"], "none")
        assert state.details["memory_bytes"] == expected


def test_passages_of_another_length_are_refused(engine):
    index = engine.build("papers", SCHEMA, "source")
    one = documents()[0]
    with pytest.raises(InputError, match="gives vectors of 5 numbers and the index holds 8; index again with fresh"):
        index.upsert([replace(one, vectors={**one.vectors, "rgn": np.ones((2, 5), np.float32)})])
    with pytest.raises(InputError, match="query's vector has 3 numbers and the index holds vectors of 8"):
        nearest(index, np.ones(3, np.float32))


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "embedded"], indirect=True)
def test_quantized_passages_are_ranked_by_their_float_vectors(engine):
    quantized = replace(PASSAGES, similarity="l2")
    index = fill(engine, replace(SCHEMA, vectors=(quantized,), quantization="int8"))
    where = exact_filter("not year=2015")
    passing = [one for one in documents() if matches(where, one.paper)]
    expected = best(passing, query_vector(), "l2")
    hits = nearest(index, query_vector(), where, 10)
    assert [hit.score for hit in hits] == pytest.approx([expected[hit.id] for hit in hits], abs=1e-4)
    assert len({hit.id for hit in hits} & set(list(expected)[:10])) >= 9


@pytest.mark.parametrize(
    "engine", [pytest.param(n, marks=getattr(pytest.mark, n)) for n in SERVERS if n.startswith("open")], indirect=True
)
def test_opensearch_joins_a_leg_of_passages(engine):
    index = fill(engine)
    plan = Plan("virus", (VectorClause("rgn", query_vector()),), exact_filter("not year=2015"), COUNT)
    joined = index.rank(plan, "rrf", {"lexical": 1.0, "rgn": 1.0})
    legs = index.search(plan)
    assert {hit.id for hit in joined.fused} == {hit.id for hits in legs.values() for hit in hits}
