"""How long a page takes over several shards: it waits for the slowest of them, so p99 grows with their number.

Dean and Barroso, "The tail at scale", CACM 56(2), 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

_DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class LegTimes:
    """The milliseconds in which a shard answers both legs: the median, and the 99th percentile; log-normal."""

    median: float
    p99: float

    def slower(self, milliseconds: float) -> LegTimes:
        """Return the times of a shard whose median is longer by some milliseconds, with the same spread."""
        return LegTimes(self.median + milliseconds, self.p99 * (self.median + milliseconds) / self.median)


def page_times(legs: LegTimes, rest: float, shards: int, shares: Sequence[float]) -> tuple[float, ...]:
    """Simulate pages over shards that answer independently of each other.

    Args:
        legs: The times of one shard.
        rest: Milliseconds of a page beside its legs.
        shards: Number of shards.
        shares: Shares of the pages, each between 0 and 1.

    Returns:
        For each share, the milliseconds that it of the pages does not exceed.
    """
    import numpy as np

    draw = np.random.default_rng(0)
    middle = np.log(legs.median)
    spread = np.log(legs.p99 / legs.median) / NormalDist().inv_cdf(0.99)
    slowest = np.zeros(_DRAWS)
    for _ in range(shards):
        np.maximum(slowest, draw.lognormal(middle, spread, _DRAWS), out=slowest)
    return tuple(float(one) + rest for one in np.quantile(slowest, shares))
