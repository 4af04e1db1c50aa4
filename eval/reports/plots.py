"""Plots of results, drawn by matplotlib without global state, as SVG in the page's colours."""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from statistics import fmean
from typing import TYPE_CHECKING, Any

from corpora.installed import optional
from corpora.outgoing import in_a_line
from eval.reports.report import shown
from eval.statistics.interval import Cell, Interval, value_of
from eval.statistics.pairs import SAME

if TYPE_CHECKING:
    from products.tags.measures import ReliabilityBin

INK, GREY = "#1a202c", "#8a94a6"
"""Colours of text and axes, and of guide lines."""

LIGHT = ("#2b6cb0", "#dd6b20", "#2f855a", "#b83280", "#6b46c1", "#0987a0", "#975a16", "#c53030")
"""Colours of series on a light page: dark enough for thin lines, and easy to distinguish."""

DARK = ("#63b3ed", "#f6ad55", "#68d391", "#f687b3", "#b794f4", "#4fd1c5", "#d6a75f", "#fc8181")
"""Colours of the same series on a dark page."""

MARKERS = "osD^vPXp"

WIDTH = 4.8
"""Inches: narrow enough that the text can be read when a phone shrinks the plot."""

_LONGEST_LABEL = 40
_VARIABLES = {INK: "currentColor", **{colour: f"var(--series-{i}, {colour})" for i, colour in enumerate(LIGHT)}}


def drawn(alt: str, draw: Callable[[Any], None], *, height: float) -> str:
    """Draw a plot as an `<svg>` element, whose colours are the page's where that sets `--series-0` and so on.

    `alt` describes the plot for readers who can't see it, `draw` takes the axes, and `height` is in inches, beside the
    legend. Raises `UnavailableError` if matplotlib isn't installed.
    """
    mpl = optional("matplotlib", "Plots need matplotlib", "eval")
    alt = in_a_line(alt)
    inked = dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    # Labels come from data, so $ must not start a formula. Equal plots get equal ids, so that reports can be compared.
    settings = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": alt, "font.size": 10, **inked}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # Text stays text, in the reader's fonts: a character that matplotlib's font lacks doesn't matter.
        warnings.simplefilter("ignore", UserWarning)
        figure = optional("matplotlib.figure", "Plots need matplotlib", "eval").Figure(
            figsize=(WIDTH, height), layout="constrained"
        )
        axes = figure.subplots()
        axes.spines[["top", "right"]].set_visible(False)
        draw(axes)
        _add_legend(figure, axes)
        buffer = io.StringIO()
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=metadata, transparent=True)
    svg = buffer.getvalue()
    # Texts have every < escaped, so that only tags are changed.
    svg = re.sub(r"<[^>]*>", _in_the_page, svg[svg.index("<svg") :].rstrip())
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1)


def standalone(svg: str) -> str:
    """Return a drawing as a separate file: on white, in the colours of a light page."""
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(variable, colour)
    return svg.replace("<svg ", '<svg style="background: #fff" ', 1) + "\n"


def label(text: str, longest: int = _LONGEST_LABEL) -> str:
    """Return a text for a plot. A long text is cut in the middle, because names often differ at the ends."""
    clean = in_a_line(text)
    kept = longest // 2
    return clean if len(clean) <= longest else f"{clean[:kept].rstrip()}…{clean[kept - longest + 1 :].lstrip()}"


def style(position: int) -> dict[str, Any]:
    """Return colour and marker of a series: both, since not everybody can distinguish colours."""
    turn, place = divmod(position, len(LIGHT))
    return {"color": LIGHT[place], "marker": MARKERS[(place + turn) % len(MARKERS)]}


