"""Facets: how many of the papers that a page is about have each value of a field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from search_plugin.engines.embedded.filters import to_tantivy
from search_plugin.engines.embedded.words import counted
from search_plugin.page import Facets
from search_plugin.plan import LISTED

if TYPE_CHECKING:
    from search_plugin.engines.embedded.words import Words
    from search_plugin.plan import Counting


def count_facets(words: Words, searcher: Any, counting: Counting) -> Facets:
    """Count the papers of `Counting`.

    Args:
        words: The word index.
        searcher: tantivy's, of one commit.
        counting: What to count.

    Returns:
        The counts, and which papers were counted.
    """
    from tantivy import Occur, Query

    plan = counting.plan
    query = words.among(list(counting.found))
    told = f"the {plan.window} nearest papers"
    if plan.order:
        query, told = (to_tantivy(plan.filter, words) if plan.filter else Query.all_query()), LISTED
    elif plan.words:
        matching = [(Occur.Must, words.matching(plan, 0.0))]
        if plan.filter:
            matching.append((Occur.Must, to_tantivy(plan.filter, words)))
        query = Query.boolean_query([(Occur.Should, Query.boolean_query(matching)), (Occur.Should, query)])
        told = "papers that hold a word of the query" + (f", and {told}" if plan.vectors else "")
    matches, counts = counted(searcher, query, column_paths(counting.fields), counting.size)
    return Facets(matches, told, {field: tuple(counts[field]) for field in counting.fields})


def column_paths(fields: Iterable[str]) -> dict[str, str]:
    """Return tantivy's names of fields."""
    return {field: field if field == "id" else f"fields.{field}" for field in fields}
