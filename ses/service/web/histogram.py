"""The papers of each year as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

HEIGHT = 48
MOST_BARS = 60
"""More years than this are joined, so that a bar can be pressed."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its years, its papers, its place and height in the drawing, and whether it is chosen."""

    first: int
    last: int
    count: int
    x: int
    height: float
    chosen: bool


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bars from the first to the last year that has papers; `width` is that of the drawing, in units of its bars."""

    bars: tuple[Bar, ...]
    first: int
    last: int
    width: int


def histogram(counts: Sequence[tuple[Any, int]], first: int | None, last: int | None) -> Histogram | None:
    """Return the histogram of the counts of years; None without two years.

    Args:
        counts: Years and their counts, in any order.
        first: First year chosen.
        last: Last year chosen.

    Returns:
        The bars, each `10` wide.
    """
    held = {int(year): count for year, count in counts}
    if len(held) < 2:
        return None
    low, high = min(held), max(held)
    step = -(-(high - low + 1) // MOST_BARS)
    spans = [(start, min(start + step - 1, high)) for start in range(low, high + 1, step)]
    sums = [sum(held.get(year, 0) for year in range(start, end + 1)) for start, end in spans]
    most = max(sums)
    bars = tuple(
        Bar(
            start,
            end,
            count,
            10 * at,
            round(max(HEIGHT * count / most, 2 if count else 0), 1),
            (first is None or end >= first) and (last is None or start <= last),
        )
        for at, ((start, end), count) in enumerate(zip(spans, sums, strict=True))
    )
    return Histogram(bars, low, high, 10 * len(bars))