def _add_legend(figure: Any, axes: Any) -> None:
    """Above the axes, where it hides nothing; the figure grows by its height."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    longest = max(map(len, labels))
    columns = min(len(labels), 3 if longest < 16 else 2 if longest < 26 else 1)
    figure.set_figheight(figure.get_figheight() + 0.21 * -(-len(labels) // columns))
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, frameon=False, fontsize=9, borderpad=0)


def _in_the_page(tag: re.Match[str]) -> str:
    # Nothing refers to the ids of groups, which are the same in every plot.
    text = re.sub(r'^<g id="[^"]*"', "<g", tag[0])
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return text


MOST_MARKS = 2_000
"""More points than this become a bitmap within the drawing, because each would be an SVG element."""

_MOST_TOLD = 60
_FEW_POINTS, _MOST_POINTS = 30, 300
_LONGEST_GROUP, _LONGEST_PART = 56, 22


def bars(groups: Mapping[str, Mapping[str, Cell]]) -> str:
    """Draw groups of bars as an `<svg>` element, by group and series, with the interval of each where there is one.

    A series that a group lacks takes no space in it.
    """
    series = list(dict.fromkeys(name for cells in groups.values() for name in cells))
    places, heads, below = _places(groups)

    def draw(axes: Any) -> None:
        for position, name in enumerate(series):
            cells = {places[group, name]: cells[name] for group, cells in groups.items() if name in cells}
            colour = LIGHT[position % len(LIGHT)]
            values = list(cells.values())
            # A legend leaves out what begins with an underscore.
            legend = f" {label(name)}" if len(series) > 1 else None
            axes.barh(list(cells), [*map(value_of, values)], height=0.8, color=colour, label=legend)
            known = {y: cell for y, cell in cells.items() if isinstance(cell, Interval)}
            reaches = _reaches(known.values())
            axes.errorbar(
                [*map(value_of, known.values())], list(known), xerr=reaches, fmt="none", ecolor=INK, capsize=2
            )
        for group, y in heads.items():
            text = axes.text(0, y, label(group, _LONGEST_GROUP), transform=axes.get_yaxis_transform(), va="center")
            text.set_in_layout(False)
        axes.set_ylim(below, -0.6)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.axvline(0, color=GREY, linewidth=0.8)

    values = [f"{group}, {name}: {shown(cell)}" for group, cells in groups.items() for name, cell in cells.items()]
    alt = "; ".join(values[:_MOST_TOLD]) + (
        f"; and {len(values) - _MOST_TOLD} more" if len(values) > _MOST_TOLD else ""
    )
    return drawn(f"Bars. {alt}.", draw, height=0.6 + 0.21 * below)


def scatter(a: Sequence[float], b: Sequence[float], names: tuple[str, str], measure: str) -> str:
    """Draw each query as a point of an `<svg>` element: one run's value on the x axis, the other's on the y axis."""
    points = Counter(zip(a, b, strict=True))

    def draw(axes: Any) -> None:
        low, high = min(0.0, *a, *b), max(*a, *b, 1e-9)
        room = 0.04 * (high - low)
        axes.plot([low, high], [low, high], color=GREY, linewidth=1)
        x, y = zip(*points, strict=True)
        sizes = [18 * count**0.5 for count in points.values()]
        many = len(points) > MOST_MARKS
        axes.scatter(x, y, s=sizes, alpha=0.55, color=LIGHT[0], edgecolors="none", rasterized=many)
        axes.set(xlim=(low - room, high + room), ylim=(low - room, high + room), aspect="equal")
        for name, show in zip(names, (axes.set_xlabel, axes.set_ylabel), strict=True):
            show(f"{label(name, _LONGEST_PART)}: {label(measure, _LONGEST_PART)}")

    better, worse = (sum(sign * (y - x) > SAME for x, y in zip(a, b, strict=True)) for sign in (1, -1))
    summary = (
        f"{names[1]} is better on {better:,}, {names[0]} on {worse:,}, and {len(a) - better - worse:,} are the same"
    )
    return drawn(f"{measure} of {len(a):,} queries as points: {summary}.", draw, height=4.4)


def reliability(coverage: Mapping[str, Mapping[float, float]]) -> str:
    """Draw how often each level of intervals contained the mean as an `<svg>` element.

    `coverage` is what `interval_coverage` returns, by label.
    """

    def draw(axes: Any) -> None:
        levels = sorted({level for one in coverage.values() for level in one})
        axes.plot(levels, levels, color=GREY, linewidth=1, linestyle="--", label="as promised")
        for position, (name, held) in enumerate(coverage.items()):
            line = {**style(position), "markersize": 5, "linewidth": 1.2, "alpha": 0.85}
            axes.plot(list(held), list(held.values()), label=f" {label(name)}", **line)
        axes.set_xlabel("level of the interval")
        axes.set_ylabel("share that held the mean")

    widest = {name: max(held) for name, held in coverage.items()}
    summary = "; ".join(f"{name} held {coverage[name][level]:.0%} at {level:.0%}" for name, level in widest.items())
    return drawn(f"Coverage of intervals by their level: {summary}.", draw, height=3.6)


def calibration(bins: Mapping[str, Sequence[ReliabilityBin]]) -> str:
    """Draw the share of predictions that are true by their probability as an `<svg>` element, one line per label.

    The larger a point, the more predictions it stands for.
    """

    def draw(axes: Any) -> None:
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="as promised")
        for position, (name, found) in enumerate(bins.items()):
            x, y = [one.probability for one in found], [one.share for one in found]
            most, look = max((one.count for one in found), default=1), style(position)
            axes.plot(x, y, color=look["color"], linewidth=0.8)
            axes.scatter(x, y, s=[4 + 40 * one.count / most for one in found], label=f" {label(name)}", **look)
        axes.set_xlabel("probability")
        axes.set_ylabel("share that is true")

    return drawn(f"Reliability of {', '.join(bins)}.", draw, height=3.6)


def speed_and_quality(seconds: Mapping[str, float], cells: Mapping[str, Cell], measure: str) -> str:
    """Draw quality over time as an `<svg>` element, for all labels that have both; times are above 0."""
    both = {name: cell for name, cell in cells.items() if name in seconds}

    def draw(axes: Any) -> None:
        for position, (name, cell) in enumerate(both.items()):
            known = _reaches([cell]) if isinstance(cell, Interval) else None
            look = {**style(position), "markersize": 8, "linestyle": "none", "capsize": 3}
            axes.errorbar([seconds[name]], [value_of(cell)], yerr=known, label=f" {label(name)}", **look)
        axes.set_xscale("log")
        axes.xaxis.get_major_locator().set_params(subs=(1.0, 2.0, 5.0))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.margins(0.1, 0.1)
        axes.set_xlabel("seconds (log scale)")
        axes.set_ylabel(label(measure))

    summary = "; ".join(f"{name}: {shown(cell)} in {seconds[name]:.3g} seconds" for name, cell in both.items())
    return drawn(f"{measure} against time. {summary}.", draw, height=3.4)


def curves(lines: Mapping[str, Mapping[int, float]], over: str, measure: str) -> str:
    """Draw values over a count, such as losses over steps, as an `<svg>` element with one line for each series.

    `lines` has the value at each count by label; `over` says what is counted, and `measure` what the values are. Long
    series are drawn as means of neighbours.
    """

    def draw(axes: Any) -> None:
        for position, (name, values) in enumerate(lines.items()):
            look = style(position) if len(values) <= _FEW_POINTS else {"color": LIGHT[position % len(LIGHT)]}
            x, y = _thinned(values)
            axes.plot(x, y, label=f" {label(name)}", linewidth=1.2, **{"markersize": 4, **look})
        axes.set_xlabel(over)
        axes.set_ylabel(label(measure))

    last = {name: (max(values), values[max(values)]) for name, values in lines.items() if values}
    summary = "; ".join(f"{name}: {value:.4g} at {count:,}" for name, (count, value) in last.items())
    return drawn(f"{measure} over {over}. {summary}.", draw, height=3.0)


def _thinned(values: Mapping[int, float]) -> tuple[list[float], list[float]]:
    """Return counts and values of a series; a long one is reduced to means of neighbours."""
    counts = sorted(values)
    window = max(1, -(-len(counts) // _MOST_POINTS))
    parts = [counts[start : start + window] for start in range(0, len(counts), window)]
    return [fmean(part) for part in parts], [fmean(values[count] for count in part) for part in parts]


def _places(groups: Mapping[str, Mapping[str, Cell]]) -> tuple[dict[tuple[str, str], float], dict[str, float], float]:
    """Return the vertical positions of the bars and of the groups' names, and the end of the last bar."""
    places: dict[tuple[str, str], float] = {}
    heads: dict[str, float] = {}
    y = 0.0
    for group, cells in groups.items():
        heads[group] = y
        for name in cells:
            y += 1
            places[group, name] = y
        y += 1.4
    return places, heads, y - 0.6


def _reaches(values: Iterable[Interval]) -> list[list[float]]:
    """How far each interval extends below and above its value, which may be slightly outside it."""
    pairs = [(value.low, value.mean, value.high) for value in values]
    return [[max(0.0, mean - low) for low, mean, _ in pairs], [max(0.0, high - mean) for _, mean, high in pairs]]
