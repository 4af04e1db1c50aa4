import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import percentileofscore, spearmanr
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict

from corpora.errors import InputError, SesError
from corpora.progress import Silent
from encoders.heads import Head
from encoders.models.formats import Format
from products.forecasts.forecaster import (
    DESCRIPTION,
    Forecaster,
    apply_forecaster,
    intervals,
    read_forecaster,
    write_forecaster,
)
from products.forecasts.training import (
    CitedPaper,
    ForecastOptions,
    _correlation,
    cited_papers,
    measured_forecasts,
    ranked_papers,
    train_forecaster,
)
from products.trained import TrainedVectors
from tests.damage import EDITS, edited
from tests.search_plugin.engines.embedded.small import document, make

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


def test_intervals_are_of_forecasts_for_papers_that_were_not_fitted(forecaster):
    assert forecaster.measures.papers == 1_000
    assert forecaster.measures.how == "1,000 papers that were held out, of 4,000"
    # With as many numbers as papers, a regression knows its own papers by heart, and no others.
    draw = np.random.default_rng(0)
    noise = draw.standard_normal((400, 250)).astype(np.float32)
    found = train_forecaster("n", SOURCE, noise, draw.random(400) * 100, [2020] * 400, ForecastOptions()).measures
    assert found.coverage > 0.8
    assert found.width > 60


def test_each_part_of_the_papers_decides_one_thing():
    vectors, percentiles = planted(400)
    options = ForecastOptions(seed=3)
    order = np.random.default_rng(3).permutation(400)
    share = int(options.held_out * 400)

    def trained(changed):
        given = percentiles.copy()
        given[changed] /= 2
        made = train_forecaster("n", SOURCE, vectors, given, [2020] * 400, options)
        weights = [*made.head.weight[0].tolist(), *made.head.bias.tolist()]
        return weights, [made.edges.tolist(), made.low.tolist(), made.high.tolist()], made.measures

    plain = trained(order[:0])
    for changed, same in ((order[:share], [True, True, False]), (order[share:], [False, False])):
        assert [one == other for one, other in zip(trained(changed), plain, strict=True)][: len(same)] == same


def test_the_correlation_with_a_constant_is_0():
    assert _correlation(np.ones(4), np.arange(4.0)) == _correlation(np.arange(4.0), np.ones(4)) == 0


def test_a_forecast_at_an_edge_is_of_the_category_above(forecaster):
    vectors, _ = planted(1, seed=4)
    (expected,) = forecaster.forecast(vectors)[:, 0]
    ends = {"low": np.array([1.0, 2.0]), "high": np.array([98.0, 99.0])}
    at_edge = replace(forecaster, edges=np.array([expected]), **ends)
    assert at_edge.forecast(vectors)[0, 1:].tolist() == [2, 99]
    # As in the calibration: of the forecasts 1, 2, 2 and 3, the upper half begins with the first 2.
    edges, low, high = intervals(np.array([1.0, 2, 2, 3]), np.array([10.0, 20, 30, 40]), 0.5, 2)
    assert (edges.tolist(), low.tolist(), high.tolist()) == ([2], [0, 20], [100, 40])


def test_as_many_papers_as_a_level_needs_are_enough():
    # (19 + 1) * (1 - 0.9) / 2 = 1, which is a little less in floating-point numbers.
    _, low, high = intervals(np.zeros(19), np.arange(19.0), 0.9, 1)
    assert (low.tolist(), high.tolist()) == ([0], [18])
    _, low, high = intervals(np.zeros(19), np.arange(1.0, 20), 0.9, 1)
    assert (low.tolist(), high.tolist()) == ([1], [19])
    _, low, high = intervals(np.zeros(18), np.arange(1.0, 19), 0.9, 1)
    assert (low.tolist(), high.tolist()) == ([0], [100])


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


def test_papers_are_compared_within_a_year_or_within_the_first_value_of_a_field_too(tmp_path):
    _, index = make(tmp_path)
    cited = {"a": {"score": 3, "tags": ("x", "y")}, "b": {"score": 0.0}, "c": {"tags": ("x",)}, "d": {"score": -1}}
    index.upsert([document(id_, year=2020, extra=extra) for id_, extra in cited.items()])
    index.upsert([document("e", year=None, extra={"score": 5})])
    assert cited_papers(index, "score", "") == [CitedPaper("a", 3, ("", 2020)), CitedPaper("b", 0, ("", 2020))]
    assert [one.group for one in cited_papers(index, "score", "tags")] == [("x", 2020), ("", 2020)]
    with pytest.raises(InputError, match="The field shelf is of the kind keyword"):
        cited_papers(index, "shelf", "")


