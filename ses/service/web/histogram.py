"""The papers of each year as bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import sqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

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
    """Return the histogram of the counts of years, given in any order, and the years chosen; None without two years.

    Each bar is `10` wide. Heights grow with the square root of the counts, so that one full year does not flatten all
    others.
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
            round(max(HEIGHT * sqrt(count / most), 2 if count else 0), 1),
            (first is None or end >= first) and (last is None or start <= last),
        )
        for at, ((start, end), count) in enumerate(zip(spans, sums, strict=True))
    )
    return Histogram(bars, low, high, 10 * len(bars))


def drawn(shown: Histogram, address: str, number: Callable[[int], str]) -> Markup:
    """Return the bars as the content of an `svg`: shapes, each of which leads to its years.

    `address` is that of the search without years, and `number` writes a count in the reader's language. A template
    would take ten times as long, for a tenth of all pages of hits.
    """
    from markupsafe import Markup

    start = escape(address + ("&" if "?" in address else "?"))

    def shape(bar: Bar) -> str:
        years = str(bar.first) if bar.first == bar.last else f"{bar.first}\u2013{bar.last}"
        kind = "bar chosen" if bar.chosen else "bar"
        return (
            f'<a href="{start}year_from={bar.first}&amp;year_to={bar.last}" tabindex="-1"'
            f' data-first="{bar.first}" data-last="{bar.last}"><title>{years}: {escape(number(bar.count))}</title>'
            f'<rect class="bar-back" x="{bar.x}" y="0" width="10" height="52"/>'
            f'<rect class="{kind}" x="{bar.x + 1}" y="{50 - bar.height:.1f}" width="8" height="{bar.height}"/></a>\n'
        )

    axis = f'<rect class="axis" x="0" y="50" width="{shown.width}" height="1"/>'
    return Markup("".join([*map(shape, shown.bars), axis]))  # noqa: S704 - the address and the counts are escaped, all else are numbers
