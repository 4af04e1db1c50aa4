"""A report as one HTML page with tables and SVG plots. It needs no other file, no network and no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from eval.reports.plots import DARK, LIGHT
from eval.reports.report import Plot, Provenance, Report, TextTable

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
    return " · ".join(part for part in (provenance.made, *models, provenance.engine, provenance.runtime) if part)


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


def _series(colours: tuple[str, ...]) -> str:
    return "; ".join(f"--series-{position}: {colour}" for position, colour in enumerate(colours))


STYLE = f"""
:root {{ color-scheme: light dark; --page: #fff; --text: #1a202c; --quiet: #4a5568; --rule: #d8dee6; --stripe: #f5f7fa;
  --link: #2b6cb0; {_series(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ --page: #14181f; --text: #e8ecf1; --quiet: #a9b4c2; --rule: #343c48;
  --stripe: #1c222b; --link: #63b3ed; {_series(DARK)} }} }}
* {{ box-sizing: border-box }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem;
  background: var(--page); color: var(--text) }}
h1, h2, nav, p, li, figcaption, summary {{ overflow-wrap: anywhere }}
h1 {{ font-size: clamp(1.4rem, 5vw, 2rem); line-height: 1.2 }}
h2, summary {{ font-size: 1.2rem; font-weight: 600; line-height: 1.3 }}
h2 {{ margin: 2.5rem 0 .75rem }}
summary {{ font-size: 1rem; padding: .4rem 0; cursor: pointer }}
a {{ color: var(--link) }}
nav ul {{ columns: 20rem; padding-left: 1.2rem; margin: 0 }}
.made, figcaption, .notes {{ color: var(--quiet); max-width: 46rem; font-size: .9rem }}
.notes {{ padding-left: 1.2rem }}
.scroll {{ overflow-x: auto; max-width: 100% }}
.scroll:focus-visible, summary:focus-visible, a:focus-visible {{ outline: 2px solid var(--link); outline-offset: 2px }}
table {{ border-collapse: collapse; font-size: .9rem }}
th, td {{ padding: .35rem .7rem; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top }}
tbody tr:nth-child(even) > * {{ background: var(--stripe) }}
thead th {{ vertical-align: bottom; max-width: 18rem; overflow-wrap: break-word }}
tbody th {{ position: sticky; left: 0; background: var(--page); font-weight: 500; min-width: 7.5rem; max-width: 20rem;
  overflow-wrap: anywhere }}
td.text {{ min-width: 12rem; overflow-wrap: anywhere }}
th.number, td.number {{ text-align: right; font-variant-numeric: tabular-nums }}
td.number {{ white-space: nowrap }}
thead th.number {{ min-width: 6rem }}
tbody th.long {{ min-width: 16rem }}
thead th.long {{ min-width: 12rem }}
.figures {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: 2rem;
  align-items: start }}
figure {{ margin: 0; min-width: 0 }}
figure svg {{ display: block; width: 100%; max-width: 32rem; height: auto }}
@media (max-width: 40rem) {{ tbody th.long {{ min-width: 10rem }} tbody th {{ max-width: 10rem }} }}
@media print {{
  :root {{ --page: #fff; --text: #000; --quiet: #333; --rule: #bbb; --stripe: #f5f5f5; {_series(LIGHT)} }}
  body {{ max-width: none; padding: 0; font-size: 9pt }}
  nav {{ display: none }}
  .scroll {{ overflow: visible }}
  td.number {{ white-space: normal }}
  thead {{ display: table-header-group }}
  th, td {{ min-width: 0 !important; padding: .2rem .4rem }}
  tr, figure {{ break-inside: avoid }}
  h2 {{ break-after: avoid }}
  tbody th {{ position: static }}
}}
"""
