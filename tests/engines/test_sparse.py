"""Sparse vectors as a leg: on every engine the dot product of weights that all engines keep alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from encoders.sparse import as_weights, rounded
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, SparseField, paper_vector, sparse_field
from tests.encoders.checkpoints.sparse import make_document_only, make_splade
from tests.engines.conftest import ENGINES, another, emptied, facets_of, library_of, publish
from tests.search_plugin.filters.filtered import exact_filter
from tests.tiny import make_model, papers

TOKENS, COUNT = 400, 120
SCHEMA = IndexSchema("tiny", "0123", (paper_vector("prx", 4, "l2"),), sparse=(sparse_field(TOKENS, "splade", "4567"),))
EMPTY = "p00007"
"""A paper whose vector has no token."""


def sparse_vector(draw, most=60):
    ids = np.sort(draw.choice(TOKENS, draw.integers(1, most), replace=False))
    return rounded(np.stack([ids, draw.gamma(1.0, 1.0, len(ids)) + 1e-3], axis=1).astype(np.float32))


def documents(count=COUNT, seed=5):
    draw = np.random.default_rng(seed)
    made = []
    for paper in papers(count):
        entries = sparse_vector(draw) if paper.id != EMPTY else np.empty((0, 2), np.float32)
        prx = draw.standard_normal(4).astype(np.float32)
        made.append(Document(paper, paper.content_hash(), {"prx": prx, "sparse": entries}))
    return made


def products(documents, query):
    """The dot product with each paper, by id, best first, ties by id; without those of 0."""
    asked = as_weights(query, TOKENS).astype(float)
    found = {one.paper.id: float(as_weights(one.vectors["sparse"], TOKENS) @ asked) for one in documents}
    return dict(sorted(((id_, value) for id_, value in found.items() if value > 0), key=lambda one: (-one[1], one[0])))


def query_vector(seed=3):
    return sparse_vector(np.random.default_rng(seed), 20)


def fill(engine, name="papers"):
    return publish(engine, documents(), schema=SCHEMA, name=name)


@pytest.fixture(scope="module", params=ENGINES)
def held(request, tmp_path_factory):
    """An index that no test changes."""
    for engine in emptied(request.param, tmp_path_factory.mktemp("sparse")):
        yield fill(engine)


def found(index, query, where=None, window=COUNT, *, exact=False):
    return index.search(Plan("", (VectorClause("sparse", query),), where, window, exact))["sparse"]


def agree(hits, expected):
    assert {hit.id for hit in hits} == set(expected)
    assert [hit.score for hit in hits] == pytest.approx([expected[hit.id] for hit in hits], rel=1e-5)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_schema_and_vectors_come_back_as_written(held):
    written = {one.paper.id: one for one in documents()}
    assert held.schema == SCHEMA
    assert held.schema.legs == ("prx", "sparse")
    read = held.documents(list(written), ["prx", "sparse"])
    for id_, one in written.items():
        np.testing.assert_array_equal(read[id_].vectors["sparse"], one.vectors["sparse"])
    some = held.vectors([EMPTY, "p00001"], "sparse")
    assert some[EMPTY].shape == (0, 2)
    np.testing.assert_array_equal(some["p00001"], written["p00001"].vectors["sparse"])
    assert held.count("sparse") == held.count() == COUNT


@pytest.mark.parametrize("exact", [False, True])
def test_papers_are_ranked_by_the_dot_product(held, exact):
    for seed in range(5):
        query = query_vector(seed)
        agree(found(held, query, exact=exact), products(documents(), query))


def test_a_window_holds_the_best_and_ties_are_ordered_by_id(held):
    query = query_vector()
    best = list(products(documents(), query))
    assert [hit.id for hit in found(held, query, window=7)] == best[:7]
    (token, _), *_ = documents()[0].vectors["sparse"].tolist()
    assert len(found(held, np.array([[token, 1]], np.float32), window=1)) == 1


def test_filters_hold_and_large_weights_count(held):
    where = exact_filter("year>=2000 and not journal=Nature")
    query = query_vector(4)
    query[:, 1] *= 100  # more than a feature of Lucene may be boosted by
    kept = [one for one in documents() if (one.paper.year or 0) >= 2000 and one.paper.venue != "Nature"]
    agree(found(held, query, where), products(kept, query))


def test_a_query_without_tokens_finds_nothing_and_one_of_another_vocabulary_is_refused(held):
    assert found(held, np.empty((0, 2), np.float32)) == []
    assert found(held, np.array([[TOKENS - 1, 1.0]], np.float32)) is not None
    for wrong in (np.array([[TOKENS, 1.0]], np.float32), np.ones(TOKENS, np.float32)):
        with pytest.raises(InputError, match=r"not of the 400 tokens .* made it, splade"):
            found(held, wrong)


def test_words_vectors_and_tokens_are_legs_of_one_search(held):
    plan = Plan(
        "virus", (VectorClause("prx", np.zeros(4, np.float32)), VectorClause("sparse", query_vector())), None, 50
    )
    legs = held.search(plan)
    assert list(legs) == ["lexical", "prx", "sparse"]
    agree(legs["sparse"], dict(list(products(documents(), query_vector()).items())[:50]))
    assert facets_of(held, plan, [hit.id for hit in legs["sparse"]], ["year"], 5).matches > 50


def test_changes_and_deletions_are_seen_and_values_keep_the_tokens(engine):
    index, query = fill(engine), query_vector()
    some = documents()
    changed = documents(20, seed=9)
    index.upsert(changed)
    some[:20] = changed
    index.finish()
    agree(found(index, query), products(some, query))
    index.update({one.paper.id: {"origins": ("a", "b")} for one in some[:40]})
    index.delete([one.paper.id for one in some[30:60]])
    index.finish()
    some = [*some[:30], *some[60:]]
    agree(found(index, query), products(some, query))
    read = another(engine).open("papers")
    agree(found(read, query), products(some, query))
    np.testing.assert_array_equal(read.vectors(["p00003"], "sparse")["p00003"], some[3].vectors["sparse"])


def test_a_copy_holds_the_same_vectors(engine):
    index = fill(engine)
    copied = engine.copy("papers", "others", lambda _: None)
    assert copied.schema == index.schema
    agree(found(copied, query_vector()), products(documents(), query_vector()))
    assert engine.diagnose("others").indexes[0].troubles == ()
    (counted,) = [one for one in engine.diagnose("others").indexes[0].vectors if one.field == "sparse"]
    assert (counted.count, counted.model, counted.fingerprint) == (COUNT, "splade", "4567")


def test_vectors_that_are_not_sparse_are_refused(tmp_path):
    for engine in emptied("embedded", tmp_path):
        index = engine.build("papers", SCHEMA, "source")
        one = documents(1)[0]
        for wrong in ([[3, 1], [2, 1]], [[2, 1], [2, 1]], [[-1, 1]], [[TOKENS, 1]], [[2, 0]], [[2.5, 1]]):
            vectors = {**one.vectors, "sparse": np.array(wrong, np.float32)}
            (refused,) = index.upsert([replace(one, vectors=vectors)])
            assert "tokens in ascending order" in refused.reason


@pytest.mark.parametrize(
    ("most", "ratio", "message"), [(0, 0, "most can't be 0"), (1001, 0, "1,001"), (5, 1, "ratio can't be 1")]
)
def test_limits_of_pruning(most, ratio, message):
    with pytest.raises(InputError, match=message):
        SparseField("sparse", "sparse", 9, "dot", most=most, ratio=ratio)


@pytest.mark.parametrize(("most", "ratio"), [(1, 0), (1000, 0.999)])
def test_the_limits_of_pruning_themselves_are_allowed(most, ratio):
    assert SparseField("sparse", "sparse", 9, "dot", most=most, ratio=ratio).most == most


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A dense model, a sparse one, and a document-only one."""
    folder = tmp_path_factory.mktemp("models")
    make_model(folder / "model")
    make_splade(folder / "splade")
    make_document_only(folder / "documents")
    return folder


