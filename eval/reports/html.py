"""A report as one HTML file that needs no other: tables, and plots as SVG among them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.reports.document import Document, Plot
    from eval.reports.report import Table

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Nothing is loaded and no script is run, whatever a data set's texts may hold."""

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: .5rem 0 1rem; display: block; overflow-x: auto }
caption { caption-side: top; text-align: left; font-weight: 600; font-size: 1.15rem; padding: 1rem 0 .3rem }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: left; overflow-wrap: anywhere }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
figure { margin: 1.5rem 0 } figure svg { max-width: 100%; height: auto }
figcaption, ul { color: #555; max-width: 46rem }
"""


def render(document: Document) -> str:
    """Return the document as HTML; `UnavailableError` if it has plots and matplotlib isn't installed."""
    title = escape(document.title)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{title}</h1>",
        *map(_table, document.tables),
        *map(_figure, document.plots),
        _table(document.provenance.table()),
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _table(table: Table) -> str:
    lines = [
        f"<table><caption>{escape(table.caption)}</caption>",
        f"<thead>{_row(table, table.header, 'th')}</thead>",
        "<tbody>",
        *(_row(table, row, "td") for row in table.rows),
        "</tbody></table>",
    ]
    if table.notes:
        lines.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in table.notes)}</ul>")
    return "\n".join(lines)


def _row(table: Table, cells: tuple[str, ...], tag: str) -> str:
    shown = [
        f"<{tag}>{escape(cell)}</{tag}>"
        if column < table.text_columns
        else f'<{tag} class="number">{escape(cell)}</{tag}>'
        for column, cell in enumerate(cells)
    ]
    return f"<tr>{''.join(shown)}</tr>"


def _figure(plot: Plot) -> str:
    return f"<figure>{plot.draw()}<figcaption>{escape(plot.caption)}</figcaption></figure>"
