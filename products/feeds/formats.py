"""The formats of feeds: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from corpora.errors import InputError
from products.feeds import atom, html

if TYPE_CHECKING:
    from products.feeds.ranking import FeedEntry

FORMATS: Mapping[str, Callable[[str, str, Sequence[FeedEntry], datetime], str]] = {
    "atom": atom.render,
    "html": html.render,
}
"""Functions from a name, a title, entries and the moment to text, by name."""


def feed_format(name: str) -> Callable[[str, str, Sequence[FeedEntry], datetime], str]:
    """Return the format of a name, or raise `InputError`."""
    if name not in FORMATS:
        raise InputError(f"There is no format {name!r} of feeds; choose one of {', '.join(FORMATS)}.")
    return FORMATS[name]
