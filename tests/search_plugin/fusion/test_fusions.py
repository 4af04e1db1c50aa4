"""Golden values by numpy, what must not change a ranking, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError, UnavailableError
from search_plugin.contract.legs import Contribution, Scored, ranked
from search_plugin.fusion.fusions import DEFAULT_FUSION, FUSIONS, check_weights, get_fusion, minmax, rrf, zscore

every_fusion = pytest.mark.parametrize("fuse", FUSIONS.values(), ids=FUSIONS)

# Eighths keep scores apart, so that scaling does not merge neighbours.
scores = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-800, 800).map(lambda n: n / 8), max_size=8)
legs_of_hits = st.dictionaries(
    st.sampled_from(["lexical", "prx", "qry"]),
    scores.map(lambda by_id: ranked(Scored(paper, score) for paper, score in by_id.items())),
    max_size=3,
)
weightings = st.dictionaries(st.sampled_from(["lexical", "prx", "qry"]), st.floats(0.01, 100), max_size=3)


def only(weights, legs):
    return {name: weight for name, weight in weights.items() if name in legs}


def hits(**by_id):
    return ranked(Scored(paper, score) for paper, score in by_id.items())


def by_paper(fused):
    return {hit.id: hit.score for hit in fused}


LEGS = {"lexical": hits(a=12.5, b=7.25, c=3.0, d=2.0), "prx": hits(c=0.91, a=0.88, e=0.85)}
WEIGHTS = {"lexical": 1.0, "prx": 3.0}


def golden(per_leg, weights, missing=0.0):
    """Scores by the matrix of legs and papers, independent of the code under test."""
    matrix = np.full((len(LEGS), 5), missing)
    for row, (leg, values) in enumerate(per_leg.items()):
        for hit, value in zip(LEGS[leg], values, strict=True):
            matrix[row, "abcde".index(hit.id)] = value
    return dict(zip("abcde", np.asarray(weights) @ matrix, strict=True))


def raw(leg):
    return np.array([hit.score for hit in LEGS[leg]])


def test_rrf_golden_values():
    expected = golden({leg: 1 / (60 + np.arange(1, len(LEGS[leg]) + 1)) for leg in LEGS}, [1, 3])
    fused = rrf(LEGS, WEIGHTS)
    assert by_paper(fused) == pytest.approx(expected)
    assert [hit.id for hit in fused] == ["c", "a", "e", "b", "d"]
    assert fused[1].contributions["prx"] == Contribution(rank=2, raw=0.88, value=3 / 62)
    assert by_paper(rrf({"prx": hits(a=1.0)}, {}, k=0)) == {"a": 1.0}


@pytest.mark.parametrize("floor", [0.0, 0.001])
def test_minmax_golden_values(floor):
    def scaled(values):
        part = (values - values.min()) / np.ptp(values)
        return np.where(part == 0, floor, part)

    fused = minmax(LEGS, WEIGHTS, floor=floor)
    assert by_paper(fused) == pytest.approx(golden({leg: scaled(raw(leg)) for leg in LEGS}, [0.25, 0.75]))
    assert [hit.id for hit in fused][:2] == ["c", "a"]


def test_zscore_golden_values():
    def standardized(values):
        return np.maximum((values - np.mean(values)) / np.std(values), 0.001)

    fused = zscore(LEGS, WEIGHTS)
    assert by_paper(fused) == pytest.approx(golden({leg: standardized(raw(leg)) for leg in LEGS}, [0.25, 0.75]))


def test_one_hit_and_equal_scores():
    single = {"prx": hits(a=-4.0), "lexical": hits(b=0.1, c=0.1, d=0.1)}
    assert by_paper(minmax(single, {})) == {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5}
    assert by_paper(zscore(single, {})) == dict.fromkeys("abcd", 0.0005)


@every_fusion
def test_few_legs(fuse):
    assert fuse({}, {}) == []
    assert fuse({"lexical": [], "prx": []}, {}) == []
    alone = fuse({"lexical": hits(a=3.0, b=2.0, c=1.0)}, {})
    assert [hit.id for hit in alone] == ["a", "b", "c"]
    assert set(alone[0].contributions) == {"lexical"}
    with_empty = fuse({"lexical": hits(a=3.0, b=2.0, c=1.0), "prx": []}, {"prx": 0.0})
    assert by_paper(with_empty) == pytest.approx(by_paper(alone))


@every_fusion
def test_the_better_of_two_hits_counts_and_ties_go_by_id(fuse):
    twice = {"lexical": [Scored("b", 5.0), Scored("a", 4.0), Scored("b", 3.0), Scored("c", 1.0)]}
    once = {"lexical": [Scored("b", 5.0), Scored("a", 4.0), Scored("c", 1.0)]}
    assert fuse(twice, {}) == fuse(once, {})
    assert fuse(twice, {})[0].contributions["lexical"].rank == 1
    tied = fuse({"one": hits(b=1.0), "two": hits(a=1.0)}, {})
    assert [hit.id for hit in tied] == ["a", "b"]


@every_fusion
@given(legs=legs_of_hits, weights=weightings)
def test_values_sum_to_the_score_and_the_order_is_total(fuse, legs, weights):
    fused = fuse(legs, only(weights, legs))
    assert {hit.id for hit in fused} == {hit.id for leg in legs.values() for hit in leg}
    assert fused == sorted(fused, key=lambda hit: (-hit.score, hit.id))
    for hit in fused:
        assert math.fsum(given.value for given in hit.contributions.values()) == hit.score
        for leg, part in hit.contributions.items():
            assert legs[leg][part.rank - 1] == Scored(hit.id, part.raw)


@every_fusion
@given(legs=legs_of_hits, weights=weightings, data=st.data())
def test_the_order_of_legs_changes_nothing(fuse, legs, weights, data):
    shuffled = dict(data.draw(st.permutations(list(legs.items()))))
    assert fuse(shuffled, only(weights, legs)) == fuse(legs, only(weights, legs))


@pytest.mark.parametrize("fuse", [minmax, zscore])
@given(legs=legs_of_hits, factor=st.floats(1e-6, 1e6), shift=st.integers(-5, 5))
def test_the_scale_of_a_leg_changes_nothing(fuse, legs, factor, shift):
    scaled = {leg: [Scored(hit.id, (hit.score + shift) * factor) for hit in leg_hits] for leg, leg_hits in legs.items()}
    assert by_paper(fuse(scaled, {})) == pytest.approx(by_paper(fuse(legs, {})), abs=1e-9)


@given(legs=legs_of_hits, weights=weightings)
def test_rrf_looks_at_ranks_alone(legs, weights):
    bent = {leg: [Scored(hit.id, math.atan(hit.score) ** 3) for hit in leg_hits] for leg, leg_hits in legs.items()}
    assert by_paper(rrf(bent, only(weights, legs))) == by_paper(rrf(legs, only(weights, legs)))


@pytest.mark.parametrize("fuse", [minmax, zscore])
@given(legs=legs_of_hits, weights=weightings, factor=st.sampled_from([0.5, 4.0, 2.0**900]))
def test_only_the_ratio_of_weights_matters(fuse, legs, weights, factor):
    weights = {leg: weights.get(leg, 1.0) for leg in legs}
    assert fuse(legs, {leg: weight * factor for leg, weight in weights.items()}) == fuse(legs, weights)


def test_tiny_differences_count():
    assert by_paper(zscore({"prx": hits(a=5e-324, b=0.0)}, {})) == {"a": 1.0, "b": 0.001}
    assert by_paper(minmax({"prx": hits(a=5e-324, b=0.0)}, {})) == {"a": 1.0, "b": 0.0}


@every_fusion
@pytest.mark.parametrize("score", [math.nan, math.inf, -1e300])
def test_scores_that_are_no_numbers_are_refused(fuse, score):
    with pytest.raises(UnavailableError, match=r"scored b with .* in the prx leg"):
        fuse({"prx": [Scored("a", 1.0), Scored("b", score)]}, {})


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"vector": 2}, "The weight vector=2 names no leg of this search; choose one of lexical, prx."),
        ({"prx": -0.5}, "The weight prx=-0.5 can't be used; give a number of 0 or more."),
        ({"prx": math.nan}, "The weight prx=nan can't be used; give a number of 0 or more."),
        ({"prx": math.inf}, "The weight prx=inf can't be used; give a number of 0 or more."),
        (
            {"prx": 0, "lexical": 0},
            "The weights of all legs are 0, so nothing would be ranked; give at least one above 0.",
        ),
    ],
)
@every_fusion
def test_weights_that_make_no_sense_are_refused(fuse, weights, message):
    with pytest.raises(InputError) as caught:
        fuse(LEGS, weights)
    assert str(caught.value) == message


def test_weights_are_1_where_none_is_named():
    assert check_weights(["prx", "lexical"], {"lexical": 0}) == {"prx": 1.0, "lexical": 0.0}


def test_registry():
    assert get_fusion(DEFAULT_FUSION) is minmax
    with pytest.raises(InputError, match=r"no fusion 'borda'; choose one of minmax, rrf, zscore\."):
        get_fusion("borda")
