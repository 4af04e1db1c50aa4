import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import percentileofscore, spearmanr

from corpora.errors import InputError, SesError
from encoders.formats import Format
from products.forecasts.forecaster import intervals
from products.forecasts.percentiles import CitedPaper, ranked_papers
from products.forecasts.store import DESCRIPTION, read_forecaster, write_forecaster
from products.forecasts.training import ForecastOptions, measured_forecasts, train_forecaster
from products.trained import TrainedVectors
from tests.damage import EDITS, edited

SOURCE = TrainedVectors("tiny", "f", Format.RGN)


def planted(count, seed=0):
    """Vectors, and percentiles that follow from them with much noise, more of it above."""
    draw = np.random.default_rng(seed)
    vectors = draw.standard_normal((count, 8)).astype(np.float32)
    signal = vectors[:, 0]
    noisy = signal + draw.standard_normal(count) * (1 + (signal > 0))
    return vectors, 100 * (noisy.argsort().argsort() + 0.5) / count


@pytest.fixture(scope="module")
def forecaster():
    vectors, percentiles = planted(4_000)
    return train_forecaster(
        "impact", SOURCE, vectors, percentiles, [2020] * 4_000, ForecastOptions(), made_from="a test"
    )


def test_intervals_hold_as_often_as_they_claim(forecaster):
    vectors, percentiles = planted(4_000, seed=1)
    found = measured_forecasts(forecaster, vectors, percentiles, np.repeat([2019, 2020], 2_000), "new papers")
    assert 0.87 <= found.coverage <= 0.93
    assert 0.87 <= forecaster.measures.coverage <= 0.93
    assert [(year, count) for year, _, count in found.by_year] == [(2019, 2_000), (2020, 2_000)]
    assert np.mean([share for _, share, _ in found.by_year]) == pytest.approx(found.coverage)
    expected, low, high = forecaster.forecast(vectors).T
    assert ((low <= expected) & (expected <= high)).all()
    assert found.width == pytest.approx((high - low).mean())
    # In every category, not only on average.
    place = np.searchsorted(forecaster.edges, expected, "right")
    assert len(forecaster.edges) == 9
    for category in range(10):
        rows = place == category
        assert ((low <= percentiles) & (percentiles <= high))[rows].mean() > 0.8


def test_forecasts_are_better_than_none_and_measured_right(forecaster):
    vectors, percentiles = planted(1_000, seed=2)
    found = measured_forecasts(forecaster, vectors, percentiles, np.full(1_000, 2020), "")
    expected = forecaster.forecast(vectors)[:, 0]
    assert found.error == pytest.approx(np.abs(expected - percentiles).mean())
    assert found.error < found.blind_error == pytest.approx(np.abs(50 - percentiles).mean())
    assert found.correlation == pytest.approx(spearmanr(expected, percentiles).statistic)


def test_calibration_papers_are_neither_fitted_nor_tested(forecaster):
    assert forecaster.measures.papers == 1_000
    assert forecaster.measures.how == "1,000 papers that were held out, of 4,000"
    # With as many numbers as papers, a regression knows its own papers by heart, and no others.
    draw = np.random.default_rng(0)
    noise = draw.standard_normal((400, 250)).astype(np.float32)
    found = train_forecaster("n", SOURCE, noise, draw.random(400) * 100, [2020] * 400, ForecastOptions()).measures
    assert found.coverage > 0.8
    assert found.width > 60


@given(st.lists(st.floats(0, 100), min_size=1, max_size=60), st.sampled_from([50, 80, 90]), st.integers(1, 4))
def test_an_interval_leaves_out_the_share_on_both_sides(outcomes, level, categories):
    values = np.array(outcomes)
    forecasts = np.arange(len(values), dtype=float)
    edges, low, high = intervals(forecasts, values, level / 100, categories)
    assert len(edges) + 1 == len(low) == len(high)
    place = np.searchsorted(edges, forecasts, "right")
    for category in range(len(low)):
        members = sorted(values[place == category])
        rank = (len(members) + 1) * (100 - level) // 200
        ends = (members[rank - 1], members[-rank]) if rank else (0.0, 100.0)
        assert (low[category], high[category]) == ends


def test_a_stored_forecaster_forecasts_alike(forecaster, tmp_path):
    write_forecaster(tmp_path, forecaster)
    again = read_forecaster(tmp_path)
    vectors, _ = planted(20, seed=3)
    np.testing.assert_array_equal(again.forecast(vectors), forecaster.forecast(vectors))
    assert (again.source, again.level, again.measures) == (forecaster.source, forecaster.level, forecaster.measures)
    path = tmp_path / DESCRIPTION
    path.write_text(json.dumps(json.loads(path.read_text()) | {"low": [0.0]}))
    with pytest.raises(InputError, match="don't fit one another"):
        read_forecaster(tmp_path)


@given(EDITS)
def test_a_damaged_forecaster_is_read_or_refused(forecaster, tmp_path_factory, edits):
    folder = tmp_path_factory.mktemp("damaged")
    write_forecaster(folder, replace(forecaster, measures=None))
    path = folder / DESCRIPTION
    path.write_bytes(edited(path.read_bytes(), edits))
    with suppress(SesError):
        read_forecaster(folder)


@given(st.lists(st.tuples(st.sampled_from("AB"), st.integers(2000, 2001), st.integers(0, 5)), min_size=1, max_size=40))
def test_percentiles_are_within_field_and_year(rows):
    papers = [CitedPaper(str(number), cited, (venue, year)) for number, (venue, year, cited) in enumerate(rows)]
    groups = {}
    for paper in papers:
        groups.setdefault(paper.group, []).append(paper)
    merged = {}
    for (venue, year), members in groups.items():
        merged.setdefault((venue if len(members) >= 3 else "", year), []).extend(members)
    kept = {group: members for group, members in merged.items() if len(members) >= 3}
    if not kept:
        with pytest.raises(InputError, match="No field and year has 3 papers"):
            ranked_papers(papers, 3)
        return
    found = ranked_papers(papers, 3)
    assert (found.groups, found.left_out) == (len(kept), len(papers) - len(found.ids))
    by_id = dict(zip(found.ids, found.percentiles, strict=True))
    expected = {
        paper.id: percentileofscore([one.citations for one in members], paper.citations, "mean")
        for members in kept.values()
        for paper in members
    }
    assert by_id == pytest.approx(expected)


@pytest.mark.parametrize("options", [{"level": 1.0}, {"held_out": 0.5}])
def test_options_out_of_bounds_are_refused(options):
    with pytest.raises(InputError):
        ForecastOptions(**options)


def test_too_few_papers_are_refused():
    vectors, percentiles = planted(99)
    with pytest.raises(InputError, match="99 papers have vector, citations and year, and a forecaster needs 100"):
        train_forecaster("n", SOURCE, vectors, percentiles, [2020] * 99, ForecastOptions())
