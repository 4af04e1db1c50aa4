"""Measures of predictions against scikit-learn and scipy, and their intervals against plain resampling."""

from __future__ import annotations

import math

import numpy as np
import pytest
import pytrec_eval
from sklearn import metrics

from corpora.errors import InputError
from eval.measures.metrics import evaluate
from eval.scirepeval.measures import classification_measure, regression_measure
from eval.scirepeval.task_file import known_metrics, ranking_measure
from eval.trec.judgments import Qrels
from eval.trec.runs import Run


def oracle(metric, truth, predicted):
    name, _, average = metric.partition("_")
    if name == "accuracy":
        return metrics.accuracy_score(truth, predicted)
    return getattr(metrics, f"{name}_score")(truth, predicted, average=average or "binary", zero_division=0)


@pytest.fixture(scope="module")
def draw():
    return np.random.default_rng(7)


@pytest.mark.parametrize("metric", known_metrics("classification"))
def test_classes_are_measured_as_scikit_learn_does(metric, draw):
    for classes in (2,) if metric in ("f1", "precision", "recall") else (2, 5):
        truth = draw.integers(classes, size=200)
        predicted = np.where(draw.random(200) < 0.6, truth, draw.integers(classes, size=200))
        ours = classification_measure(metric, truth, predicted)
        assert ours.mean == pytest.approx(oracle(metric, truth, predicted))
        assert ours.low < ours.mean < ours.high


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "f1_macro", "precision_weighted"])
def test_intervals_are_those_of_plain_resampling(metric, draw):
    truth = np.minimum(draw.integers(7, size=100), 4)
    truth[:2] = 5  # a class that many resamples lack
    predicted = np.where(draw.random(100) < 0.6, truth, draw.integers(5, size=100))
    ours = classification_measure(metric, truth, predicted)
    rows = [draw.integers(100, size=100) for _ in range(600)]
    plain = np.quantile([oracle(metric, truth[r], predicted[r]) for r in rows], [0.025, 0.975])
    assert (ours.low, ours.high) == pytest.approx(plain, abs=0.03)


@pytest.mark.parametrize("metric", [m for m in known_metrics("classification") if "_" in m or m == "accuracy"])
def test_several_labels_are_measured_as_scikit_learn_does(metric, draw):
    truth = (draw.random((120, 6)) < 0.3).astype(int)
    predicted = np.where(draw.random(truth.shape) < 0.8, truth, 1 - truth)
    truth[:, 5], predicted[:, 5] = 0, 0  # a label of no paper counts 0 in a mean over labels
    ours = classification_measure(metric, truth, predicted)
    assert ours.mean == pytest.approx(oracle(metric, truth, predicted))
    assert ours.low < ours.mean < ours.high


def test_a_resample_is_averaged_over_the_classes_that_it_has():
    # All is right, and a third of the resamples lack class 1: averaged over both classes they would be at 0.5.
    truth = np.array([0] * 30 + [1])
    assert classification_measure("f1_macro", truth, truth).low == 1.0
    # Of labels the rare one is averaged even where no paper of the resample has it.
    labels = np.stack([np.ones(31, int), truth], axis=1)
    assert classification_measure("f1_macro", labels, labels).low == 0.5


@pytest.mark.parametrize("right", [0, 7, 10])
def test_accuracy_has_the_interval_of_a_share(right):
    from scipy import stats

    ours = classification_measure("accuracy", np.ones(10, int), np.arange(10) < right)
    want = stats.binomtest(right, 10).proportion_ci(method="exact")
    assert (ours.low, ours.high) == pytest.approx((want.low, want.high), abs=0.03)


def test_f1_by_hand_and_of_words():
    truth, predicted = np.array([1, 1, 1, 0, 0]), np.array([1, 1, 0, 1, 0])
    assert classification_measure("f1", truth, predicted).mean == pytest.approx(2 / 3)
    words = np.array(["a", "b"])
    assert classification_measure("f1_macro", words[truth], words[predicted]).mean == pytest.approx((2 / 3 + 1 / 2) / 2)
    for labels in (words[truth], truth + 1):
        with pytest.raises(InputError, match="ask for f1_macro"):
            classification_measure("f1", labels, labels)


@pytest.mark.slow
def test_numbers_are_measured_as_scipy_and_scikit_learn_do(draw):
    from scipy import stats

    truth = draw.standard_normal(150).round(1)  # with ties
    predicted = truth + draw.standard_normal(150)
    wanted = {
        "kendalltau": stats.kendalltau(truth, predicted)[0],
        "pearsonr": stats.pearsonr(truth, predicted)[0],
        "r2": metrics.r2_score(truth, predicted),
        "mse": metrics.mean_squared_error(truth, predicted),
    }
    assert set(wanted) == set(known_metrics("regression"))
    for metric, value in wanted.items():
        ours = regression_measure(metric, truth, predicted)
        assert ours.mean == pytest.approx(value)
        assert ours.low < ours.mean < ours.high
    assert regression_measure("kendalltau", np.array([1.0, 2, 3]), np.array([1.0, 3, 2])).mean == pytest.approx(1 / 3)
    assert math.isnan(regression_measure("kendalltau", truth, np.ones(150)))


@pytest.mark.parametrize("metric", known_metrics("proximity"))
def test_rankings_are_measured_as_pytrec_eval_does(metric, draw):
    name = metric.replace("_N", "_5")
    papers = [f"d{row:02}" for row in range(12)]
    queries = [f"q{number}" for number in range(6)]
    qrels = {query: dict(zip(papers, draw.integers(3, size=12).tolist(), strict=True)) for query in queries}
    run = {query: dict(zip(papers, draw.random(12).tolist(), strict=True)) for query in queries}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {metric.replace("_N", ".5")}).evaluate(run)
    (found,) = evaluate(
        Run("r", {query: tuple(scores.items()) for query, scores in run.items()}), Qrels(qrels), [ranking_measure(name)]
    ).per_query.values()
    assert found == pytest.approx({query: measures[name] for query, measures in theirs.items()})