@pytest.mark.parametrize("kind", ["splade", "documents"])
def test_a_library_indexes_searches_updates_and_explains(engine, models, tmp_path, kind):
    library, some = library_of(engine, models, tmp_path), papers(60)
    library.index("papers", some[:50], sparse=str(models / kind), sparse_tokens=40, sparse_ratio=0.01)
    assert library.index("papers", some).new == 10  # by the index's own sparse model
    index = library["papers"]
    assert index.index.schema.sparse[0].model == str(models / kind)
    page = index.search("virus lung", size=5, mode="vector", weights={"prx": 0, "sparse": 1}, verbatim=True)
    assert set(page.found) == {"prx", "sparse"}
    held = index.index.vectors([hit.id for hit in page], "sparse")
    assert all(len(rows) <= 40 and (rows[:, 1] >= 0.01 * rows[:, 1].max()).all() for rows in held.values())
    tokens = index.tokens("virus lung", page.hits, most=1000, mode="vector", verbatim=True)
    for hit in page:
        assert sum(part.value for part in tokens[hit.id]) == pytest.approx(hit.legs["sparse"].raw, rel=1e-5)
        assert [part.value for part in tokens[hit.id]] == sorted((part.value for part in tokens[hit.id]), reverse=True)
    if kind == "documents":
        assert {part.token for parts in tokens.values() for part in parts} <= {"virus", "lung"}
    assert index.tokens("virus", page.hits, mode="lexical") == {}
    assert index.similar("p00003", size=3).found.keys() == {"prx", "sparse"}
    assert set(index.search("virus lung", rerank="complete").found) == {"lexical", "prx", "sparse"}
    assert library.index("papers", some[:55], prune=True).deleted == 5
    assert library.describe("papers").vectors == {"prx": 55, "sparse": 55}


