"""A report as JSON, in full precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from eval.reports.document import Document


def render(document: Document) -> str:
    """Return title, values and provenance as one JSON document; a number that isn't finite is null."""
    told = {"title": document.title, **document.values, "provenance": document.provenance.as_dict()}
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode() + "\n"
