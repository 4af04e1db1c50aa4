"""Results of commands: printed as text or JSON, and written as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from corpora.outgoing import cell, in_a_line, json_text, plain

if TYPE_CHECKING:
    from eval.reports.report import Report


def say(document: Any, text: str | Iterable[str], *, as_json: bool) -> None:
    """Print a result on standard output.

    Args:
        document: Result as JSON shows it.
        text: Result as people read it: a text, or its lines.
        as_json: Whether to print the document.
    """
    if as_json:
        say_json(document)
    else:
        tell(text if isinstance(text, str) else "\n".join(map(in_a_line, text)))


def tell(text: str = "", *, err: bool = False) -> None:
    """Print plain text on standard output, or on standard error: what it quotes can't control the terminal."""
    click.echo(plain(text), err=err)


def say_json(document: Any) -> None:
    """Print a result on standard output as JSON, without what is no UTF-8 in names of files and variables."""
    import orjson

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
