"""Runs, judgments and topics as users have them: files, dictionaries, rows, and tables of pandas or polars.

Tables may have the columns of ir_measures and ir_datasets (`query_id`, `doc_id`) or of PyTerrier (`qid`, `docno`).
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpora.errors import InputError, require
from eval.measures.metrics import parse_measure
from eval.trec.judgments import Qrels, read_qrels
from eval.trec.runs import Run, read_run
from eval.trec.topics import read_topics
from search_plugin.pages.page import Page

QUERY = ("query_id", "qid")
DOCUMENT = ("doc_id", "docno")
"""Names of a column of ids: those of ir_measures, those of PyTerrier."""

RELEVANCE = ("relevance", "label")
TEXT = ("query", "text")


def to_run(given: Any, name: str = "run") -> Run:
    """Return a run; one without a tag gets the name.

    It is given as a TREC run file; by query id, as the documents with their scores, or the ids in order; as a table
    with the columns of a query, a document and `score`; or as such rows. Raises `InputError` if it can't be read so, or
    a document comes twice for a query.
    """
    if isinstance(given, Run):
        return given
    if isinstance(given, str | Path):
        return read_run(Path(given))
    if isinstance(given, Mapping):
        return Run(name, {_id(query): ranking_of(found) for query, found in given.items()})
    rankings: dict[str, list[tuple[str, float]]] = {}
    for query, document, score in _rows(given, "a run", QUERY, DOCUMENT, ("score",)):
        rankings.setdefault(_id(query), []).append((_id(document), _number(score)))
    return Run(name, rankings)


def ranking_of(found: Any) -> list[tuple[str, float]]:
    """Return the ranked documents of one query with their scores, which descend where there are ids alone.

    They are given as ids in order, pairs of id and score, scores by id, a page of hits, or a table with a column of
    documents and `score`; `InputError` if it is none of these.
    """
    if isinstance(found, Page):
        found = [hit.id for hit in found]
    if _is_table(found):
        found = list(_rows(found, "a ranking", DOCUMENT, ("score",)))
    if isinstance(found, Mapping):
        found = list(found.items())
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise InputError(f"A ranking can't be {type(found).__name__}; return a list of ids, or of (id, score) pairs.")
    listed = list(found)
    if all(isinstance(one, tuple | list) and len(one) == 2 for one in listed):
        return [(_id(document), _number(score)) for document, score in listed]
    return [(_id(document), float(len(listed) - rank)) for rank, document in enumerate(listed)]


def to_qrels(given: Any) -> Qrels:
    """Return judgments.

    They are given as a file in TREC's or BEIR's form; by query id, as the gains of documents; as a table with the
    columns of a query, a document and `relevance` or `label`; or as such rows. Raises `InputError` if they can't be
    read so, a gain is not a whole number, or a pair is judged twice.
    """
    if isinstance(given, Qrels):
        return given
    if isinstance(given, str | Path):
        return read_qrels(Path(given))
    if isinstance(given, Mapping):
        require(
            all(isinstance(judged, Mapping) for judged in given.values()),
            "Judgments are dictionaries: by query id, the gain of each document id.",
        )
        rows: Iterable[Any] = ((query, document, gain) for query, of in given.items() for document, gain in of.items())
        gains: dict[str, dict[str, int]] = {_id(query): {} for query in given}
    else:
        rows, gains = _rows(given, "judgments", QUERY, DOCUMENT, RELEVANCE), {}
    for query, document, gain in rows:
        judged, number = gains.setdefault(_id(query), {}), _number(gain)
        require(number.is_integer(), f"The gain of {document!r} for the query {query!r} must be a whole number.")
        require(_id(document) not in judged, f"The document {document!r} is judged twice for the query {query!r}.")
        judged[_id(document)] = int(number)
    require(gains, "There are no judgments.")
    return Qrels(gains)


def to_topics(given: Any) -> dict[str, str]:
    """Return the text of queries by id.

    They are given as a file of TREC's topics, JSON lines or two columns; as texts by query id; as a table with the
    columns of a query id and `query` or `text`; or as such rows. `InputError` if they can't be read so.
    """
    if isinstance(given, str | Path):
        return read_topics(Path(given))
    rows = given.items() if isinstance(given, Mapping) else _rows(given, "topics", QUERY, TEXT)
    texts = {_id(query): text for query, text in rows}
    require(all(isinstance(text, str) for text in texts.values()), "A topic is a query id and a text.")
    return texts


def names_of(measures: Any) -> list[str]:
    """Return the names of measures, also of ir_measures' objects; a wrong one is an error before anything is done."""
    given = list(measures) if isinstance(measures, Sequence) and not isinstance(measures, str) else [measures]
    require(given, "There are no measures", "name some, such as nDCG@10")
    return [str(parse_measure(str(one))) for one in given]


def _rows(given: Any, what: str, *columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the values of a table's columns, each of which has one of several names; or rows that are given as such."""
    if not _is_table(given):
        if isinstance(given, bytes) or not isinstance(given, Iterable):
            raise InputError(
                f"{what.capitalize()} can't be {type(given).__name__}; give a file, dictionaries or a table."
            )
        for row in given:
            require(
                isinstance(row, tuple | list) and len(row) >= len(columns),
                f"A row of {what} has {len(columns)} values: {', '.join(names[0] for names in columns)}.",
            )
            yield tuple(row[: len(columns)])
        return
    held = list(given.columns)
    for names in columns:
        wanted = " or ".join(names)
        require(
            held and set(names) & set(held),
            f"The table of {what} has no column {wanted}; it has: {', '.join(map(str, held))}.",
        )
    chosen = [next(name for name in names if name in held) for names in columns]
    yield from zip(*(given[name].to_list() for name in chosen), strict=True)


def _is_table(given: Any) -> bool:
    return hasattr(given, "columns") and hasattr(given, "__getitem__")


def _id(value: Any) -> str:
    """Return an id as text; tables often hold numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    raise InputError(f"An id can't be {value!r}; give texts or whole numbers.")


def _number(value: Any) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    raise InputError(f"A score or gain can't be {value!r}; give a number.")
