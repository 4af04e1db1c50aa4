"""The same papers, vectors and questions in every cluster and in the embedded engine give the same answers."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from corpora.paper import Accepted
from corpora.registry import get_corpus
from eval.measures.metrics import evaluate
from eval.retrieval.beir import BeirFolder
from eval.trec.runs import Run
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.registry import connect
from tests.conftest import server_url
from tests.engines.conftest import CLUSTERS, NEWEST_CLUSTERS, facets_of, forget
from tests.search_plugin.filters.filtered import PAPERS, exact_filter, expected
from tests.search_plugin.filters.test_filters import FIELDS, filters

WIDTH = 32
SCHEMA = IndexSchema("random", "0123", (paper_vector("prx", WIDTH, "cosine"), paper_vector("clf", WIDTH, "l2")))
FACETS = ("year", "venue", "types", "fields", "authors", "language", "retracted", "origins")


def vectors(count, seed=0):
    rows = np.random.default_rng(seed).standard_normal((count, WIDTH)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def fill(engine, name, papers, fields=()):
    forget(engine, name)
    index = engine.build(name, SCHEMA.with_fields(fields), "source")
    both = zip(papers, vectors(len(papers)), vectors(len(papers), 1), strict=True)
    assert index.upsert([Document(paper, "h", {"prx": prx, "clf": 3 * clf}) for paper, prx, clf in both]) == []
    index.finish()
    return index


def read(corpus, path, limit=None):
    return [record.paper for record in islice(get_corpus(corpus).read(path, {}), limit) if isinstance(record, Accepted)]


@pytest.fixture(scope="module")
def corpora():
    # The papers are read once for all, and `data_dir` is a test's own.
    root = Path(os.environ["SES_TEST_DATA"])
    return {
        "scifact": read("beir", BeirFolder(root / "eval" / "scifact").corpus),
        "pubmed": read("jsonl", root / "train" / "pubmed.jsonl.xz", 2_000),
    }


@pytest.fixture(scope="module")
def embedded(corpora, tmp_path_factory):
    engine = connect(f"embedded:{tmp_path_factory.mktemp('parity')}")
    return {name: fill(engine, f"parity-{name}", papers) for name, papers in corpora.items()}


@pytest.fixture(scope="module", params=NEWEST_CLUSTERS)
def cluster(request, corpora):
    engine = connect(server_url(request.param))
    yield {name: fill(engine, f"parity-{name}", papers) for name, papers in corpora.items()}
    for name in corpora:
        engine.drop(f"parity-{name}")


def agree(ours, theirs):
    """The same papers in the same order, but for those whose scores single precision can't tell apart."""
    assert len(ours) == len(theirs)
    assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], abs=1e-5)
    scores = {hit.id: hit.score for hit in ours}
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.id == other.id or math.isclose(scores.get(other.id, ours[-1].score), mine.score, abs_tol=1e-6)


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("name", ["scifact", "pubmed"])
def test_vector_legs_are_equal(embedded, cluster, name):
    where = exact_filter("year>=1979 and not type=Review and author exists") if name == "pubmed" else None
    for query in vectors(25, 2):
        for condition in {None, where}:
            plan = Plan("", (VectorClause("prx", query), VectorClause("clf", query)), condition, 100, exact=True)
            ours, theirs = (side[name].search(plan) for side in (embedded, cluster))
            for leg in plan.legs:
                agree(ours[leg], theirs[leg])
                assert len(ours[leg]) == 100


@pytest.mark.usefixtures("data_dir")
def test_words_rank_equally_well(embedded, cluster, data_dir):
    judged = BeirFolder(data_dir / "eval" / "scifact").judged("test")
    means = []
    for side in (embedded, cluster):
        plans = {id_: Plan(text, (), None, 100) for id_, text in judged.texts.items()}
        found = {id_: side["scifact"].search(plan)["lexical"] for id_, plan in plans.items()}
        run = Run("lexical", {id_: [(hit.id, hit.score) for hit in hits] for id_, hits in found.items()})
        means.append(evaluate(run, judged.qrels, ["nDCG@10"]).means["nDCG@10"])
    assert min(means) > 0.66
    assert means[0] == pytest.approx(means[1], abs=0.01)


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("words", ["", "carcinoma", "insulin secretion", "serum antibodies", "cell membrane protein"])
def test_counts_are_equal(embedded, cluster, words):
    for query in vectors(5, 3):
        plan = Plan(words, (VectorClause("prx", query),), exact_filter("year>=1970"), 150, exact=True)
        counts = []
        for side in (embedded, cluster):
            legs = side["pubmed"].search(plan)
            found = {hit.id for leg in legs.values() for hit in leg}
            counts.append(facets_of(side["pubmed"], plan, found, FACETS, 10))
        assert counts[0] == counts[1]
        assert counts[0].matches >= 150


@pytest.fixture(params=["embedded", *CLUSTERS])
def odd_papers(request, tmp_path):
    url = f"embedded:{tmp_path}" if request.param == "embedded" else server_url(request.param)
    engine = connect(url)
    added = [field for field in FIELDS if field.origin != "paper"]
    yield fill(engine, "parity-odd", [replace(paper, title="virus") for paper in PAPERS], added)
    engine.drop("parity-odd")


def test_filters_mean_the_same_in_every_leg(odd_papers):
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(where=filters)
    def finds(where):
        passing = expected(where)
        legs = odd_papers.search(Plan("virus", (VectorClause("prx", vectors(1)[0]),), where, len(PAPERS), exact=True))
        assert {leg: {hit.id for hit in hits} for leg, hits in legs.items()} == {"lexical": passing, "prx": passing}

    finds()
