"""Queries of the word index, and the rows that they find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from search_plugin.engines.embedded.words import Words

Positions = tuple[tuple[int, str], ...]
"""Terms, each with its position in a text."""


def saying(words: Words, field: str, text: str) -> Any:
    """Return the query for papers in which the terms of a text stand side by side."""
    return side_by_side(words, field, positions(words, text), "basic")


def positions(words: Words, text: str) -> Positions:
    """Return the terms of a text."""
    split = words.split(words.prepare(text))
    return tuple((at, term) for at, word in enumerate(split) for term in words.analyze(word))


def side_by_side(words: Words, field: str, terms: Positions, option: str) -> Any:
    """Return the query for papers in which terms stand side by side; `option` is `freq` where their score counts."""
    from tantivy import Query

    if not terms:
        return Query.empty_query()
    if len(terms) == 1:
        return Query.term_query(words.schema, field, terms[0][1], option)
    phrase: list[Any] = list(terms)
    return Query.phrase_query(words.schema, field, phrase)


def either(queries: Sequence[Any]) -> Any:
    """Return the query for papers that at least one of some queries finds."""
    from tantivy import Occur, Query

    return Query.boolean_query([(Occur.Should, query) for query in queries])


def both(query: Any, passing: Any) -> Any:
    """Return the query for papers that two queries find, scored by the first."""
    from tantivy import Occur, Query

    return Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.const_score_query(passing, 0.0))])


def named(words: Words, ids: Sequence[str], identifiers: Sequence[str]) -> Any:
    """Return the query for papers with one of some ids or identifiers."""
    from tantivy import Query

    terms = [Query.term_query(words.schema, "fields.identifiers", name, "basic") for name in identifiers]
    return either([among(words, ids), *terms])


def among(words: Words, ids: Sequence[str]) -> Any:
    """Return the query for some ids."""
    from tantivy import Query

    return Query.term_set_query(words.schema, "id", list(ids))


def from_row(words: Words, row: int) -> Any:
    """Return the query for papers in a row and all later ones."""
    from tantivy import FieldType, Query

    return Query.range_query(words.schema, "row", FieldType.Unsigned, row, (1 << 64) - 1)


def rows_of(searcher: Any, query: Any, limit: int) -> tuple[list[int], list[float]]:
    """Return the rows and scores of the best papers that a query finds; a limit of 0 finds none."""
    if not limit:
        return [], []
    hits = searcher.search(query, limit, count=False).hits
    return searcher.fast_field_values("row", [address for _, address in hits]), [score for score, _ in hits]
