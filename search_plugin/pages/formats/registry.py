"""The formats of hits: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from corpora.deferred import deferred
from corpora.errors import InputError

if TYPE_CHECKING:
    from search_plugin.pages.formats.exported import FoundPaper

FORMATS: Mapping[str, Callable[[Sequence[FoundPaper]], str]] = {
    name: deferred(f"search_plugin.pages.formats.{name}", "render") for name in ("jsonl", "csv", "bibtex", "ris")
}
"""Functions from hits to text, by name."""


def get_format(name: str) -> Callable[[Sequence[FoundPaper]], str]:
    """Return the format of a name, or raise `InputError` that names the available ones."""
    if name not in FORMATS:
        raise InputError(f"There is no format {name!r}; choose one of json, {', '.join(FORMATS)}.")
    return FORMATS[name]
