"""Intervals of means, and of statistics that are no means."""

from __future__ import annotations

import tracemalloc
from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from benchmarks import coverage
from corpora.errors import InputError
from eval.statistics import pairs as significance
from eval.statistics.interval import bootstrap_statistic, interval_coverage, mean_interval


def sample(n, seed=3):
    return np.random.default_rng(seed).beta(2, 1, n)


def ends(interval):
    return interval.low, interval.high


@pytest.mark.parametrize(("ones", "count"), [(0, 1), (0, 5), (5, 5), (1, 10), (7, 10), (25, 25), (3, 25)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_of_zeros_and_ones_it_is_clopper_and_pearsons(ones, count, level):
    want = stats.binomtest(ones, count).proportion_ci(level, method="exact")
    got = mean_interval([1.0] * ones + [0.0] * (count - ones), level=level, resamples=50_000)
    assert ends(got) == pytest.approx((want.low, want.high), abs=0.006)
    assert got.mean == ones / count


def test_of_two_values_it_is_what_the_formula_says():
    # Weights of n values and one end are uniform on the simplex: one value alone is at x - x u and x + (1 - x) u.
    assert ends(mean_interval([0.4], level=0.9, resamples=50_000)) == pytest.approx(
        (0.4 * 0.05, 1 - 0.6 * 0.05), abs=2e-3
    )
    # Two equal values have the weight 1 - w together, w ~ beta(1, 2), whose quantile at q is 1 - sqrt(1 - q).
    w = 1 - (1 - 0.95) ** 0.5
    want = 0.4 * (1 - w), 0.4 + 0.6 * w
    assert ends(mean_interval([0.4, 0.4], level=0.9, resamples=50_000)) == pytest.approx(want, abs=0.01)


@pytest.mark.parametrize("scale", [(0, 1), None])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_it_nears_the_normal_one_on_many_queries(level, scale):
    values = sample(3000)
    half = stats.norm.ppf((1 + level) / 2) * values.std() / np.sqrt(values.size)
    got = mean_interval(values, level=level, scale=scale)
    assert ends(got) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.1 * half)


WORLDS = {**coverage.WORLDS, **coverage.DIFFERENCES}


@pytest.mark.parametrize("queries", coverage.SIZES)
@pytest.mark.parametrize("name", WORLDS)
def test_it_holds_the_mean_as_often_as_it_says(name, queries, monkeypatch):
    monkeypatch.setattr(coverage, "RESAMPLES", 500)
    method = coverage.of_differences if name in coverage.DIFFERENCES else coverage.ours
    found = coverage.measure(method, WORLDS[name], queries, samples=400)
    assert found.coverage >= 0.93
    scale = WORLDS[name].scale
    assert found.width < 0.85 * (scale[1] - scale[0]), "no better than the whole scale"


@pytest.mark.parametrize("method", [coverage.percentile, coverage.student])
def test_the_usual_ones_do_not(method, monkeypatch):
    monkeypatch.setattr(coverage, "RESAMPLES", 500)
    found = [coverage.measure(method, world, 10, samples=400).coverage for world in coverage.WORLDS.values()]
    assert min(found) < 0.5
    assert np.mean(np.array(found) < 0.93) > 0.4


@pytest.mark.parametrize("queries", coverage.SIZES)
def test_zeros_and_ones_cost_no_width_beside_the_exact_interval(queries, monkeypatch):
    monkeypatch.setattr(coverage, "RESAMPLES", 2_000)
    world = coverage.binary(0.7)
    ours, exact = (
        coverage.measure(one, world, queries, 200).width for one in (coverage.ours, coverage.clopper_pearson)
    )
    assert ours == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize("name", coverage.UNBOUNDED)
def test_without_a_scale_it_is_about_students(name, monkeypatch):
    monkeypatch.setattr(coverage, "RESAMPLES", 500)
    for queries in coverage.SIZES:
        ours, student = (
            coverage.measure(method, coverage.UNBOUNDED[name], queries, samples=400)
            for method in (coverage.ours, coverage.student)
        )
        assert ours.coverage >= min(0.93, student.coverage - 0.01)
        assert 0.9 * student.width < ours.width < 2.25 * student.width


def test_losses_and_correlations_have_one_too():
    losses, correlations = [12.0, 3.5, 40.0, 7.0], [-0.4, 0.2, -0.1, 0.5]
    moved = mean_interval([10 * loss - 3 for loss in losses], scale=None)
    assert ends(moved) == pytest.approx([10 * end - 3 for end in ends(mean_interval(losses, scale=None))])
    assert ends(mean_interval(losses, scale=None))[1] < 40
    assert mean_interval(correlations, scale=(-1, 1)).low < mean_interval(correlations, scale=None).low < 0
    assert ends(mean_interval([7.0] * 9, scale=None)) == pytest.approx((7.0, 7.0))
    with pytest.raises(InputError, match="The value 12 is not on the scale from 0 to 1"):
        mean_interval(losses)
    with pytest.raises(InputError, match=r"The value -0\.4 is not on the scale"):
        mean_interval(correlations)
    assert mean_interval([1 + 1e-12, -1e-12]).mean == pytest.approx(0.5), "rounding leaves no scale"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=30)
