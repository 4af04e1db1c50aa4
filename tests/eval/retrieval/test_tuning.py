"""Tuning: the choice, folds that never see what they are measured on, and the settings of each stage."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from statistics import fmean, stdev

import numpy as np
import pytest

from corpora.errors import InputError
from eval.retrieval.beir import JudgedQueries
from eval.retrieval.protocol import Protocol, evaluate_queries
from eval.retrieval.tuning import (
    BOOSTS,
    K1,
    B,
    Folds,
    Trials,
    boosts,
    check_measure,
    choose,
    fit,
    fusions,
    scorings,
    stages,
    start,
)
from eval.trec.judgments import Qrels
from search_plugin.contract.plan import LEXICAL
from search_plugin.contract.schema import Bm25
from search_plugin.fusion.search_settings import SearchSettings
from tests.indexer.jobs import engine_in, make_job, run_job
from tests.tiny import papers, write_jsonl

POINTS = tuple(SearchSettings("minmax", {"lexical": 1.0, "prx": float(weight)}) for weight in range(1, 7))


def fit_table(points, values, queries, folds=None):
    """Fit by one stage, whose points have these values (points, queries)."""
    return fit(points[0], [lambda _: points], lambda point: values[points.index(point)], queries, folds)


def test_the_choice_is_the_simplest_that_is_not_worse_by_a_standard_error():
    draw = np.random.default_rng(0)
    noise = draw.normal(0, 0.2, 200)
    better = np.stack([0.3 + noise, 0.31 + noise + draw.normal(0, 0.3, 200), 0.6 + noise])
    assert choose(better, 5, 0) == 2
    # Equal but for noise between the points: the first stays, though another has the higher mean.
    flat = np.stack([0.5 + noise, 0.5 + noise + draw.normal(0.002, 0.3, 200)])
    assert choose(flat, 5, 0) == 0
    assert choose(np.ones((3, 10)), 5, 0) == 0
    assert choose(np.stack([np.zeros(10), np.ones(10)]), 5, 0) == 1


def chosen_by_hand(values, folds, seed):
    """The rule of one standard error, written out."""
    order = np.random.default_rng(seed).permutation(len(values[0])).tolist()
    size, more = divmod(len(order), folds)
    sizes = [size + (part < more) for part in range(folds)]
    parts = [order[sum(sizes[:part]) : sum(sizes[: part + 1])] for part in range(folds)]
    means = [[fmean(row[query] for query in part) for part in parts] for row in values]
    best = max(means, key=fmean)
    for place, row in enumerate(means):
        behind = [top - mean for top, mean in zip(best, row, strict=True)]
        if fmean(behind) <= stdev(behind) / len(behind) ** 0.5:
            return place
    raise AssertionError


@pytest.mark.parametrize("seed", range(12))
def test_choices_are_those_of_the_rule_written_out(seed):
    draw = np.random.default_rng(seed)
    values = draw.uniform(size=(8, 23)) + np.linspace(0, 0.4, 8)[:, None]
    assert choose(values, 4, seed) == chosen_by_hand(values.tolist(), 4, seed)
    # The inner folds are drawn by the next seed; five, where nothing else is said.
    queries = [str(number) for number in range(23)]
    points = tuple(SearchSettings("minmax", {"a": 1.0, "b": float(place)}) for place in range(8))
    for folds, inner, drawn in ((None, 5, 0), (Folds(3, 4, seed), 4, seed)):
        assert fit_table(points, values, queries, folds).chosen == points[chosen_by_hand(values, inner, drawn + 1)]


def test_fewest_queries_and_folds():
    assert (Folds().outer, Folds().inner, Folds().seed) == (5, 5, 0)
    assert len(fit_table(POINTS, np.ones((6, 10)), [str(number) for number in range(10)]).by_fold) == 5
    assert len(fit_table(POINTS, np.ones((6, 4)), list("abcd"), Folds(2, 2)).by_fold) == 2
    assert choose(np.eye(2), 1, 0) == 0
    assert choose(np.array([[0.0], [1.0]]), 5, 0) == 1, "of one query, no more is allowed"


def test_an_outer_fold_has_no_say_in_what_measures_it():
    draw = np.random.default_rng(1)
    values = draw.uniform(size=(6, 40)) * 0.2 + np.linspace(0, 0.5, 6)[:, None]
    queries = [f"q{number}" for number in range(40)]
    clean = fit_table(POINTS, values, queries)
    assert clean.chosen == POINTS[5]
    assert clean.flattered == pytest.approx(values[5].mean())
    assert list(clean.estimate) == queries
    assert clean.default == dict(zip(queries, values[0], strict=True))
    folds = Folds()
    parts = np.array_split(np.random.default_rng(folds.seed).permutation(40), folds.outer)
    for number, held_out in enumerate(parts):
        poisoned = values.copy()
        poisoned[:, held_out] = 0
        poisoned[2, held_out] = 1000  # would win, were it seen
        fitted = fit_table(POINTS, poisoned, queries)
        assert fitted.by_fold[number] == clean.by_fold[number]
        assert all(fitted.estimate[queries[column]] == 0 for column in held_out)
        assert fitted.by_fold[number - 1] != clean.by_fold[number - 1], "the others do see it"


def test_the_estimate_of_pure_noise_is_not_flattered():
    values = np.random.default_rng(2).uniform(size=(60, 40))
    points = tuple(SearchSettings("minmax", {"a": 1.0, "b": weight / 60}) for weight in range(60))
    fitted = fit_table(points, values, [str(number) for number in range(40)])
    assert np.mean(list(fitted.estimate.values())) < values.mean(axis=1).max() - 0.05


@pytest.mark.parametrize(("queries", "folds"), [(9, Folds()), (40, Folds(outer=1)), (40, Folds(inner=1))])
def test_too_few_queries_or_folds(queries, folds):
    with pytest.raises(InputError, match="need 2 folds each"):
        fit_table(POINTS, np.ones((6, queries)), [str(number) for number in range(queries)], folds)


def test_a_stage_begins_where_the_one_before_ended():
    boosts, weights = (0.1, 0.5), (1.0, 3.0)
    asked = []

    def measured(point):
        asked.append((point.title_boost, point.weights["prx"]))
        return np.full(20, point.title_boost + point.weights["prx"])

    start = SearchSettings("minmax", {"lexical": 1.0, "prx": 1.0}, title_boost=0.1)
    stages = [
        lambda best: [replace(best, title_boost=boost) for boost in boosts],
        lambda best: [replace(best, weights={**best.weights, "prx": weight}) for weight in weights],
    ]
    fitted = fit(start, stages, measured, [str(number) for number in range(20)])
    assert (fitted.chosen.title_boost, fitted.chosen.weights["prx"]) == (0.5, 3.0)
    assert set(asked) == {(0.1, 1.0), (0.5, 1.0), (0.5, 3.0)}, "never all with all"


LEGS = ("lexical", "prx")


def test_fusions_are_all_there_the_simplest_first():
    begun = SearchSettings("minmax", {"lexical": 0.5, "prx": 0.5}, title_boost=0.2, bm25=Bm25(0.9, 0.4))
    points = fusions(LEGS, begun)
    assert points[0] == begun
    assert {(point.title_boost, point.bm25) for point in points} == {(0.2, Bm25(0.9, 0.4))}
    assert len(points) == 11 + 11 + 11 * 4
    assert len({(point.name, *point.weights.values()) for point in points}) == len(points)
    distances = [abs(point.weights["lexical"] - 0.5) for point in points]
    assert distances == pytest.approx(sorted(distances))
    of_three = fusions("abc", begun, steps=4, constants=(60,))
    assert all(sum(point.weights.values()) == pytest.approx(1) for point in of_three)
    assert len(of_three) == 3 * (15 + 1)  # equal weights are no quarters


@pytest.mark.parametrize("begun", [start(LEGS), SearchSettings("rrf", {"prx": 1}, 20, 0.7, Bm25(1.3, 0.1))])
def test_scores_of_words_vary_around_the_start(begun):
    tried = scorings(begun)
    assert tried[0] == begun
    assert {(one.bm25.k1, one.bm25.b) for one in tried[1:]} >= {
        (k1, b) for k1 in K1 for b in B if (k1, b) != (begun.bm25.k1, begun.bm25.b)
    }
    assert len({one.name for one in tried}) == len({one.title_boost for one in tried}) == 1
    raised = boosts(begun)
    assert raised[0] == begun
    assert {one.title_boost for one in raised} == {begun.title_boost, *BOOSTS}
    assert len({one.bm25 for one in raised}) == 1


def test_the_start_is_what_a_search_does():
    assert start(LEGS) == SearchSettings(weights={"lexical": 0.5, "prx": 0.5})


def test_the_constants_of_bm25_are_tried_where_asked_for():
    assert [len(stages(LEGS, bm25=bm25)) for bm25 in (False, True)] == [2, 3]
    with pytest.raises(InputError, match="fewer than two legs"):
        stages(["prx"], bm25=True)


class Counting:
    """An index that counts its searches, and notes the constants of each."""

    def __init__(self, index):
        self.index, self.asked, self.bm25 = index, [], Bm25()

    def __getattr__(self, name):
        return getattr(self.index, name)

    def pinned(self):
        return self

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
    protocol = Protocol(("hybrid",), (settings.name,), ("MRR",), tuned=settings)
    expected = evaluate_queries(judged, index, encoder, protocol)["hybrid"].scores.per_query["MRR"]
    found = Trials(judged, index, encoder, "MRR")(settings)
    assert found.tolist() == [expected[query] for query in judged.qrels.gains]


def test_documents_that_were_seen_are_as_if_they_were_not_there(world):
    judged, index, encoder = world
    seen = {"q0": frozenset(judged.qrels.gains["q0"])}
    with_all, without = (Trials(judged, index, encoder, "MRR", *gone)(start(LEGS)) for gone in ((), (seen,)))
    assert with_all[0] > without[0] == 0
    assert with_all[1:].tolist() == without[1:].tolist()


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
