"""A report in GitHub's Markdown."""

from __future__ import annotations

import re

from eval.reports.report import Report
from eval.reports.tables import TextTable

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")


def render(report: Report) -> str:
    """Return the report as Markdown, without plots, which only HTML has."""
    tables = [*report.tables, report.provenance.table()]
    return "\n\n".join([f"# {escape(report.title)}", *map(_table, tables)]) + "\n"


def escape(text: str) -> str:
    """Return a text as Markdown that shows exactly that text: markup, HTML and ends of cells are escaped."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", safe)


def _table(table: TextTable) -> str:
    marks = ["---" if column < table.text_columns else "---:" for column in range(len(table.header))]
    rows = [map(escape, table.header), marks, *(map(escape, row) for row in table.rows)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    notes = [f"- {escape(note)}" for note in table.notes]
    return "\n".join([f"## {escape(table.caption)}", "", *lines, *([""] if notes else []), *notes])
