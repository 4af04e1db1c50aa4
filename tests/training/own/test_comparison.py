from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.stats

import training.own.comparison
from encoders.models.formats import Format
from eval.statistics.interval import Interval, bootstrap_statistic
from products.trained import TrainedVectors
from training.own.comparison import (
    FormatComparison,
    LabelledVectors,
    comparison_of,
    mean_over_runs,
    predictions,
    truth_of,
)

SOURCE = TrainedVectors("tiny", "f", Format.PRX)


def made(count, seed, task, *, better):
    """Papers whose truth follows from `own` (or from `indexed`), up to noise, and not from the other."""
    draw = np.random.default_rng(seed)
    clear, vague = (draw.standard_normal((count, 8)).astype(np.float32) for _ in range(2))
    number = clear[:, 0] + 0.3 * draw.standard_normal(count)
    vague[:, 0] += clear[:, 0]
    classes = np.digitize(number, [-0.5, 0.5])
    truth = number if task == "number" else classes[:, None] == np.arange(3)
    if task == "labels":
        truth = np.column_stack([truth, truth.any(axis=1) & (clear[:, 1] > 0)])
    own, indexed = (clear, vague) if better else (vague, clear)
    spread = (own, own[:, ::-1] + 0.1 * draw.standard_normal(own.shape).astype(np.float32))
    return [LabelledVectors(truth, one, one) for one in (indexed, *spread)]


def compared(train, test, task):
    """The worth of the vectors after the first ones, each of them a run, beside the first ones."""
    indexed, *own = (predictions(*both, task, SOURCE, "english") for both in zip(train, test, strict=True))
    assert {one.dtype for said in (indexed, *own) for one in said.values()} == {test[0].truth.dtype}
    return comparison_of(test[0].truth, indexed, own, len(train[0].truth))


@pytest.fixture
def few_resamples(monkeypatch):
    """The verdicts of these tests are clear after a fifth of the resamples, which are most of the work."""
    monkeypatch.setattr(training.own.comparison, "bootstrap_statistic", partial(bootstrap_statistic, resamples=200))


@pytest.mark.slow
@pytest.mark.usefixtures("few_resamples")
@pytest.mark.parametrize("task", ["label", "labels", "number"])
@pytest.mark.parametrize("better", [True, False])
def test_the_better_vectors_are_told_apart(task, better):
    worth = compared(made(300, 0, task, better=better), made(300, 1, task, better=better), task)
    assert worth.is_better is better
    assert (worth.gain.mean > 0.05) is better
    assert worth.gain.low <= worth.gain.mean <= worth.gain.high
    assert worth.gain.mean == pytest.approx(worth.scores[worth.own].mean - worth.scores[worth.other].mean)
    assert (worth.train, worth.test) == (300, 300)
    assert worth.labels == {"label": 3, "labels": 4, "number": 0}[task]
    assert worth.measure == ("Kendall's tau" if task == "number" else "macro F1")
    models = ("ridge regression",) if task == "number" else ("ridge regression", "ses tags")
    vectors = ("the new format", "the index's vectors")
    assert set(worth.scores) == {f"{model} on {name}" for model in models for name in vectors}
    for best, name in zip((worth.own, worth.other), vectors, strict=True):
        assert worth.scores[best].mean == max(worth.scores[f"{model} on {name}"].mean for model in models)
    assert worth.sentence.startswith("Worth using" if better else "Not worth using")
    assert worth.to_dict()["sentence"] == worth.sentence


def test_a_tagger_reads_the_words_of_papers_too():
    """Vectors are noise here, and words say all."""
    draw = np.random.default_rng(5)
    truth = np.arange(60)[:, None] % 2 == np.arange(2)
    texts = ["A study of lungs" if one else "A study of stars" for one in truth[:, 0]]
    vectors = draw.standard_normal((60, 8)).astype(np.float32)
    papers = LabelledVectors(truth, vectors, vectors, texts)
    said = predictions(papers, replace(papers, plain=vectors[::-1], tagged=vectors[::-1]), "labels", SOURCE, "english")
    assert (said["ses tags"] == truth).mean() == 1
    assert (said["ridge regression"] == truth).mean() < 0.8


def accuracy(true, said):
    return float((true == said).mean())


