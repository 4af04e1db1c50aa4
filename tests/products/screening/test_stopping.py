"""When reading may stop, beside the paper's test written with binomial coefficients."""

from fractions import Fraction
from math import comb, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from products.screening.stopping import estimate_recall, may_stop


def tail(found, urn, relevant, drawn):
    """P(X <= found) of Hypergeom(urn, relevant, drawn), exactly."""
    ways = sum(
        comb(relevant, k) * comb(urn - relevant, drawn - k)
        for k in range(min(found, relevant) + 1)
        if 0 <= drawn - k <= urn - relevant
    )
    return Fraction(ways, comb(urn, drawn))


def p_of(read, unread, missing):
    chances = [Fraction(1)]
    for drawn in range(1, len(read) + 1):
        found = sum(read[-drawn:])
        chances.append(tail(found, drawn + unread, found + missing, drawn))
    return min(chances)


readings = st.tuples(st.lists(st.booleans(), max_size=12), st.integers(0, 12), st.integers(0, 3))


@given(readings)
def test_the_bound_is_the_smallest_that_is_not_rejected(reading):
    read, unread, known = reading
    found = estimate_recall(read, unread, known=known, confidence=0.9)
    allowed = [missing for missing in range(1, unread + 1) if p_of(read, unread, missing) >= Fraction(1, 10)]
    assert found.missing_at_most == max(allowed, default=0)
    total = known + sum(read)
    assert found.at_least == (total / (total + found.missing_at_most) if total else 0)


@given(readings, st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_one_test_says_the_same_as_the_bound(reading, target):
    read, unread, known = reading
    estimate = estimate_recall(read, unread, known=known, target=target, confidence=0.9)
    assert may_stop(read, unread, known=known, target=target, confidence=0.9) == estimate.reached


def test_the_papers_hypothesis_is_the_one_tested():
    # K = floor(found / target - found before the draws + 1), Callaghan & Mueller-Hansen 2020, equation 2.
    read, unread, target = [True] * 10 + [False] * 60, 30, 0.8
    chances = []
    for drawn in range(1, len(read) + 1):
        before = sum(read[:-drawn])
        relevant = floor(sum(read) / target - before + 1)
        chances.append(tail(sum(read[-drawn:]), drawn + unread, relevant, drawn))
    assert min(chances) < Fraction(1, 20)
    assert may_stop(read, unread, target=target)
    assert not may_stop([True] * 10 + [False] * 10, unread, target=target)


def test_with_everything_read_recall_is_known():
    found = estimate_recall([True, False], 0)
    assert (found.at_least, found.missing_at_most, found.reached) == (1.0, 0, True)


def test_nineteen_of_twenty_are_95_percent():
    # All but one of the unread papers are excluded by the test; nothing but rounding could stand between.
    read = [True] * 19 + [False] * 4000
    assert may_stop(read, 1)
    assert estimate_recall(read, 1).reached


def test_nothing_is_known_before_anything_is_read():
    found = estimate_recall([], 30, known=3)
    assert (found.missing_at_most, found.reached) == (30, False)
    assert estimate_recall([False] * 5, 30).at_least == 0


@pytest.mark.parametrize(("given", "told"), [({"target": 0}, "<target>"), ({"confidence": 1}, "<confidence>")])
def test_targets_are_shares(given, told):
    with pytest.raises(InputError) as raised:
        estimate_recall([True], 3, **given)
    assert told in raised.value.hint
