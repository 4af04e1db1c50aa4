from itertools import product

import numpy as np
import pytest
from scipy import stats

from eval.statistics import pairs as significance


def paired_bootstrap_p(a, b, **options):
    return significance.paired_bootstrap_p(np.subtract(b, a), **options)


def sample(n, seed=3):
    return np.random.default_rng(seed).beta(2, 1, n)


def test_seed_decides_and_chunks_do_not(monkeypatch):
    a, b = sample(40), sample(40, seed=8)
    whole = paired_bootstrap_p(a, b, resamples=999)
    assert whole != paired_bootstrap_p(a, b, resamples=999, seed=1)
    monkeypatch.setattr("eval.statistics.pairs.CHUNK", 400)
    assert whole == paired_bootstrap_p(a, b, resamples=999)


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