@pytest.mark.parametrize("shares", [(0.9, 0.8), (0.9, 0.8, 0.6)])
def test_an_interval_is_over_papers_and_over_runs(shares):
    draw = np.random.default_rng(3)
    truth = draw.integers(0, 2, 400)
    runs = [np.where(draw.random(400) < share, truth, 1 - truth) for share in shares]
    each = [accuracy(truth, one) for one in runs]
    found = mean_over_runs(accuracy, truth, runs)
    assert found.mean == pytest.approx(np.mean(each))
    papers = bootstrap_statistic(lambda true, *said: np.mean([accuracy(true, one) for one in said]), truth, *runs)
    # Student's interval of a mean, from scipy's own function.
    spread = np.mean(each) - scipy.stats.t.interval(0.95, len(each) - 1, np.mean(each), scipy.stats.sem(each))[0]
    assert found.mean - found.low == pytest.approx(np.hypot(papers.mean - papers.low, spread))
    assert found.high - found.mean == pytest.approx(np.hypot(papers.high - papers.mean, spread))


def test_equal_runs_add_nothing_to_the_interval_over_papers():
    draw = np.random.default_rng(3)
    truth = draw.integers(0, 2, 300)
    said, other = (np.where(draw.random(300) < share, truth, 1 - truth) for share in (0.9, 0.7))
    alone = bootstrap_statistic(accuracy, truth, said)
    for runs in (1, 3):
        found = mean_over_runs(accuracy, truth, [said] * runs)
        assert (found.low, found.mean, found.high) == pytest.approx((alone.low, alone.mean, alone.high))
    gain = mean_over_runs(accuracy, truth, [said, said], other)
    paired = bootstrap_statistic(lambda true, one, two: accuracy(true, one) - accuracy(true, two), truth, said, other)
    assert (gain.low, gain.mean, gain.high) == pytest.approx((paired.low, paired.mean, paired.high))


@pytest.mark.slow
@pytest.mark.usefixtures("few_resamples")
def test_a_run_that_is_lucky_does_not_decide():
    """Two runs that gain nothing and one that gains much: the mean gain is clear over papers alone."""
    train, test = (made(400, seed, "label", better=True) for seed in (0, 1))
    found, sure = (
        compared(*([part[at] for at in which] for part in (train, test)), "label")
        for which in ((0, 1, 0, 0), (0, 1, 1, 1))
    )
    assert (found.runs, sure.runs) == (3, 3)
    assert found.gain.mean == pytest.approx(sure.gain.mean / 3, abs=0.03)
    assert sure.is_better
    assert not found.is_better


@pytest.mark.slow
@pytest.mark.usefixtures("few_resamples")
def test_without_a_gain_the_verdict_is_hardly_ever_a_gain():
    """Runs differ by chance: over papers alone, every third lucky run would be worth using."""
    draw = np.random.default_rng(7)
    truth = draw.integers(0, 2, 300)
    wins = {1: 0, 3: 0}
    for _ in range(60):
        before, *runs = (
            np.where(draw.random(300) < share, truth, 1 - truth) for share in (0.7, *draw.normal(0.7, 0.05, 3))
        )
        for number in wins:
            wins[number] += mean_over_runs(accuracy, truth, runs[:number], before).low > 0
    assert wins[1] >= 9
    assert wins[3] <= 3


def told(low, mean, high):
    scores = {"a on x": Interval(0.5, 0.7 + mean, 0.9), "b on y": Interval(0.5, 0.7, 0.9)}
    return FormatComparison("macro F1", 3, 100, 50, 4, scores, "a on x", "b on y", Interval(low, mean, high))


def test_one_line_says_whether_it_is_worth_using():
    assert told(0.01, 0.03, 0.05).sentence == (
        "Worth using: macro F1 +0.030 [+0.010, +0.050] in 4 runs beside the 0.700 of b on y."
    )
    assert told(-0.01, 0.03, 0.05).sentence == (
        "Not worth using: macro F1 +0.030 [-0.010, +0.050] in 4 runs beside the 0.700 of b on y; the difference may be "
        "chance, and a linear model on them is enough."
    )
    assert "; it is worse, and" in told(-0.05, -0.03, -0.01).sentence
    assert not told(0.0, 0.03, 0.05).is_better


def test_labels_in_columns():
    values = ["a", "b", "a", ["b", "c", "c"], ("a",)]
    assert truth_of(values, "labels", ["a", "b"]).tolist() == [
        [True, False],
        [False, True],
        [True, False],
        [False, True],
        [True, False],
    ]


def test_numbers_are_their_own_truth():
    truth = truth_of([3, 1.5, 2], "number", ["a", "b"])
    assert (truth.tolist(), truth.dtype) == ([3.0, 1.5, 2.0], np.float64)
    assert truth_of([3, 1], "number", []).dtype == np.float64
