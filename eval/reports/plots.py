"""Plots of results as SVG, drawn by matplotlib without its global state."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from corpora.errors import UnavailableError
from eval.reports.report import printable
from eval.statistics.bootstrap import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#2b6cb0", "#dd6b20", "#a0aec0"

MOST_MARKS = 2_000
"""With more points than this, they are a picture within the drawing: each would be an element of its own."""

_LONGEST_LABEL = 32


def bars(cells: Mapping[str, Interval | float], measure: str) -> str:
    """Draw a bar for each label, with the interval where there is one.

    Args:
        cells: Label to value.
        measure: What the values are.

    Returns:
        An `<svg>` element.
    """
    labels, values = [_label(name) for name in cells], list(cells.values())
    means = [_mean(value) for value in values]

    def draw(axes: Any) -> None:
        axes.barh(range(len(values)), means, color=BLUE, height=0.6, xerr=_reaches(values), ecolor="#1a202c", capsize=3)
        axes.set_yticks(range(len(values)), labels)
        axes.invert_yaxis()
        axes.set_xlabel(_label(measure))
        axes.axvline(0, color=GREY, linewidth=0.8)

    return _svg(f"{measure} by {len(cells)} bars", draw, height=1.1 + 0.36 * len(values))


def scatter(a: Sequence[float], b: Sequence[float], names: tuple[str, str], measure: str) -> str:
    """Draw each query as a point: one run's value to the right, the other's upwards, and where both are equal.

    Args:
        a: One value per query.
        b: The other run's, in the same order.
        names: Of the runs.
        measure: What the values are.

    Returns:
        An `<svg>` element.
    """

    def draw(axes: Any) -> None:
        low, high = min(0.0, *a, *b), max(*a, *b, 1e-9)
        axes.plot([low, high], [low, high], color=GREY, linewidth=1)
        axes.scatter(a, b, s=18, alpha=0.45, color=BLUE, edgecolors="none", rasterized=len(a) > MOST_MARKS)
        axes.set_xlabel(_label(f"{measure}, {names[0]}"))
        axes.set_ylabel(_label(f"{measure}, {names[1]}"))
        axes.set_aspect("equal", adjustable="datalim")

    return _svg(f"{measure} of {names[0]} and {names[1]} by query", draw, width=4.8, height=4.6)


def reliability(coverage: Mapping[str, Mapping[float, float]]) -> str:
    """Draw how often intervals of each level held the mean, beside how often they ought to.

    Args:
        coverage: By label, what `interval_coverage` returns.

    Returns:
        An `<svg>` element.
    """

    def draw(axes: Any) -> None:
        levels = sorted({level for one in coverage.values() for level in one})
        axes.plot(levels, levels, color=GREY, linewidth=1, label="as promised")
        for name, held in coverage.items():
            # A legend leaves out what begins with an underscore.
            label = " " + _label(name)
            axes.plot(list(held), list(held.values()), marker="o", markersize=4, linewidth=1.2, label=label)
        axes.set_xlabel("level of the interval")
        axes.set_ylabel("share that held the mean")
        axes.legend(frameon=False, fontsize=9)

    return _svg("Coverage of intervals", draw, width=4.8, height=4.4)


def speed_and_quality(seconds: Mapping[str, float], cells: Mapping[str, Interval | float], measure: str) -> str:
    """Draw quality over time, for all that has both.

    Args:
        seconds: Time by label, each above 0.
        cells: Value by label.
        measure: What the values are.

    Returns:
        An `<svg>` element.
    """
    labels = [label for label in cells if label in seconds]
    values = [cells[label] for label in labels]
    times, means = [seconds[label] for label in labels], [_mean(value) for value in values]

    def draw(axes: Any) -> None:
        axes.errorbar(times, means, yerr=_reaches(values), fmt="o", color=ORANGE, ecolor=GREY, capsize=3)
        for label, time, mean in zip(labels, times, means, strict=True):
            axes.annotate(_label(label), (time, mean), xytext=(6, 5), textcoords="offset points", fontsize=9)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.set_xlabel("seconds (log scale)")
        axes.set_ylabel(_label(measure))

    return _svg(f"{measure} and seconds", draw, height=4.2)


def _svg(title: str, draw: Any, *, width: float = 7.0, height: float) -> str:
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UnavailableError("Plots need matplotlib; install it: pip install 'ses[eval]'.") from error
    # Labels come from data: $ is no formula in them. Equal plots get equal ids, so that reports can be compared.
    settings = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": title, "font.size": 10}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # Text stays text, in the reader's fonts: that matplotlib's own lacks a character doesn't matter.
        warnings.simplefilter("ignore", UserWarning)
        figure: Figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots()
        axes.spines[["top", "right"]].set_visible(False)
        draw(axes)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].rstrip()
    # Groups have the same ids in every plot, to which nothing refers; a text holds no bare <.
    svg = re.sub(r'<g id="[^"<>]*"', "<g", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(printable(title))}" ', 1)


def _label(text: str) -> str:
    clean = printable(text)
    return clean if len(clean) <= _LONGEST_LABEL else f"{clean[: _LONGEST_LABEL - 1]}…"


def _mean(value: Interval | float) -> float:
    return value.mean if isinstance(value, Interval) else value


def _reaches(values: Iterable[Interval | float]) -> list[list[float]]:
    """How far each interval goes down and up from its value; a statistic may lie outside its own by a little."""
    pairs = [(value.low, value.mean, value.high) if isinstance(value, Interval) else (0.0,) * 3 for value in values]
    return [[max(0.0, mean - low) for low, mean, _ in pairs], [max(0.0, high - mean) for _, mean, high in pairs]]
