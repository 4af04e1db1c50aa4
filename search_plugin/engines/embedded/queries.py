"""Queries of the word index: of filters, ids and words; and the rows that they find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from tantivy import FieldType, Occur, Query

from corpora.lazy import np
from search_plugin.contract.plan import Plan, TermGroup
from search_plugin.contract.tree import (
    Alike,
    And,
    Begun,
    Compare,
    Exists,
    Filter,
    Nearness,
    Not,
    OneOf,
    Or,
    Says,
    TermLike,
    Value,
    Wild,
    WildPhrase,
    unresolved,
)
from search_plugin.engines.embedded.columns import COMPARED, compared_path, number_of
from search_plugin.engines.embedded.words import Words
from search_plugin.words.terms import shorter_terms

Positions = tuple[tuple[int, str], ...]
"""Terms, each with its position in a text."""


def saying(words: Words, field: str, text: str) -> Any:
    """Return the query for papers in which the terms of a text stand side by side."""
    return side_by_side(words, field, positions(words, text), "basic")


def beginning(words: Words, start: str) -> Any:
    """Return the query for papers whose title holds a word that may begin like this, as of `Begun`."""
    known = [*shorter_terms(start), *words.analyze(start)]
    terms = [Query.term_query(words.schema, "title", term, "basic") for term in dict.fromkeys(known)]
    # Letters and digits alone are no syntax of an expression.
    return either([Query.regex_query(words.schema, "title", f"{start}.*"), *terms])


def like(words: Words, where: TermLike) -> Any:
    """Return the query for papers that hold a term like these."""
    terms = [Query.term_query(words.schema, where.field, term, "basic") for term in where.terms]
    # The expression of a pattern has only letters and digits of the user's.
    others = [Query.regex_query(words.schema, where.field, where.expression)] if where.expression else []
    return either([*terms, *others])


def near(words: Words, where: Nearness) -> Any:
    """Return the query for papers in which two phrases stand near to each other: for each distance and order."""
    one, other = (positions(words, text) for text in (where.one, where.other))
    return either(
        [
            side_by_side(words, where.field, (*first, *((at + len(first) + gap, term) for at, term in second)), "basic")
            for first, second in ((one, other), (other, one))
            for gap in range(where.within + 1)
        ]
    )


def positions(words: Words, text: str) -> Positions:
    """Return the terms of a text."""
    split = words.split(words.prepare(text))
    return tuple((at, term) for at, word in enumerate(split) for term in words.analyze(word))


def side_by_side(words: Words, field: str, terms: Positions, option: str) -> Any:
    """Return the query for papers in which terms stand side by side; `option` is `freq` where their score counts."""
    if not terms:
        return Query.empty_query()
    if len(terms) == 1:
        return Query.term_query(words.schema, field, terms[0][1], option)
    phrase: list[Any] = list(terms)
    return Query.phrase_query(words.schema, field, phrase)


def either(queries: Sequence[Any]) -> Any:
    """Return the query for papers that at least one of some queries finds."""
    return Query.boolean_query([(Occur.Should, query) for query in queries])


def both(query: Any, passing: Any) -> Any:
    """Return the query for papers that two queries find, scored by the first."""
    return Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.const_score_query(passing, 0.0))])


def named(words: Words, ids: Sequence[str], identifiers: Sequence[str]) -> Any:
    """Return the query for papers with one of some ids or identifiers."""
    terms = [Query.term_query(words.schema, "fields.identifiers", name, "basic") for name in identifiers]
    return either([among(words, ids), *terms])


def among(words: Words, ids: Sequence[str]) -> Any:
    """Return the query for some ids."""
    return Query.term_set_query(words.schema, "id", list(ids))


def from_row(words: Words, row: int) -> Any:
    """Return the query for papers in a row and all later ones."""
    return Query.range_query(words.schema, "row", FieldType.Unsigned, row, (1 << 64) - 1)


def rows_of(searcher: Any, query: Any, limit: int) -> tuple[list[int], list[float]]:
    """Return the rows and scores of the best papers that a query finds; a limit of 0 finds none."""
    if not limit:
        return [], []
    hits = searcher.search(query, limit, count=False).hits
    return searcher.fast_field_values("row", [address for _, address in hits]), [score for score, _ in hits]


_RANGES = {"=": "[{0} TO {0}]", "<": "[* TO {0}}}", "<=": "[* TO {0}]", ">": "{{{0} TO *]", ">=": "[{0} TO *]"}


def to_tantivy(where: Filter, words: Words) -> Any:  # noqa: C901 - one case for each kind of node
    """Return a query that finds the papers that match a filter; `columns.passing` does the same for vectors."""
    match where:
        case Not(part):
            return Query.boolean_query([(Occur.Must, Query.all_query()), (Occur.MustNot, to_tantivy(part, words))])
        case And(parts):
            return Query.boolean_query([(Occur.Must, to_tantivy(part, words)) for part in parts])
        case Or(parts):
            return either([to_tantivy(part, words) for part in parts])
        case Says(field, said):
            return saying(words, field, said)
        case Begun(start):
            return beginning(words, start)
        case TermLike():
            return like(words, where)
        case Nearness():
            return near(words, where)
        case Alike() | Wild() | WildPhrase():
            raise unresolved(where)
        case Exists("id"):
            return Query.all_query()
        case Exists(field):
            return Query.exists_query(f"fields.{field}")
        case OneOf("id", ids):
            return among(words, cast("Sequence[str]", ids))
        case OneOf(field, values):
            return _one_of(field, values, words)
        case Compare(field, "=", value) if words.kinds[field] not in COMPARED:
            return _one_of(field, (value,), words)
        case Compare(field, op, value):
            return _range(field, op, value, words)


def _one_of(field: str, values: Sequence[Value], words: Words) -> Any:
    if words.kinds[field] in COMPARED:
        return either([_range(field, "=", value, words) for value in values])
    path = field if field == "id" else f"fields.{field}"
    return either([Query.term_query(words.schema, path, value, "basic") for value in values])


def _range(field: str, op: str, value: Value, words: Words) -> Any:
    # tantivy offers ranges over JSON only in its query language; a number is all that it gets from the user.
    number = np.format_float_positional(number_of(value), trim="-")
    return words.index.parse_query(f"{compared_path(field, words.kinds)}:{_RANGES[op].format(number)}", ["text"])


def document_frequencies(searcher: Any, words: Words, typed: Sequence[str]) -> Mapping[str, int]:
    """Return how many papers hold all terms of each word, as of `Index.document_frequencies`."""
    terms = {word: words.analyze(words.prepare(word)) for word in typed}
    return {
        word: min((int(searcher.doc_freq("text", term)) for term in of_word), default=0)
        for word, of_word in terms.items()
    }


def fuzzy(words: Words, terms: Sequence[str], distance: int) -> Any:
    """Return the query for papers that hold similar terms."""
    return either([Query.fuzzy_term_query(words.schema, "text", term, distance) for term in terms])


LARGE = 100_000
"""Papers in a large index, where more than one query or thread for a search saves more than it costs."""

_RARE = 100
"""Other spellings are searched for by themselves if at most one of so many papers may hold one."""


class _Spelled(NamedTuple):
    """A group in terms of the index: those of the typed words with their counts, and other spellings' weights."""

    typed: Mapping[str, int]
    others: Mapping[Positions, float]


