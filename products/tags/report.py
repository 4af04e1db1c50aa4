"""A tagger's report as text, and as a page with a reliability plot for each label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from products.tags.measures import ReliabilityBin, TaggerMeasures
from products.tags.tagger import Tagger

_SIDE = 100
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}th,td{padding:.3rem .8rem;text-align:right;border-bottom:1px solid #ddd}"
    "th:first-child,td:first-child{text-align:left}svg{vertical-align:middle}"
)
_HEAD = ("label", "trained on", "tested on", "threshold", "precision", "recall", "F1", "ECE")


def summary_lines(tagger: Tagger) -> Iterator[str]:
    """Yield what a tagger is and how well it does, line by line."""
    yield f"Tagger {tagger.name}: {len(tagger.labels):,} labels from {tagger.made_from}, on {tagger.source}"
    found = tagger.measures
    if found is None:
        yield "It was not measured: it was made from names, and its scores are no probabilities."
        return
    yield f"Measured on {found.how}"
    yield (
        f"Macro F1 {found.macro_f1:.3f}, micro F1 {found.micro_f1:.3f}; calibration error {found.ece:.3f} over all, "
        f"{found.label_ece:.3f} as the mean of labels; {found.untagged:.0%} of the papers get no tag"
    )
    if never := [one.label for one in found.labels if one.threshold is None]:
        yield f"Never given, since the precision can't be reached: {', '.join(never)}"


def label_rows(found: TaggerMeasures) -> list[tuple[str, ...]]:
    """Return the table of labels, its head first."""
    rows = [
        (
            one.label,
            f"{one.trained:,}",
            f"{one.positives:,}",
            "never" if one.threshold is None else f"{one.threshold:.3f}",
            *(f"{number:.3f}" for number in (one.precision, one.recall, one.f1, one.ece)),
        )
        for one in found.labels
    ]
    return [_HEAD, *rows]


def report_page(tagger: Tagger) -> str:
    """Return the report as one HTML page, complete in itself."""
    found = tagger.measures
    parts = [f"<p>{escape(line)}</p>" for line in summary_lines(tagger)]
    if found:
        head, *rows = label_rows(found)
        parts.append(reliability_plot(found.bins, "all labels", 3 * _SIDE))
        parts.append("<table><tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in (*head, "reliability")) + "</tr>")
        for row, one in zip(rows, found.labels, strict=True):
            cells = "".join(f"<td>{escape(cell)}</td>" for cell in row)
            parts.append(f"<tr>{cells}<td>{reliability_plot(one.bins, one.label, _SIDE)}</td></tr>")
        parts.append("</table>")
    title = escape(f"Tagger {tagger.name}")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"<h1>{title}</h1>{''.join(parts)}</html>\n"
    )


def reliability_plot(bins: Sequence[ReliabilityBin], name: str, side: int) -> str:
    """Draw the share of true predictions by their probability; on the diagonal they are perfectly calibrated.

    Args:
        bins: Of a label, or of all.
        name: For readers who can't see the plot.
        side: In pixels.

    Returns:
        An `<svg>` element. The larger a dot, the more predictions it stands for.
    """
    most = max((one.count for one in bins), default=1)
    inner = side - 12
    points = [(6 + inner * one.probability, 6 + inner * (1 - one.share), one.count) for one in bins]
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{1.5 + 3.5 * (count / most) ** 0.5:.1f}" fill="#2b6cb0"/>'
        for x, y, count in points
    )
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    return (
        f'<svg role="img" aria-label="Reliability of {escape(name)}" width="{side}" height="{side}">'
        f'<rect x="6" y="6" width="{inner}" height="{inner}" fill="none" stroke="#8a94a6"/>'
        f'<line x1="6" y1="{6 + inner}" x2="{6 + inner}" y2="6" stroke="#8a94a6" stroke-dasharray="3"/>'
        f'<polyline points="{way}" fill="none" stroke="#2b6cb0"/>{dots}</svg>'
    )