def test_it_lies_on_the_scale_around_the_mean_and_mirrors(values):
    got = mean_interval(values, resamples=200)
    assert 0 <= got.low <= got.mean <= got.high <= 1 + 1e-12
    mirrored = mean_interval([1 - value for value in values], resamples=200)
    assert ends(mirrored) == pytest.approx((1 - got.high, 1 - got.low))
    wider = mean_interval(values, resamples=200, level=0.99)
    assert wider.low <= got.low
    assert got.high <= wider.high


def test_seed_decides_and_chunks_do_not(monkeypatch):
    values = sample(40)
    whole = mean_interval(values, resamples=999)
    assert mean_interval(values, resamples=999) == whole
    assert mean_interval(values, resamples=999, seed=1) != whole
    monkeypatch.setattr("eval.statistics.interval.CHUNK", 400)
    assert ends(mean_interval(values, resamples=999)) == pytest.approx(ends(whole), abs=1e-12)


def test_memory_is_bounded():
    values = sample(20_000)
    tracemalloc.start()
    mean_interval(values, resamples=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20, "1000 x 20,000 draws at once would take 160 MB"


@pytest.mark.parametrize(("values", "options", "reason"), [([], {}, "no values"), ([float("nan")], {}, "finite")])
def test_what_has_no_interval(values, options, reason):
    with pytest.raises(InputError, match=reason):
        mean_interval(values, **options)


def test_many_values_are_drawn_less_often_but_often_enough(monkeypatch):
    values = [0.0, 1.0] * 2_000
    assert mean_interval(values[:50]) == mean_interval(values[:50], resamples=10_000)
    monkeypatch.setattr("eval.statistics.interval.DRAWS", 5_000_000)
    assert mean_interval(values) == mean_interval(values, resamples=1_250)
    monkeypatch.setattr("eval.statistics.interval.DRAWS", 1)
    assert mean_interval(values) == mean_interval(values, resamples=1_000)


def paired_bootstrap_p(a, b, **options):
    return significance.paired_bootstrap_p(np.subtract(b, a), **options)


def test_the_seed_of_a_test_decides_and_its_chunks_do_not(monkeypatch):
    a, b = sample(40), sample(40, seed=8)
    whole = paired_bootstrap_p(a, b, resamples=999)
    assert whole != paired_bootstrap_p(a, b, resamples=999, seed=1)
    monkeypatch.setattr("eval.statistics.pairs.CHUNK", 400)
    assert whole == paired_bootstrap_p(a, b, resamples=999)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.004, 0.012, 0.02])
def test_p_nears_the_t_tests_on_many_queries(shift):
    a = sample(1500)
    b = a + np.random.default_rng(5).normal(0, 0.2, a.size)
    b += shift - (b - a).mean()
    want = stats.ttest_rel(a, b).pvalue
    got = paired_bootstrap_p(a, b)
    assert got == pytest.approx(want, abs=0.02)
    assert paired_bootstrap_p(b, a) == pytest.approx(got, abs=1e-12)


def test_p_of_few_queries_is_that_of_all_resamples():
    z = np.array([0.1, 0.35, -0.05, 0.4])

    def t(values):
        deviation = np.std(values, ddof=1) if len(set(values)) > 1 else 0.0
        return abs(np.mean(values)) / deviation if deviation else np.inf * (np.mean(values) != 0)

    every = [t(np.array(drawn)) >= t(z) for drawn in product(z - z.mean(), repeat=4)]
    assert paired_bootstrap_p(z, np.zeros(4), resamples=40_000) == pytest.approx(np.mean(every), abs=0.01)


def test_p_is_uniform_where_there_is_no_difference():
    generator = np.random.default_rng(11)
    p = [paired_bootstrap_p(generator.normal(size=60), np.zeros(60), resamples=400) for _ in range(300)]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_degenerate_comparisons():
    same = sample(30)
    assert paired_bootstrap_p(same, same) == 1.0
    assert paired_bootstrap_p([0.3, 0.4], [0.2, 0.3]) == 0.5
    assert paired_bootstrap_p(same + 0.1, same, resamples=999) == 1 / 1000
    assert paired_bootstrap_p(same + 9, sample(30, seed=4), resamples=999) == 1 / 1000, "never 0"


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


@pytest.mark.slow
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


@pytest.mark.slow
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
def test_what_statistic_has_no_interval(arrays, statistic, options, reason):
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


@pytest.mark.slow
def test_coverage_agrees_with_students_interval():
    sample, splits = np.random.default_rng(6).random(600), 2000
    draw, hits = np.random.default_rng(9), 0
    for _ in range(splits):
        first, second = np.split(draw.permutation(sample), 2)
        reach = stats.t.ppf(0.9, 299) * first.std(ddof=1) / 300**0.5
        hits += abs(first.mean() - second.mean()) <= 2**0.5 * reach
    assert interval_coverage(sample, splits=1000)[0.8] == pytest.approx(hits / splits, abs=0.05)