class _PlanTerms(NamedTuple):
    """The words of a plan in terms of the index: those with one spelling, with their counts, and all others."""

    plain: Mapping[str, int]
    groups: Sequence[_Spelled]
    added: Mapping[Positions, float] = MappingProxyType({})


def matching(words: Words, searcher: Any, plan: Plan) -> Any:
    """Return the query that finds all papers with a plan's words in title or abstract."""
    return _query(words, _plan_terms(words, searcher, plan), 0.0)


def ranking(words: Words, searcher: Any, plan: Plan) -> list[Any]:
    """Return queries that together find the best papers for a plan's words; a paper's best score counts.

    tantivy skips papers that can't be among the best, but only for plain sums of terms. So in a large index, one query
    may find papers by the typed words alone, and a second one ranks the few papers that hold another spelling.
    """
    terms_of_plan = _plan_terms(words, searcher, plan)._replace(added=_added(words, plan))
    whole = _query(words, terms_of_plan, plan.title_boost)
    others = [terms for group in terms_of_plan.groups for terms in group.others]
    if plan.filter:
        return [both(whole, to_tantivy(plan.filter, words))]
    if not others or searcher.num_docs < max(LARGE, _RARE * sum(_held(searcher, terms) for terms in others)):
        return [whole]
    typed = terms_of_plan._replace(groups=[_Spelled(group.typed, {}) for group in terms_of_plan.groups])
    spelled = [side_by_side(words, "text", terms, "basic") for terms in others]
    return [_query(words, typed, plan.title_boost), both(whole, either(spelled))]


