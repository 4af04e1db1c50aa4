"""From expressions of a user to a filter that engines take, for programs that filter without searching."""

from __future__ import annotations

from collections.abc import Iterable

from search_plugin.contract.tree import Filter
from search_plugin.filters.parse import parse_filters
from search_plugin.filters.resolve import Vocabulary, resolve


def read_filter(given: str | Iterable[str], index: Vocabulary) -> Filter | None:
    """Read expressions that must all hold, and replace their texts by the values that an index holds.

    Args:
        given: One expression or several; empty ones are left out.
        index: Whose papers are filtered.

    Returns:
        A filter of exact comparisons; None if there is no expression.

    Raises:
        InputError: If an expression can't be read.
    """
    texts = [text for text in ([given] if isinstance(given, str) else given) if text]
    return resolve(parse_filters(texts, index.schema.fields), index, suggest=False).filter
