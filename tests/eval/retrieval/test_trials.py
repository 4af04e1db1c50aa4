"""Trials: settings measured as searches rank by them, each leg searched once."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from eval.retrieval.beir import JudgedQueries
from eval.retrieval.protocol import Protocol, evaluate_queries
from eval.retrieval.trials import Trials, check_measure
from eval.retrieval.tuning import start
from eval.trec.judgments import Qrels
from search_plugin.contract.plan import LEXICAL
from search_plugin.contract.schema import Bm25
from search_plugin.fusion.search_settings import SearchSettings
from tests.indexer.jobs import engine_in, make_job, run_job
from tests.tiny import papers, write_jsonl

LEGS = (LEXICAL, "prx")


class Counting:
    """An index that counts its searches, and notes the constants of each."""

    def __init__(self, index):
        self.index, self.schema, self.name, self.asked, self.bm25 = index, index.schema, index.name, [], Bm25()

    def search(self, plan):
        self.asked.append((plan.legs, self.bm25, plan.title_boost))
        return self.index.search(plan)

    @contextmanager
    def scored_by(self, bm25):
        self.bm25 = bm25
        yield
        self.bm25 = Bm25()


@pytest.fixture
def world(tmp_path):
    documents = papers(30)
    job = make_job(tmp_path, write_jsonl(tmp_path / "papers.jsonl", documents))
    run_job(tmp_path, job)
    index, encoder = engine_in(tmp_path).open("papers"), job.encoder()
    texts = {f"q{number}": documents[number].title for number in range(6)}
    gains = {query: {documents[number].id: 1} for number, query in enumerate(texts)}
    return JudgedQueries(texts, Qrels(gains), ()), Counting(index), encoder


@pytest.mark.parametrize(
    "settings",
    [
        start(LEGS),
        SearchSettings("rrf", {LEXICAL: 0.3, "prx": 0.7}, 10),
        SearchSettings("minmax", {LEXICAL: 1.0, "prx": 0.0}, None, 1.0),
    ],
)
def test_settings_are_worth_what_a_search_by_them_is(world, settings):
    judged, index, encoder = world
    protocol = Protocol(("hybrid",), (settings.name,), settings.weights, ("MRR",), title_boost=settings.title_boost)
    expected = evaluate_queries(judged, index, encoder, protocol)["hybrid"].scores.per_query["MRR"]
    found = Trials(judged, index, encoder, "MRR")(settings)
    assert found.tolist() == [expected[query] for query in judged.qrels.gains]


def test_a_leg_is_searched_once_for_all_settings_that_share_it(world):
    judged, index, encoder = world
    trials = Trials(judged, index, encoder, "nDCG@10")
    begun = start(LEGS)
    for point in (begun, replace(begun, fusion="rrf"), begun, replace(begun, title_boost=1.0)):
        assert trials(point).shape == (6,)
    trials(replace(begun, bm25=Bm25(0.9, 0.4)))
    searched = [(legs, str(bm25), boost) for legs, bm25, boost in dict.fromkeys(index.asked)]
    default = str(Bm25())
    assert searched == [
        (("prx",), default, 0.3),
        ((LEXICAL,), default, 0.3),
        ((LEXICAL,), default, 1.0),
        ((LEXICAL,), "k1 0.9, b 0.4", 0.3),
    ]
    assert len(index.asked) == 4 * len(judged.texts)
    assert trials.count == 4
    assert np.isfinite(trials(begun)).all()


def test_a_measure_deeper_than_what_is_tried_is_refused():
    check_measure("Recall@100")
    with pytest.raises(InputError, match="first 100 hits"):
        check_measure("Recall@1000")
