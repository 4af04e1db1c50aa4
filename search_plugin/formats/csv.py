"""CSV (RFC 4180) for spreadsheets, which the reader of CSV reads again.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, which can send data away. An apostrophe
is put before such a text, as spreadsheets mark text themselves; also before one that has apostrophes there already, so
that taking one away always gives the text back. Numbers stay numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from search_plugin.formats.exported import facts_of

if TYPE_CHECKING:
    from search_plugin.formats.exported import FoundPaper

_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""Also with wide characters, which some spreadsheets read like the others."""


def render(hits: Sequence[FoundPaper]) -> str:
    """Return a table with a header; values of lists are separated by `; `, custom fields are named `extra.NAME`."""
    import csv
    import io

    custom = list(dict.fromkeys(name for hit in hits for name in hit.paper.extra))
    rows = [{**facts_of(hit), **{f"extra.{name}": hit.paper.extra.get(name) for name in custom}} for hit in hits]
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(rows[0] if rows else ["rank", "score", "weak", "id", "title"])
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return file.getvalue()


def _cell(value: object) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value
    text = "; ".join(value) if isinstance(value, tuple) else str(value)
    return f"'{text}" if _FORMULA.match(text) else text
