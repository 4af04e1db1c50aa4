"""JSON Lines: one object for each hit, which the reader of JSON lines reads again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson

from corpora.outgoing import json_text
from search_plugin.pages.formats.exported import facts_of

if TYPE_CHECKING:
    from search_plugin.pages.formats.exported import FoundPaper


def render(hits: Sequence[FoundPaper]) -> str:
    """Return the hits, custom fields under `extra`."""
    lines = (json_text(orjson.dumps({**facts_of(hit), "extra": hit.paper.extra})) for hit in hits)
    return "".join(f"{line}\n" for line in lines)
