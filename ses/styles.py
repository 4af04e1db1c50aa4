"""Styles on terminals, by click alone: rich takes a tenth of the time of a search to import."""

from __future__ import annotations

import os
import sys

import rich_click as click


def styles_wanted() -> bool:
    """Return whether standard output takes styles: a terminal, unless the environment says otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def show(line: str = "") -> None:
    """Print a line on standard output, its styles only where they are wanted."""
    # With its own stream, click would write UTF-8 to a terminal of ASCII.
    click.echo(line, sys.stdout, color=styles_wanted())


def linked(url: str) -> str:
    """Return an address as a hyperlink of the terminal (OSC 8), or as it is."""
    return f"\x1b]8;;{url}\x1b\\{url}\x1b]8;;\x1b\\" if styles_wanted() else url