def _query(words: Words, terms_of_plan: _PlanTerms, boost: float) -> Any:
    """Return the query for words in title and abstract together, and again in the title."""

    def of(field: str, weight: float) -> list[Any]:
        best = [clause for one in terms_of_plan.groups for clause in _best_of(words, field, one, weight)]
        added = [
            (Occur.Should, Query.boost_query(side_by_side(words, field, terms, "freq"), share * weight))
            for terms, share in terms_of_plan.added.items()
        ]
        return _any_of(words, field, terms_of_plan.plain, weight) + best + added

    return Query.boolean_query([*of("text", 1.0), *(of("title", boost) if boost else [])])


def _plan_terms(words: Words, searcher: Any, plan: Plan) -> _PlanTerms:
    plain = _counted(words, plan.words if plan.plain is None else plan.plain)
    return _PlanTerms(plain, [_spelled(words, searcher, group) for group in plan.groups])


def _added(words: Words, plan: Plan) -> Mapping[Positions, float]:
    """Return the terms of a plan's added words, with their weights."""
    weights: dict[Positions, float] = {}
    for one in plan.added:
        terms = positions(words, one.text)
        weights[terms] = weights.get(terms, 0.0) + one.weight
    return weights


def _counted(words: Words, text: str) -> Mapping[str, int]:
    return Counter(words.analyze(words.prepare(text)))


def _spelled(words: Words, searcher: Any, group: TermGroup) -> _Spelled:
    """Leave out other spellings that no paper holds or that have the typed stems."""
    typed = _counted(words, group.typed)
    others = {positions(words, other.text): other.weight for other in group.others}
    return _Spelled(
        typed,
        {
            terms: share
            for terms, share in others.items()
            if [term for _, term in terms] != list(typed) and _held(searcher, terms)
        },
    )


def _held(searcher: Any, terms: Positions) -> int:
    """Return how many papers hold all terms at most."""
    return min((int(searcher.doc_freq("text", term)) for _, term in terms), default=0)


def _any_of(words: Words, field: str, counts: Mapping[str, int], weight: float) -> list[Any]:
    return [
        (Occur.Should, Query.boost_query(Query.term_query(words.schema, field, term, "freq"), count * weight))
        for term, count in counts.items()
    ]


def _best_of(words: Words, field: str, group: _Spelled, weight: float) -> list[Any]:
    """Return the clauses that score a group by its spelling that matches best."""
    if not group.others:
        return _any_of(words, field, group.typed, weight)
    others = [
        Query.boost_query(side_by_side(words, field, terms, "freq"), share) for terms, share in group.others.items()
    ]
    best = Query.disjunction_max_query([Query.boolean_query(_any_of(words, field, group.typed, 1.0)), *others])
    return [(Occur.Should, Query.boost_query(best, weight))]
