"""Text on its way out: what corpora, files and servers say can't control a terminal, an editor or a spreadsheet.

Control characters (C0, C1) move cursors and hide text. The bidirectional embeddings, overrides and isolates of Unicode
(UAX #9) show text in another order than it has, as in "Trojan Source" (Boucher and Anderson 2023). What scripts need
stays: joiners, and the marks that only say which way a neighbour is written. Papers as HTML, which notebooks show, are
made here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import zip_longest
from typing import Any

_BIDI = "\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_JSON = re.compile(f"[\x7f-\x9f\u2028\u2029{_BIDI}]")
_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""Also with wide characters, which some spreadsheets read like the others."""


def plain(text: str) -> str:
    """Return a text without control characters and lone surrogates; tabs stay, and so do line ends, as LF."""
    return _UNSAFE.sub("", _LINE_ENDS.sub("\n", text))


def in_a_line(text: str) -> str:
    """Return a plain text in one line: its tabs and line ends are blanks."""
    return plain(text).replace("\n", " ").replace("\t", " ")


def as_html(text: str) -> str:
    """Return a plain text as HTML: its markup is shown as text."""
    return escape(plain(text))


def cell(value: object) -> str | int | float:
    """Return a value as a cell of CSV; values of lists are separated by `; `.

    A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, which can send data away. An
    apostrophe is put before such a text, as spreadsheets mark text themselves; also before one that has apostrophes
    there already, so that taking one away always gives the text back. Numbers stay numbers.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value
    text = plain("; ".join(map(str, value)) if isinstance(value, tuple) else str(value))
    return f"'{text}" if _FORMULA.match(text) else text


def text_of_cell(written: str) -> str:
    """Return the text of a cell that `cell` wrote."""
    return written[1:] if written.startswith("'") and _FORMULA.match(written) else written


def json_text(document: bytes) -> str:
    """Return a JSON document as text in which such characters are escaped: no value changes."""
    return _JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", document.decode())


def aligned(rows: Sequence[Sequence[str]], text_columns: int | None = None) -> list[str]:
    """Return rows of cells as lines, in columns that are as wide as their longest cell, without blanks at the end.

    The header is among the rows, and a row may lack its last cells. `text_columns` says how many columns, from the
    left, are set to the left, and the others to the right; None for all.
    """
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    left = len(widths) if text_columns is None else text_columns
    lines = []
    for row in rows:
        cells = zip(row, widths, strict=False)
        padded = (cell.ljust(width) if at < left else cell.rjust(width) for at, (cell, width) in enumerate(cells))
        lines.append("  ".join(padded).rstrip())
    return lines


# `corpora.paper` imports this module, so a paper has no type here.

_NOT_IN_TABLE = ("id", "title", "abstract", "references", "retracted", "extra", "publication")


def paper_html(paper: Any) -> str:
    """Return a paper as HTML: its title with a link, its abstract, and a table of all that is known of it."""
    from dataclasses import asdict, fields

    from corpora.identifiers import link_of

    mark = "<b>[retracted]</b> " if paper.retracted else ""
    shown = {one.name: getattr(paper, one.name) for one in fields(paper) if one.name not in _NOT_IN_TABLE}
    where = asdict(paper.publication) if paper.publication else {}
    known = {"id": paper.id, **shown, **where, **paper.extra}
    if paper.references:
        known["references"] = f"{len(paper.references):,}"
    title = linked(as_html(paper.title), link_of(paper))
    return f"<p>{mark}<b>{title}</b></p><p>{as_html(paper.abstract)}</p>{table(known)}"


def linked(html: str, link: str) -> str:
    """Return HTML as a link, or as it is if there is no address."""
    return f"<a href='{as_html(link)}'>{html}</a>" if link else html


def titled(title: str, values: Mapping[str, object]) -> str:
    """Return a title in bold over a table of names and values; empty values are left out."""
    return f"<p><b>{as_html(title)}</b></p>{table(values)}"


def table(values: Mapping[str, object]) -> str:
    """Return a table of names and values; empty values are left out."""
    held = {name: value for name, value in values.items() if value is not None and value not in ("", ())}
    rows = "".join(
        f"<tr><th>{as_html(name)}</th><td>{as_html(_joined(value))}</td></tr>" for name, value in held.items()
    )
    return f"<table>{rows}</table>"


def _joined(value: Any) -> str:
    listed = isinstance(value, Iterable) and not isinstance(value, str)
    return "; ".join(map(str, value)) if listed else str(value)
