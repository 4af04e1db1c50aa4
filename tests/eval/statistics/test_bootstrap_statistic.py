from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from corpora.errors import InputError
from eval.statistics.interval import bootstrap_statistic, interval_coverage


def f1(truth, guess):
    return 2 * float(truth @ guess) / max(1, truth.sum() + guess.sum())


def test_of_few_rows_it_is_that_of_all_resamples():
    truth, guess = np.array([1, 0, 1, 1]), np.array([1, 1, 0, 1])
    rows = [np.array(chosen) for chosen in product(range(4), repeat=4)]
    every = [f1(truth[row], guess[row]) for row in rows]
    got = bootstrap_statistic(f1, truth, guess, level=0.8, resamples=4000)
    assert got.mean == f1(truth, guess) == f1_score(truth, guess)
    # As far out as Student's quantile of 3 degrees of freedom, times the root of 4 / 3.
    tail = stats.norm.cdf(-stats.t.ppf(0.9, 3) * (4 / 3) ** 0.5)
    assert (got.low, got.high) == pytest.approx(tuple(np.quantile(every, [tail, 1 - tail])), abs=0.02)


def test_rows_stay_together_and_any_array_will_do():
    x = np.arange(30.0)
    got = bootstrap_statistic(lambda a, b: np.corrcoef(a, b[:, 0])[0, 1], x, np.stack([2 * x, x], axis=1))
    assert (got.low, got.mean, got.high) == pytest.approx((1, 1, 1))
    names = bootstrap_statistic(lambda a: float(np.mean(a == "yes")), ["yes", "no"] * 100)
    assert names.low == pytest.approx(0.43, abs=0.03)


def test_limits_of_few_rows_lie_farther_out():
    # Of normal values the interval of the mean is Student's, n / (n - 1) and all.
    sample = stats.norm.ppf((np.arange(12) + 0.5) / 12)
    reach = stats.t.ppf(0.975, 11) * sample.std(ddof=1) / 12**0.5
    got = bootstrap_statistic(np.mean, sample, resamples=20_000)
    assert (got.low, got.high) == pytest.approx((-reach, reach), rel=0.05)
    half = stats.t.ppf(0.75, 11) * sample.std(ddof=1) / 12**0.5
    got_half = bootstrap_statistic(np.mean, sample, level=0.5, resamples=20_000)
    assert (got_half.low, got_half.high) == pytest.approx((-half, half), rel=0.05)
    percentiles = np.random.default_rng(0).choice(sample, (20_000, 12)).mean(axis=1)
    assert got.high > 1.1 * np.quantile(percentiles, 0.975)


@pytest.mark.parametrize("count", [8, 20])
def test_statistics_of_few_rows_are_held_as_often_as_said(count):
    draw, held = np.random.default_rng(5), 0
    for _ in range(150):
        sizes, hits = draw.integers(1, 9, count), draw.beta(3, 2, count)
        found = bootstrap_statistic(lambda h, n: float(h @ n / n.sum()), hits, sizes, resamples=400)
        held += found.low <= 0.6 <= found.high
    assert held / 150 >= 0.9


def test_resamples_without_a_value_say_nothing():
    labels = np.array([1, 1, 0, 0])
    got = bootstrap_statistic(lambda y: float("nan") if y.all() else 0.5, labels)
    assert (got.low, got.mean, got.high) == (0.5, 0.5, 0.5)
    assert bootstrap_statistic(lambda y: 1 / y.sum() if y.sum() else 1 / int(y.sum()), labels).high == 1.0


@pytest.mark.parametrize(
    ("arrays", "statistic", "options", "reason"),
    [
        (([],), np.mean, {}, "no values to measure"),
        (([1.0],), lambda _: float("nan"), {}, "undefined on these data"),
        (([1.0],), lambda _: 1 / 0, {}, "undefined on these data"),
        ((range(9),), lambda x: 1.0 if len(set(x)) == 9 else float("nan"), {}, "too few"),
    ],
)
def test_what_has_no_interval(arrays, statistic, options, reason):
    with pytest.raises(InputError, match=reason):
        bootstrap_statistic(statistic, *arrays, **options)


@pytest.mark.parametrize(("undefined", "told"), [(1, False), (2, False), (3, True)])
def test_half_of_the_resamples_must_have_a_value(undefined, told):
    values = iter([7.0, *[float("nan")] * undefined, *[7.0] * (4 - undefined)])  # of the data, and of four resamples
    found = []
    with pytest.raises(InputError, match="too few") if told else nullcontext():
        found.append(bootstrap_statistic(lambda _: next(values), range(9), resamples=4).mean)
    assert found == [7.0][told:]


def test_coverage_is_that_of_honest_intervals_on_many_queries():
    held = interval_coverage(np.random.default_rng(1).random(3000), splits=600, resamples=500)
    for level, share in held.items():
        assert share == pytest.approx(level, abs=4 * (level * (1 - level) / 600) ** 0.5)


def test_coverage_stays_where_a_half_may_miss_what_moves_the_mean():
    # One query in a hundred has a value: a half without it must not promise a mean of exactly 0.
    assert interval_coverage([1.0] + [0.0] * 99, splits=400)[0.95] > 0.95
    assert interval_coverage([1.0] + [0.0] * 99, splits=400, scale=None)[0.95] < 0.9, "nothing tells of a scale"
    assert interval_coverage([0.3] * 20)[0.5] == 1.0, "equal values hold each other"
    with pytest.raises(InputError, match="four queries"):
        interval_coverage([0.1, 0.2, 0.3])


def test_coverage_agrees_with_students_interval():
    sample, splits = np.random.default_rng(6).random(600), 2000
    draw, hits = np.random.default_rng(9), 0
    for _ in range(splits):
        first, second = np.split(draw.permutation(sample), 2)
        reach = stats.t.ppf(0.9, 299) * first.std(ddof=1) / 300**0.5
        hits += abs(first.mean() - second.mean()) <= 2**0.5 * reach
    assert interval_coverage(sample, splits=1000)[0.8] == pytest.approx(hits / splits, abs=0.05)
