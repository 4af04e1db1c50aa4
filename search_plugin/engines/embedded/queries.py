"""Queries of the word index: of filters, ids and words; and the rows that they find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from search_plugin.contract.tree import Alike, And, Compare, Exists, Filter, Not, OneOf, Or, Says, Value, unresolved
from search_plugin.engines.embedded.fields import COMPARED, compared_path, number_of

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


_RANGES = {"=": "[{0} TO {0}]", "<": "[* TO {0}}}", "<=": "[* TO {0}]", ">": "{{{0} TO *]", ">=": "[{0} TO *]"}


def to_tantivy(where: Filter, words: Words) -> Any:  # noqa: C901 - one case for each kind of node
    """Return a query that finds the papers that match a filter; `columns.passing` does the same for vectors."""
    from tantivy import Occur, Query

    match where:
        case Not(part):
            return Query.boolean_query([(Occur.Must, Query.all_query()), (Occur.MustNot, to_tantivy(part, words))])
        case And(parts):
            return Query.boolean_query([(Occur.Must, to_tantivy(part, words)) for part in parts])
        case Or(parts):
            return either([to_tantivy(part, words) for part in parts])
        case Says(field, said):
            return saying(words, field, said)
        case Alike():
            raise unresolved(where)
        case Exists("id"):
            return Query.all_query()
        case Exists(field):
            return Query.exists_query(f"fields.{field}")
        case OneOf(field, values):
            return _one_of(field, values, words)
        case Compare(field, "=", value) if words.kinds[field] not in COMPARED:
            return _one_of(field, (value,), words)
        case Compare(field, op, value):
            return _range(field, op, value, words)


def _one_of(field: str, values: Sequence[Value], words: Words) -> Any:
    from tantivy import Query

    if words.kinds[field] in COMPARED:
        return either([_range(field, "=", value, words) for value in values])
    path = field if field == "id" else f"fields.{field}"
    return either([Query.term_query(words.schema, path, value, "basic") for value in values])


def _range(field: str, op: str, value: Value, words: Words) -> Any:
    import numpy as np

    # tantivy offers ranges over JSON only in its query language; a number is all that it gets from the user.
    number = np.format_float_positional(number_of(value), trim="-")
    return words.index.parse_query(f"{compared_path(field, words.kinds)}:{_RANGES[op].format(number)}", ["text"])


def word_counts(searcher: Any, words: Words, asked: Sequence[str]) -> Mapping[str, int]:
    """Return how many papers hold all terms of each word, as of `Index.word_counts`."""
    terms = {word: words.analyze(words.prepare(word)) for word in asked}
    return {
        word: min((int(searcher.doc_freq("text", term)) for term in of_word), default=0)
        for word, of_word in terms.items()
    }


def resembling(words: Words, terms: Sequence[str], distance: int) -> Any:
    """Return the query for papers that hold similar terms."""
    from tantivy import Query

    return either([Query.fuzzy_term_query(words.schema, "text", term, distance) for term in terms])
