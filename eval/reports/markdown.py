"""A report in GitHub's Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.reports.document import Document
    from eval.reports.report import Table

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")


def render(document: Document) -> str:
    """Return the document as Markdown; pictures are left to HTML."""
    tables = [*document.tables, document.provenance.table()]
    return "\n\n".join([f"# {escape(document.title)}", *map(_table, tables)]) + "\n"


def escape(text: str) -> str:
    """Return a text as Markdown that shows just it: no markup, no HTML, no end of a cell."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", safe)


def _table(table: Table) -> str:
    marks = ["---" if column < table.text_columns else "---:" for column in range(len(table.header))]
    rows = [map(escape, table.header), marks, *(map(escape, row) for row in table.rows)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    notes = [f"- {escape(note)}" for note in table.notes]
    return "\n".join([f"## {escape(table.caption)}", "", *lines, *([""] if notes else []), *notes])
