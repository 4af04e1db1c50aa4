import math
from statistics import NormalDist

import pytest

from ses.planning.fan_out import LegTimes, page_times

LEGS = LegTimes(6.0, 12.0)


def slowest(share, shards):
    """The quantile of the slowest of some shards: all of them are at most that slow with the power of the share."""
    spread = math.log(LEGS.p99 / LEGS.median) / NormalDist().inv_cdf(0.99)
    return LEGS.median * math.exp(spread * NormalDist().inv_cdf(share ** (1 / shards)))


@pytest.mark.parametrize("shards", [1, 4, 40])
def test_a_page_waits_for_the_slowest_shard(shards):
    p50, p99 = page_times(LEGS, 8.0, shards, (0.5, 0.99))
    assert p50 - 8 == pytest.approx(slowest(0.5, shards), rel=0.02)
    assert p99 - 8 == pytest.approx(slowest(0.99, shards), rel=0.03)


def test_one_shard_is_as_fast_as_it_was_measured():
    assert page_times(LEGS, 0.0, 1, (0.5, 0.99)) == pytest.approx((6, 12), rel=0.03)


def test_more_shards_of_the_same_size_are_slower():
    medians = [page_times(LEGS, 0.0, shards, (0.5,)) for shards in (1, 2, 8, 64)]
    assert medians == sorted(medians)
    assert page_times(LEGS, 0.0, 8, (0.5,)) == page_times(LEGS, 0.0, 8, (0.5,))


def test_a_slower_shard_keeps_its_spread():
    assert LEGS.slower(6.0) == LegTimes(12.0, 24.0)
    assert LEGS.slower(0.0) == LEGS