@pytest.mark.parametrize("options", [{"level": 1.0}, {"held_out": 0.5}])
def test_options_out_of_bounds_are_refused(options):
    with pytest.raises(InputError):
        ForecastOptions(**options)


def test_too_few_papers_are_refused():
    vectors, percentiles = planted(99)
    with pytest.raises(InputError, match="99 papers have vector, citations and year, and a forecaster needs 100"):
        train_forecaster("n", SOURCE, vectors, percentiles, [2020] * 99, ForecastOptions())


def test_applied_forecasts_have_one_decimal_and_their_origin(tmp_path):
    _, index = make(tmp_path, 4)
    head = Head(
        "n", Format.CLF, (), several=False, weight=np.full((1, 3), 10, np.float32), bias=np.full(1, 50, np.float32)
    )
    source = TrainedVectors("tiny", "0123", Format.CLF)
    made = Forecaster("n", source, head, np.array([50.0]), np.array([1.25, 60]), np.array([40.0, 99]), 0.9)
    report = apply_forecaster(index, made, None, Silent())
    assert (report.forecaster, report.index, report.papers, report.written) == ("n", "papers", 4, 4)
    names = ["n", "n_low", "n_high"]
    for id_, row in index.vectors([f"p{number}" for number in range(4)], "clf").items():
        expected = float(np.clip(50 + 10 * row.sum(), 0, 100))
        low, high = (60, 99) if expected >= 50 else (1.25, 40)
        told = [round(one, 1) for one in (expected, min(low, expected), max(high, expected))]
        assert [index.values([id_], names)[id_][name] for name in names] == pytest.approx(told, abs=1e-6)
    fields = [index.schema.field(name) for name in names]
    assert [(field.kind, field.facet, field.origin) for field in fields] == [("number", False, "forecast")] * 3
    with pytest.raises(InputError, match="The field n is of the kind number and from forecast"):
        cited_papers(index, "n", "")


def test_the_penalty_suits_the_papers():
    vectors, percentiles = planted(400)
    fitted = np.random.default_rng(0).permutation(400)[100:]
    folds = KFold(5, shuffle=True, random_state=0)
    for scale in (1, 3):  # of penalties of 10 and 100
        rows = (scale * vectors).astype(np.float64)
        penalties = {"alpha": [0.01, 0.1, 1, 10, 100, 1000]}
        search = GridSearchCV(Ridge(), penalties, cv=folds, scoring="neg_mean_squared_error")
        wanted = search.fit(rows[fitted], percentiles[fitted]).best_estimator_
        said = cross_val_predict(wanted, rows[fitted], percentiles[fitted], cv=folds)
        slope, shift = np.polyfit(said, percentiles[fitted], 1)
        head = train_forecaster("n", SOURCE, rows, percentiles, [2020] * 400, ForecastOptions()).head
        np.testing.assert_allclose(head.weight[0], slope * wanted.coef_, rtol=1e-5)
        np.testing.assert_allclose(head.bias, shift + slope * wanted.intercept_, rtol=1e-5)
        assert search.best_params_["alpha"] in (10, 100)


def test_words_say_what_vectors_do_not(tmp_path):
    draw = np.random.default_rng(6)
    vectors = draw.standard_normal((800, 6)).astype(np.float32)
    fresh = draw.random(800) < 0.5
    fill = np.array(["river", "stone", "cloud", "window", "garden", "market", "bridge", "mirror"])
    texts = [" ".join([*draw.choice(fill, 5), "enzymes" if one else "galaxies"]) for one in fresh]
    signal = vectors[:, 0] + 2 * fresh + 0.3 * draw.standard_normal(800)
    percentiles = 100 * (signal.argsort().argsort() + 0.5) / 800
    made = {
        only: train_forecaster(
            "n", SOURCE, vectors, percentiles, [2020] * 800, ForecastOptions(vectors_only=only), texts=texts
        )
        for only in (False, True)
    }
    assert made[True].words is None
    assert made[False].measures.correlation > 0.9 > 0.75 > made[True].measures.correlation
    assert 0.82 <= made[False].measures.coverage <= 0.97
    write_forecaster(tmp_path / "n", made[False])
    again = read_forecaster(tmp_path / "n")
    assert again.forecast(vectors, texts).tolist() == made[False].forecast(vectors, texts).tolist()
    with pytest.raises(InputError, match="800 vectors came with 0 texts"):
        again.forecast(vectors)
