"""CSV (RFC 4180) for spreadsheets, which the reader of CSV reads again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from corpora.outgoing import cell
from search_plugin.pages.formats.exported import rows_of

if TYPE_CHECKING:
    from search_plugin.pages.formats.exported import FoundPaper


def render(hits: Sequence[FoundPaper]) -> str:
    """Return a table with a header; values of lists are separated by `; `, custom fields are named `extra.NAME`."""
    import csv
    import io

    rows = rows_of(hits)
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(rows[0] if rows else ["rank", "score", "weak", "id", "title"])
    writer.writerows(map(cell, row.values()) for row in rows)
    return file.getvalue()
