"""What all plots share: a matplotlib figure, drawn without global state, as SVG in the page's colours."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import Any

from corpora.outgoing import in_a_line
from eval.optional import optional

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
    """Draw a plot.

    Args:
        alt: Description for readers who can't see the plot.
        draw: Takes the axes.
        height: In inches, beside the legend.

    Returns:
        An `<svg>` element, whose colours are the page's where that sets `--series-0` and so on.

    Raises:
        UnavailableError: If matplotlib isn't installed.
    """
    mpl = optional("matplotlib", "Plots need matplotlib")
    alt = in_a_line(alt)
    inked = dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    # Labels come from data, so $ must not start a formula. Equal plots get equal ids, so that reports can be compared.
    settings = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": alt, "font.size": 10, **inked}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # Text stays text, in the reader's fonts: a character that matplotlib's font lacks doesn't matter.
        warnings.simplefilter("ignore", UserWarning)
        figure = optional("matplotlib.figure", "Plots need matplotlib").Figure(
            figsize=(WIDTH, height), layout="constrained"
        )
        axes = figure.subplots()
        axes.spines[["top", "right"]].set_visible(False)
        draw(axes)
        _add_legend(figure, axes)
        buffer = io.StringIO()
        told = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=told, transparent=True)
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
