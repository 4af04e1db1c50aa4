"""The values of papers that filters and facets see, as the word index and the columns keep them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from search_plugin.schema import FIELDS

if TYPE_CHECKING:
    from corpora.paper import Paper
    from search_plugin.schema import IndexSchema

Kinds = Mapping[str, str]
"""The kind of each field by its name."""

COMPARED = ("number",)
"""Kinds whose values are numbers here, in order."""


def kinds_of(schema: IndexSchema) -> Kinds:  # noqa: ARG001 - all indexes have the same fields yet
    """Return the kinds of an index's fields."""
    return FIELDS


def held_values(paper: Paper, kinds: Kinds) -> dict[str, Any]:
    """Return what a paper holds, by field, without what is missing.

    Args:
        paper: The paper.
        kinds: Of the fields.

    Returns:
        Numbers as float, flags as True, lists without repetitions.
    """
    held: dict[str, Any] = {}
    for name, kind in kinds.items():
        value = getattr(paper, name)
        if value in (None, "", (), False):
            continue
        if kind in COMPARED:
            held[name] = float(value)
        else:
            held[name] = list(dict.fromkeys(value)) if isinstance(value, tuple) else value
    return held
