"""Queries that rank papers by the words of a plan, with their other spellings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from search_plugin.engines.embedded.queries import Positions, both, either, positions, side_by_side, to_tantivy

if TYPE_CHECKING:
    from search_plugin.contract.plan import Notion, Plan
    from search_plugin.engines.embedded.words import Words

LARGE = 100_000
"""Papers in a large index, where more than one query or thread for a search saves more than it costs."""

_RARE = 100
"""Other spellings are searched for by themselves if at most one of so many papers may hold one."""


class _Spelled(NamedTuple):
    """A notion in terms of the index: those of the typed words with their counts, and other spellings' weights."""

    typed: Mapping[str, int]
    others: Mapping[Positions, float]


class _Asked(NamedTuple):
    """The words of a plan in terms of the index: those with one spelling, with their counts, and all others."""

    plain: Mapping[str, int]
    notions: Sequence[_Spelled]


def matching(words: Words, searcher: Any, plan: Plan) -> Any:
    """Return the query that finds all papers with a plan's words in title or abstract."""
    return _query(words, _asked(words, searcher, plan), 0.0)


def ranking(words: Words, searcher: Any, plan: Plan) -> list[Any]:
    """Return queries that together find the best papers for a plan's words; a paper's best score counts.

    tantivy skips papers that can't be among the best, but only for plain sums of terms. So in a large index, one query
    may find papers by the typed words alone, and a second one ranks the few papers that hold another spelling.
    """
    asked = _asked(words, searcher, plan)
    whole = _query(words, asked, plan.title_boost)
    others = [terms for notion in asked.notions for terms in notion.others]
    if plan.filter:
        return [both(whole, to_tantivy(plan.filter, words))]
    if not others or searcher.num_docs < max(LARGE, _RARE * sum(_held(searcher, terms) for terms in others)):
        return [whole]
    typed = _Asked(asked.plain, [_Spelled(notion.typed, {}) for notion in asked.notions])
    spelled = [side_by_side(words, "text", terms, "basic") for terms in others]
    return [_query(words, typed, plan.title_boost), both(whole, either(spelled))]


def _query(words: Words, asked: _Asked, boost: float) -> Any:
    """Return the query for words in title and abstract together, and again in the title."""
    from tantivy import Query

    def of(field: str, weight: float) -> list[Any]:
        best = [clause for one in asked.notions for clause in _best_of(words, field, one, weight)]
        return _any_of(words, field, asked.plain, weight) + best

    return Query.boolean_query([*of("text", 1.0), *(of("title", boost) if boost else [])])


def _asked(words: Words, searcher: Any, plan: Plan) -> _Asked:
    plain = _counted(words, plan.words if plan.plain is None else plan.plain)
    return _Asked(plain, [_spelled(words, searcher, notion) for notion in plan.notions])


def _counted(words: Words, text: str) -> Mapping[str, int]:
    return Counter(words.analyze(words.prepare(text)))


def _spelled(words: Words, searcher: Any, notion: Notion) -> _Spelled:
    """Leave out other spellings that no paper holds or that have the typed stems."""
    typed = _counted(words, notion.typed)
    others = {positions(words, other.text): other.weight for other in notion.others}
    return _Spelled(
        typed,
        {
            terms: worth
            for terms, worth in others.items()
            if [term for _, term in terms] != list(typed) and _held(searcher, terms)
        },
    )


def _held(searcher: Any, terms: Positions) -> int:
    """Return how many papers hold all terms at most."""
    return min((int(searcher.doc_freq("text", term)) for _, term in terms), default=0)


def _any_of(words: Words, field: str, counts: Mapping[str, int], weight: float) -> list[Any]:
    from tantivy import Occur, Query

    return [
        (Occur.Should, Query.boost_query(Query.term_query(words.schema, field, term, "freq"), count * weight))
        for term, count in counts.items()
    ]


def _best_of(words: Words, field: str, notion: _Spelled, weight: float) -> list[Any]:
    """Return the clauses that score a notion by its spelling that matches best."""
    from tantivy import Occur, Query

    if not notion.others:
        return _any_of(words, field, notion.typed, weight)
    others = [
        Query.boost_query(side_by_side(words, field, terms, "freq"), worth) for terms, worth in notion.others.items()
    ]
    best = Query.disjunction_max_query([Query.boolean_query(_any_of(words, field, notion.typed, 1.0)), *others])
    return [(Occur.Should, Query.boost_query(best, weight))]