def test_all_engines_rank_a_librarys_papers_alike(engine, models, tmp_path):
    pages = []
    for one in (engine, next(emptied("embedded", tmp_path))):
        library = library_of(one, models, tmp_path / "data")
        library.index("papers", papers(60), sparse=str(models / "splade"))
        pages.append(library["papers"].search("virus lung", size=60, mode="vector", weights={"prx": 0, "sparse": 1}))
    ours, theirs = ({hit.id: hit.legs["sparse"].raw for hit in page} for page in pages)
    assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.slow
def test_other_models_and_settings_are_refused_in_a_sentence(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    library, some = library_of(engine, models, tmp_path), papers(8)
    splade, other, dense = (str(models / name) for name in ("splade", "documents", "model"))
    with pytest.raises(InputError, match="makes no sparse vectors; name the folder"):
        library.index("papers", some, sparse=dense)
    with pytest.raises(InputError, match="makes sparse vectors, which are a leg of their own; name it with sparse"):
        library_of(engine, models, tmp_path, model=splade).index("papers", some)
    with pytest.raises(InputError, match="leave sparse_tokens out"):
        library.index("papers", some, sparse_tokens=3)
    with pytest.raises(InputError, match="sparse_tokens can't be 0; give a whole number from 1 to 1,000"):
        library.index("papers", some, sparse=splade, sparse_tokens=0)
    library.index("papers", some)
    with pytest.raises(InputError, match=r"has no sparse vectors; .* index again with fresh and sparse="):
        library.index("papers", some, sparse=splade)
    library.index("papers", some, fresh=True, sparse=splade, sparse_tokens=9)
    with pytest.raises(InputError, match=r"are of the model .*splade .* not of .*documents .*; give sparse=.*splade"):
        library.index("papers", some, sparse=other)
    with pytest.raises(InputError, match="made with sparse tokens 9; leave sparse_tokens out"):
        library.index("papers", some, sparse_tokens=8)
    with pytest.raises(InputError, match="has sparse vectors; leave sparse out"):
        library.index("papers", some, sparse="none")
    library.index("papers", some, fresh=True)
    assert library["papers"].index.schema.sparse[0].most == 9  # as before
    library.rebuild("papers", sparse=other)
    assert library["papers"].index.schema.sparse[0].model == other
    library.rebuild("papers")
    assert library["papers"].index.schema.sparse[0].model == other
    library.rebuild("papers", sparse="none")
    assert library["papers"].index.schema.legs == ("prx",)


def test_a_search_without_its_model_says_what_to_do(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    library = library_of(engine, models, tmp_path)
    moved = make_splade(tmp_path / "moved")
    library.index("papers", papers(20), sparse=str(moved))
    moved.rename(tmp_path / "elsewhere")
    fresh = library_of(engine, models, tmp_path)["papers"]
    with pytest.raises(UnavailableError, match=r"sparse vectors of the index papers are of .*moved.*weights=sparse=0"):
        fresh.search("virus")
    assert set(fresh.search("virus", weights={"sparse": 0}).found) == {"lexical", "prx"}
    assert set(fresh.search("virus", mode="lexical").found) == {"lexical"}
    assert set(fresh.similar("p00001").found) == {"prx", "sparse"}
