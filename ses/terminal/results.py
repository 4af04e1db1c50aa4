"""Results of commands: printed as text or JSON, and written as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import rich_click as click

from corpora.outgoing import cell, in_a_line, json_text, plain


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
    """Print a result on standard output as JSON."""
    import orjson

    click.echo(json_text(orjson.dumps(document, option=orjson.OPT_INDENT_2)))


def pass_on(text: str) -> None:
    """Print a text of a format, which has left out of it what could control the terminal."""
    click.echo(text, nl=False)


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table as CSV, whole or not at all; `UnavailableError` if it can't be written."""
    import csv

    from corpora.writing import explaining, replacing

    with explaining(path), replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *(map(cell, row) for row in rows)])
