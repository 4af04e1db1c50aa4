from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from eval.statistics import pairs as significance
from eval.statistics.pairs import EXACT, holm, least_randomization_p

values = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1 / 3, 0.7, 1.0])
pairs = st.lists(st.tuples(values, values), min_size=1, max_size=9)


def randomization_p(a, b, **options):
    return significance.randomization_p(np.subtract(b, a), **options)


def effect_size(a, b):
    return significance.effect_size(np.subtract(b, a))


def by_enumeration(a, b):
    """Share of all ways of swapping the two values of queries that move the means as far apart, or farther."""
    observed = abs(sum(a) - sum(b))
    far = [
        abs(sum(y - x if swap else x - y for x, y, swap in zip(a, b, swaps, strict=True))) > observed - 1e-9
        for swaps in product([False, True], repeat=len(a))
    ]
    return sum(far) / len(far)


@pytest.mark.slow
@given(pairs)
def test_few_queries_are_counted_exactly(rows):
    a, b = zip(*rows, strict=True)
    p = randomization_p(a, b)
    assert p == pytest.approx(by_enumeration(a, b))
    assert 0 < p <= 1
    assert randomization_p(b, a) == p
    assert randomization_p(a, a) == 1.0


def test_rounding_makes_no_difference_of_equal_sums():
    # 0.1 + 0.2 > 0.3 in floating point: of the four distinct sums two, each with its mirror, are as far as 0.6.
    assert randomization_p([0.1, 0.2, 0.3], [0.0] * 3) == 2 / 8
    assert randomization_p([0.1, 0.2, -0.3], [0.0] * 3) == 1.0


def test_equal_queries_do_not_count_towards_what_can_be_enumerated():
    differing = np.linspace(0.1, 0.9, EXACT)
    a = np.concatenate([differing, np.full(500, 0.5)])
    b = np.concatenate([np.zeros(EXACT), np.full(500, 0.5)])
    assert randomization_p(a, b, resamples=1) == 2 / 2**EXACT


@given(st.lists(values, min_size=1, max_size=9))
def test_the_least_p_is_that_of_differences_in_one_direction(differences):
    assume(any(differences))
    assert least_randomization_p(np.array(differences)) == randomization_p(np.zeros(len(differences)), differences)
    assert least_randomization_p(np.array([0.1, -0.2, 0.3, -0.4, 0.5])) == 0.0625
    assert least_randomization_p(np.ones(EXACT + 1), resamples=99) == randomization_p(
        np.zeros(40), np.ones(40), resamples=99
    )


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.03, 0.08])
def test_many_queries_agree_with_scipy(shift):
    draw = np.random.default_rng(4)
    a = draw.beta(2, 1, 60)
    b = a + draw.normal(shift, 0.2, 60)
    want = stats.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=20_000, rng=1
    )
    got = randomization_p(a, b, resamples=20_000)
    assert got == pytest.approx(want.pvalue, abs=0.015)
    assert randomization_p(b, a, resamples=20_000) == pytest.approx(got, abs=1e-12)


def test_seed_decides_chunks_do_not_and_p_is_never_0(monkeypatch):
    draw = np.random.default_rng(0)
    a, b = draw.random(40), draw.random(40)
    whole = randomization_p(a, b, resamples=999)
    assert whole != randomization_p(a, b, resamples=999, seed=1)
    monkeypatch.setattr("eval.statistics.pairs.CHUNK", 400)
    assert randomization_p(a, b, resamples=999) == whole
    assert randomization_p(a + 5, b, resamples=999) == 1 / 1000


def test_p_is_uniform_where_there_is_no_difference():
    draw = np.random.default_rng(11)
    p = [randomization_p(draw.normal(size=40), np.zeros(40), resamples=400, seed=trial) for trial in range(300)]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_holm_by_hand():
    # 4 x 0.005; 3 x 0.01; 2 x 0.03; then 1 x 0.04, which may not fall below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.6, 0.7]) == (1.0, 1.0)
    assert holm([0.03]) == (0.03,)
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.001, 0.5))
def test_holm_rejects_what_the_step_down_procedure_rejects(p, alpha):
    adjusted = holm(p)
    assume(all(abs(value - alpha) > 1e-12 for value in adjusted))
    ordered = sorted(p)
    stop = next((k for k, value in enumerate(ordered) if value > alpha / (len(p) - k)), len(p))
    limit = ordered[stop] if stop < len(p) else 2.0
    assert [value <= alpha for value in adjusted] == [value < limit for value in p]


def test_effect_size():
    a, b = [0.1, 0.5, 0.2, 0.9], [0.4, 0.3, 0.8, 1.0]
    differences = np.subtract(b, a)
    assert effect_size(a, b) == pytest.approx(differences.mean() / np.std(differences, ddof=1))
    assert effect_size(b, a) == pytest.approx(-effect_size(a, b))
    assert effect_size(a, a) == 0.0
    assert effect_size([0.1, 0.2, 0.3], [0.2, 0.3, 0.4]) is None
    assert effect_size([0.1], [0.2]) is None


def test_the_smallest_differences_have_an_effect_size_too():
    assert effect_size([0.0, 0.0], [0.0, 2.2250738585072014e-308]) == pytest.approx(effect_size([0, 0], [0, 1]))
