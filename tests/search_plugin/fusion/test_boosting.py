import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from search_plugin.contract.schema import PAPER_FIELDS, Field
from search_plugin.fusion.boosting import Boost, boosted_ids, parse_boost

FIELDS = (*PAPER_FIELDS, Field("impact", "number", origin="forecast"), Field("cited", "number"))


@given(st.lists(st.none() | st.floats(-50, 150), max_size=40), st.floats(0, 1))
def test_no_paper_is_hidden_and_none_moves_further_than_its_share(values, strength):
    ids = [f"p{number}" for number in range(len(values))]
    known = {id_: value for id_, value in zip(ids, values, strict=True) if value is not None}
    found = boosted_ids(ids, known, strength)
    assert sorted(found) == sorted(ids)
    for place, id_ in enumerate(found, start=1):
        rank = ids.index(id_) + 1
        # A paper is overtaken only by those whose ranks are near enough for both factors together.
        assert rank * (1 - strength / 2) / (1 + strength / 2) - 1 <= place
        assert place <= rank * (1 + strength / 2) / max(1 - strength / 2, 0.5) + 1
    if strength == 0:
        assert found == ids


def test_ranks_are_multiplied_by_the_factor_of_the_percentile():
    ids = [f"p{number}" for number in range(1, 21)]
    percentiles = {"p20": 100, "p1": 0, "p10": 0, "p15": 75}
    factors = {"p20": 0.9, "p1": 1.1, "p10": 1.1, "p15": 0.95}
    new = {id_: rank * factors.get(id_, 1) for rank, id_ in enumerate(ids, start=1)}
    assert boosted_ids(ids, percentiles, 0.2) == sorted(ids, key=lambda id_: (new[id_], ids.index(id_)))
    assert boosted_ids(ids, percentiles, 0.2) != ids
    assert boosted_ids(["a", "b"], {"b": 100, "a": 0}, 1.0) == ["b", "a"]
    for beyond in ({"b": 400}, {"a": -300}, {"b": "100"}, {"b": True, "a": 40}):
        assert boosted_ids(["a", "b"], beyond, 1.0) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("impact", Boost("impact", 0.2)),
        ("impact=0.5", Boost("impact", 0.5)),
        ("impact = 0", Boost("impact", 0.0)),
        ("impact=1", Boost("impact", 1.0)),
    ],
)
def test_a_boost_is_read(text, expected):
    assert parse_boost(text, FIELDS) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cited", "can't be boosted by 'cited', only by forecasts; this index has impact"),
        ("year=0.1", "only by forecasts"),
        ("impact=1.01", "can't have the strength '1.01'; give a number from 0 to 1"),
        ("impact=2", "can't have the strength '2'"),
        ("impact=x", "can't have the strength 'x'"),
        ("impact=nan", "can't have the strength"),
    ],
)
def test_other_boosts_are_refused(text, said):
    with pytest.raises(InputError, match=said):
        parse_boost(text, FIELDS)


def test_an_index_without_forecasts_says_so():
    with pytest.raises(InputError, match="this index has none yet"):
        parse_boost("impact", PAPER_FIELDS)
