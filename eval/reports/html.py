"""A report as one HTML page with tables and SVG plots. It needs no other file, no network and no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from eval.reports.provenance import Provenance
from eval.reports.report import Plot, Report
from eval.reports.style import STYLE
from eval.reports.tables import TextTable

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The page loads nothing and runs no script, even if a data set's texts contain some."""

_WIDE, _LONG = 24, " long"
"""Names longer than this get a wide column, or they would wrap after every word."""

Section = tuple[str, str]
"""Heading and what stands under it."""


def render(report: Report) -> str:
    """Return the report as HTML; `UnavailableError` if it has plots and matplotlib isn't installed."""
    title = escape(report.title)
    sections = list(_sections(report))
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        f"<header><h1>{title}</h1>",
        f'<p class="made">{escape(_made(report.provenance))}</p></header>',
        _contents([heading for heading, _ in sections]),
        "<main>",
        *(
            f'<section aria-labelledby="s{place}">\n<h2 id="s{place}">{escape(heading)}</h2>\n{body}\n</section>'
            for place, (heading, body) in enumerate(sections)
        ),
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _sections(report: Report) -> Iterator[Section]:
    """Yield the sections: results, plots, details, and how the report was made."""
    for table in report.tables[:1]:
        yield table.caption, _table(table)
    for kind, plots in groupby(report.plots, key=lambda plot: plot.kind):
        yield kind, "\n".join(['<div class="figures">', *map(_figure, plots), "</div>"])
    for table in report.tables[1:]:
        yield table.caption, _table(table)
    if report.details:
        yield "Every query", "\n".join(map(_folded, report.details))
    made = report.provenance.table()
    yield made.caption, _table(made)


def _made(provenance: Provenance) -> str:
    models = [f"{name} ({fingerprint})" for name, fingerprint in provenance.models.items()]
    return " · ".join(part for part in (provenance.date, *models, provenance.engine, provenance.runtime) if part)


def _contents(headings: Sequence[str]) -> str:
    links = (f'<li><a href="#s{place}">{escape(heading)}</a></li>' for place, heading in enumerate(headings))
    return f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>'


def _folded(table: TextTable) -> str:
    return f"<details><summary>{escape(table.caption)}</summary>\n{_table(table)}\n</details>"


def _table(table: TextTable) -> str:
    # A box that scrolls can be reached with the keyboard, and has a label.
    lines = [
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(table.caption)}"><table>',
        f"<thead><tr>{''.join(_head(table, place) for place in range(len(table.header)))}</tr></thead>",
        "<tbody>",
        *(f"<tr>{''.join(_cell(table, place, cell) for place, cell in enumerate(row))}</tr>" for row in table.rows),
        "</tbody></table></div>",
    ]
    if table.notes:
        lines.append(f'<ul class="notes">{"".join(f"<li>{escape(note)}</li>" for note in table.notes)}</ul>')
    return "\n".join(lines)


def _head(table: TextTable, place: int) -> str:
    name = table.header[place]
    return f'<th scope="col" class="{_class(table, place)}{_LONG * (len(name) > _WIDE)}">{escape(name)}</th>'


def _cell(table: TextTable, place: int, cell: str) -> str:
    if place == 0:
        return f'<th scope="row" class="text{_LONG * (len(cell) > _WIDE)}">{escape(cell)}</th>'
    return f'<td class="{_class(table, place)}">{escape(cell)}</td>'


def _class(table: TextTable, place: int) -> str:
    return "text" if place < table.text_columns else "number"


def _figure(plot: Plot) -> str:
    return f"<figure>{plot.draw()}<figcaption>{escape(plot.caption)}</figcaption></figure>"
