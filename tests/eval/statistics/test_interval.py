import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks import coverage
from corpora.errors import InputError
from eval.statistics.interval import mean_interval


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


@pytest.mark.parametrize(
    ("values", "options", "reason"),
    [
        ([], {}, "no values"),
        ([float("nan")], {}, "finite"),
    ],
)
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
