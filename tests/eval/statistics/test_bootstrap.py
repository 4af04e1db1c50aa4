import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy import stats

from corpora.errors import InputError
from eval.statistics.bootstrap import Interval, bootstrap_interval, paired_bootstrap_p


def sample(n, seed=3):
    return np.random.default_rng(seed).beta(2, 1, n)


def test_interval_is_scipys():
    values = sample(50)
    want = stats.bootstrap((values,), np.mean, n_resamples=2000, confidence_level=0.9, method="percentile", rng=7)
    got = bootstrap_interval(values, level=0.9, resamples=2000, seed=7)
    low, high = want.confidence_interval
    assert (got.low, got.mean, got.high) == pytest.approx((low, values.mean(), high))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_interval_nears_the_normal_one_on_many_queries(level):
    values = sample(2000)
    half = stats.norm.ppf((1 + level) / 2) * values.std() / np.sqrt(values.size)
    got = bootstrap_interval(values, level=level)
    assert (got.low, got.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.05 * half)


def test_interval_of_few_values_is_that_of_all_resamples():
    values = [0.0, 0.2, 1.0]
    every = [np.mean(drawn) for drawn in product(values, repeat=3)]
    got = bootstrap_interval(values, level=0.8, resamples=50_000)
    assert (got.low, got.high) == pytest.approx(tuple(np.quantile(every, [0.1, 0.9])))


def test_seed_decides_and_chunks_do_not(monkeypatch):
    values = sample(40)
    whole = bootstrap_interval(values, resamples=999), paired_bootstrap_p(values, values[::-1], resamples=999)
    monkeypatch.setattr("eval.statistics.bootstrap.CHUNK", 400)
    assert whole == (bootstrap_interval(values, resamples=999), paired_bootstrap_p(values, values[::-1], resamples=999))
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)


def test_memory_is_bounded():
    values = sample(20_000)
    tracemalloc.start()
    bootstrap_interval(values, resamples=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20, "1000 x 20,000 draws at once would take 320 MB"


def test_degenerate_intervals():
    assert bootstrap_interval([0.3]) == Interval(0.3, 0.3, 0.3)
    assert bootstrap_interval([0.25] * 9) == Interval(0.25, 0.25, 0.25)
    for values, options, reason in (
        ([], {}, "no values"),
        ([float("nan")], {}, "finite"),
        ([1.0], {"level": 1.0}, "between 0 and 1"),
        ([1.0], {"resamples": 0}, "resamples"),
    ):
        with pytest.raises(InputError, match=reason):
            bootstrap_interval(values, **options)


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
    for a, b, reason in (([1.0], [1.0], "two queries"), ([1.0, 2.0], [1.0], "2 and 1 queries")):
        with pytest.raises(InputError, match=reason):
            paired_bootstrap_p(a, b)
