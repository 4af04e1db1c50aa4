"""Styles on terminals, by click alone: rich takes a tenth of the time of a search to import."""

from __future__ import annotations

import os
import sys

import rich_click as click

from corpora.outgoing import plain

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
