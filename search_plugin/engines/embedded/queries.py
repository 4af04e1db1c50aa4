"""Queries of the word index, and the rows that they find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from search_plugin.engines.embedded.words import Words
    from search_plugin.expansion.expand import Notion
    from search_plugin.plan import Plan

Positions = tuple[tuple[int, str], ...]
"""Terms, each with its position in a text."""


class _Spelled(NamedTuple):
    """A notion in terms of the index: those of the typed words with their counts, and other spellings' weights."""

    typed: Mapping[str, int]
    others: Mapping[Positions, float]


def matching(words: Words, plan: Plan, boost: float) -> Any:
    """Return the query for a plan's words, in title and abstract together, and again in the title."""
    from tantivy import Query

    plain = _counted(words, plan.words if plan.plain is None else plan.plain)
    notions = [_spelled(words, notion) for notion in plan.notions]

    def of(field: str, weight: float) -> list[Any]:
        best = [clause for one in notions for clause in _best_of(words, field, one, weight)]
        return _any_of(words, field, plain, weight) + best

    return Query.boolean_query([*of("text", 1.0), *(of("title", boost) if boost else [])])


def _counted(words: Words, text: str) -> Mapping[str, int]:
    return Counter(words.analyze(words.prepare(text)))


def _spelled(words: Words, notion: Notion) -> _Spelled:
    typed = _counted(words, notion.typed)
    others = {_positions(words, other.text): other.weight for other in notion.others}
    return _Spelled(typed, {at: worth for at, worth in others.items() if [term for _, term in at] != list(typed)})


def _any_of(words: Words, field: str, counts: Mapping[str, int], weight: float) -> list[Any]:
    from tantivy import Occur, Query

    return [
        (Occur.Should, Query.boost_query(Query.term_query(words.schema, field, term, "freq"), count * weight))
        for term, count in counts.items()
    ]


def _best_of(words: Words, field: str, notion: _Spelled, weight: float) -> list[Any]:
    """Return the clauses that score a notion by its spelling that matches best."""
    from tantivy import Occur, Query

    if not notion.others:  # all have the same stems; tantivy finds the best of plain terms faster
        return _any_of(words, field, notion.typed, weight)
    others = [
        Query.boost_query(_side_by_side(words, field, terms, "freq"), worth) for terms, worth in notion.others.items()
    ]
    best = Query.disjunction_max_query([Query.boolean_query(_any_of(words, field, notion.typed, 1.0)), *others])
    return [(Occur.Should, Query.boost_query(best, weight))]


def saying(words: Words, field: str, text: str) -> Any:
    """Return the query for papers in which the terms of a text stand side by side."""
    return _side_by_side(words, field, _positions(words, text), "basic")


def _positions(words: Words, text: str) -> Positions:
    split = words.split(words.prepare(text))
    return tuple((at, term) for at, word in enumerate(split) for term in words.analyze(word))


def _side_by_side(words: Words, field: str, terms: Positions, option: str) -> Any:
    from tantivy import Query

    if not terms:
        return Query.empty_query()
    if len(terms) == 1:
        return Query.term_query(words.schema, field, terms[0][1], option)
    positions: list[Any] = list(terms)
    return Query.phrase_query(words.schema, field, positions)


def named(words: Words, ids: Sequence[str], identifiers: Sequence[str]) -> Any:
    """Return the query for papers with one of some ids or identifiers."""
    from tantivy import Occur, Query

    terms = [Query.term_query(words.schema, "fields.identifiers", name, "basic") for name in identifiers]
    return Query.boolean_query([(Occur.Should, query) for query in [among(words, ids), *terms]])


def among(words: Words, ids: Sequence[str]) -> Any:
    """Return the query for some ids."""
    from tantivy import Query

    return Query.term_set_query(words.schema, "id", list(ids))


def rows_of(searcher: Any, query: Any, limit: int) -> tuple[list[int], list[float]]:
    """Return the rows and scores of the best papers that a query finds; a limit of 0 finds none."""
    if not limit:
        return [], []
    hits = searcher.search(query, limit, count=False).hits
    return searcher.fast_field_values("row", [address for _, address in hits]), [score for score, _ in hits]
