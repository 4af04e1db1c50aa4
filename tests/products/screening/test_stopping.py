"""When reading may stop: bets on windows beside their definition, and how often the bound is wrong."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from products.screening.stopping import estimate_recall, may_stop, p_value


def p_of(read, unread, missing):
    """Return one over the largest mean of bets, one begun at each paper, kept one by one."""
    papers, bets, best = len(read) + unread, [], Fraction(1)
    for at, relevant in enumerate(read):
        chance = Fraction(missing + sum(read[at:]), papers - at)
        bets = [Fraction(0) if relevant else bet / (1 - chance) for bet in (*bets, Fraction(1))]
        best = max(best, (sum(bets) + papers - at - 1) / papers)
    return 1 / best


readings = st.tuples(st.lists(st.booleans(), max_size=12), st.integers(0, 12), st.integers(0, 3))


@given(readings)
def test_the_bound_is_the_smallest_that_is_not_rejected(reading):
    read, unread, known = reading
    found = estimate_recall(read, unread, known=known, confidence=0.9)
    allowed = [missing for missing in range(1, unread + 1) if p_of(read, unread, missing) > Fraction(1, 10)]
    assert found.missing_at_most == max(allowed, default=0)
    total = known + sum(read)
    assert found.at_least == (total / (total + found.missing_at_most) if total else 0)


@given(readings, st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_one_test_says_the_same_as_the_bound(reading, target):
    read, unread, known = reading
    estimate = estimate_recall(read, unread, known=known, target=target, confidence=0.9)
    assert may_stop(read, unread, known=known, target=target, confidence=0.9) == estimate.reached


@given(readings, st.integers(0, 12))
def test_the_p_value_is_that_of_the_bets(reading, missing):
    read, unread, _ = reading
    missing = min(missing, unread)
    assert math.isclose(p_value(read, unread, missing), p_of(read, unread, missing), rel_tol=1e-9)


def test_one_window_without_a_find_is_the_hypergeometric_test():
    # 3 of 40 papers are relevant; none is among the first 20. The bet of the first window is one over the probability.
    draws = math.comb(37, 20) / math.comb(40, 20)
    begun_later = [math.comb(40 - n - 3, 20 - n) / math.comb(40 - n, 20 - n) for n in range(20)]
    assert begun_later[0] == draws
    assert p_value([False] * 20, 20, 3) == pytest.approx(40 / (sum(1 / one for one in begun_later) + 20))


@pytest.mark.parametrize(("papers", "relevant", "odds"), [(100, 5, 1), (300, 60, 1), (300, 15, 1), (300, 15, 4)])
def test_the_bound_is_wrong_at_any_look_in_at_most_5_percent_of_orders(papers, relevant, odds):
    chance, orders = np.random.default_rng(papers + relevant), 1000
    rates = np.where(np.arange(papers) < relevant, odds, 1.0)
    wrong = 0
    for _ in range(orders):
        order = np.argsort(chance.exponential(size=papers) / rates) < relevant
        # The truth, once rejected, stays rejected: one p-value covers all looks.
        wrong += p_value(order[:-1], 1, int(order[-1])) <= 0.05
    # The 99.9 % quantile of Binomial(1000, 0.05) is 72.
    assert wrong <= 72
    assert odds > 1 or wrong >= 10, "it should not be far too careful"


def test_what_was_rejected_once_stays_rejected():
    read = [False] * 60 + [True] + [False] * 5
    assert p_value(read, 20, 5) <= p_value(read[:60], 26, 6)


def test_reading_may_stop_late_but_it_may():
    assert may_stop([True] * 10 + [False] * 60, 4, target=0.8)
    assert not may_stop([True] * 10 + [False] * 10, 30, target=0.8)


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
