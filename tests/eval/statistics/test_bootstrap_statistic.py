from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from corpora.errors import InputError
from eval.statistics.bootstrap import bootstrap_interval, bootstrap_statistic, interval_coverage


def test_of_few_rows_it_is_that_of_all_resamples():
    truth, guess = np.array([1, 0, 1, 1]), np.array([1, 1, 0, 1])
    rows = [np.array(chosen) for chosen in product(range(4), repeat=4)]
    every = [f1_score(truth[row], guess[row], zero_division=0) for row in rows]
    got = bootstrap_statistic(lambda t, g: f1_score(t, g, zero_division=0), truth, guess, level=0.8, resamples=4000)
    assert got.mean == f1_score(truth, guess)
    assert (got.low, got.high) == pytest.approx(tuple(np.quantile(every, [0.1, 0.9])), abs=0.02)


def test_rows_stay_together_and_any_array_will_do():
    x = np.arange(30.0)
    got = bootstrap_statistic(lambda a, b: np.corrcoef(a, b[:, 0])[0, 1], x, np.stack([2 * x, x], axis=1))
    assert (got.low, got.mean, got.high) == pytest.approx((1, 1, 1))
    names = bootstrap_statistic(lambda a: float(np.mean(a == "yes")), ["yes", "no"] * 100)
    assert names.low == pytest.approx(0.43, abs=0.03)


def test_of_a_mean_it_is_the_interval_of_means():
    sample = np.random.default_rng(2).random(80)
    got, want = bootstrap_statistic(np.mean, sample, resamples=500), bootstrap_interval(sample, resamples=500)
    assert (got.low, got.mean, got.high) == pytest.approx((want.low, want.mean, want.high))


def test_resamples_without_a_value_say_nothing():
    labels = np.array([1, 1, 0, 0])
    got = bootstrap_statistic(lambda y: float("nan") if y.all() else 0.5, labels)
    assert (got.low, got.mean, got.high) == (0.5, 0.5, 0.5)
    assert bootstrap_statistic(lambda y: 1 / y.sum() if y.sum() else 1 / int(y.sum()), labels).high == 1.0


@pytest.mark.parametrize(
    ("arrays", "statistic", "options", "reason"),
    [
        (([1.0], [1.0, 2.0]), np.mean, {}, r"same rows of each array"),
        (([],), np.mean, {}, "same rows"),
        (([1.0],), lambda _: float("nan"), {}, "undefined on these data"),
        (([1.0],), lambda _: 1 / 0, {}, "undefined on these data"),
        ((range(9),), lambda x: 1.0 if len(set(x)) == 9 else float("nan"), {}, "too few"),
        (([1.0],), np.mean, {"level": 0}, "level"),
        (([1.0],), np.mean, {"resamples": 0}, "resamples"),
    ],
)
def test_what_has_no_interval(arrays, statistic, options, reason):
    with pytest.raises(InputError, match=reason):
        bootstrap_statistic(statistic, *arrays, **options)


def test_coverage_is_that_of_honest_intervals_on_many_queries():
    held = interval_coverage(np.random.default_rng(1).normal(size=600), splits=600)
    for level, share in held.items():
        assert share == pytest.approx(level, abs=4 * (level * (1 - level) / 600) ** 0.5)


def test_coverage_falls_where_a_half_may_miss_what_moves_the_mean():
    # One query in a hundred has a value: a half without it promises a mean of exactly 0.
    held = interval_coverage([1.0] + [0.0] * 99, splits=400)
    assert held[0.95] < 0.9
    assert interval_coverage([0.3] * 20)[0.5] == 1.0, "equal values hold each other"
    with pytest.raises(InputError, match="four queries"):
        interval_coverage([0.1, 0.2, 0.3])


def test_coverage_agrees_with_students_interval():
    sample, splits = np.random.default_rng(6).normal(size=100), 2000
    draw, hits = np.random.default_rng(9), 0
    for _ in range(splits):
        first, second = np.split(draw.permutation(sample), 2)
        reach = stats.t.ppf(0.9, 49) * first.std(ddof=1) / 50**0.5
        hits += abs(first.mean() - second.mean()) <= 2**0.5 * reach
    assert interval_coverage(sample, splits=1000)[0.8] == pytest.approx(hits / splits, abs=0.05)
