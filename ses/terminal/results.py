"""Results of commands: printed as text or JSON, and written as CSV.

Styles are by click alone: rich takes a tenth of the time of a search to import.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from corpora.lazy import orjson
from corpora.outgoing import cell, in_a_line, json_text, plain

if TYPE_CHECKING:
    from eval.reports.report import Report, TextTable


def say(document: Any, text: str | Iterable[str], *, as_json: bool) -> None:
    """Print a result on standard output: as JSON, or as people read it, a text or its lines."""
    if as_json:
        say_json(document)
    else:
        tell(text if isinstance(text, str) else "\n".join(map(in_a_line, text)))


def tell(text: str = "", *, err: bool = False) -> None:
    """Print plain text on standard output, or on standard error: what it quotes can't control the terminal."""
    click.echo(plain(text), err=err)


def tell_tables(*tables: TextTable, left_out: Mapping[str, int] | None = None) -> None:
    """Print tables with an empty line between them, and then what was left out, where there is any."""
    from rich.console import Console

    from eval.reports.report import counted, print_table

    console = Console()
    for position, table in enumerate(tables):
        if position:
            tell()
        print_table(table, console)
    for what, count in (left_out or {}).items():
        if count:
            tell(counted(count, what))


def say_json(document: Any) -> None:
    """Print a result on standard output as JSON, without what is no UTF-8 in names of files and variables."""
    try:
        written = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        written = orjson.dumps(_plain_values(document), option=orjson.OPT_INDENT_2)
    click.echo(json_text(written))


def _plain_values(value: Any) -> Any:
    """Return a value as it was, with each text in it as `tell` prints it."""
    if isinstance(value, dict):
        return {_plain_values(key): _plain_values(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_values(held) for held in value]
    return plain(value) if isinstance(value, str) else value


def pass_on(text: str) -> None:
    """Print a text of a format, which has left out of it what could control the terminal."""
    click.echo(text, nl=False)


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table as CSV, whole or not at all; `UnavailableError` if it can't be written."""
    import csv

    from corpora.writing import explaining, replacing

    with explaining(path), replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *(map(cell, row) for row in rows)])


def write_page(path: Path, report: Report) -> None:
    """Write a report as a page, whole or not at all; `UnavailableError` if it can't be written, or drawn."""
    from eval.files.text import write_lines
    from eval.reports.html import render

    write_lines(path, render(report).splitlines())


_MARK = f"\0{os.urandom(8).hex()}\0"
"""Stands around the codes of ses, which alone reach the terminal: no text of a corpus can hold it."""


def styles_wanted() -> bool:
    """Return whether standard output takes styles: a terminal, unless the environment says otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def styled(text: str, colour: str | None = None, *, bold: bool | None = None, dim: bool | None = None) -> str:
    """Return a text with styles, for `show`; parts of it may have styles of their own."""
    before, after = click.style("\0", colour, bold=bold, dim=dim).split("\0")
    return f"{_code(before)}{text}{_code(after)}"


def linked(url: str) -> str:
    """Return an address as a hyperlink of the terminal (OSC 8), or as it is."""
    address = plain(url)
    if not styles_wanted():
        return address
    return _code(f"\x1b]8;;{address}\x1b\\") + address + _code("\x1b]8;;\x1b\\")


def drawn(line: str) -> str:
    """Return a line as the terminal receives it: the codes of `styled` and `linked`, and no others."""
    parts = line.split(_MARK)
    return "".join(part if place % 2 else plain(part) for place, part in enumerate(parts))


def show(line: str = "") -> None:
    """Print a line on standard output, its styles only where they are wanted."""
    # With its own stream, click would write UTF-8 to a terminal of ASCII.
    click.echo(drawn(line), sys.stdout, color=styles_wanted())


def _code(code: str) -> str:
    return f"{_MARK}{code}{_MARK}"
