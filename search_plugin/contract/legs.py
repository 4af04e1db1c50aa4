"""What engines return: the legs of a search (the lexical clause and each vector clause) and their fusion, and listings.

Scores and orders are the same on every engine: how near vectors are to a query, and how papers that are not ranked are
sorted by title, or by a field of numbers or dates.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal, NamedTuple

from corpora.cleaning import first_day
from corpora.custom import FieldValue
from corpora.errors import InputError
from corpora.lazy import np
from encoders.models.formats import Similarity
from search_plugin.contract.schema import ALIASES, PAPER_FIELDS, Field

TITLE = "title"
LONGEST_KEY = 200
"""Characters of a title's sort key. Titles that begin with the same ones are ordered by id."""

_BETWEEN_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Sort:
    """An order of papers by their titles, or by a field of numbers or dates.

    Papers without a value come last in both directions, and equal ones are ordered by id.
    """

    field: str
    descending: bool = False

    def __str__(self) -> str:
        return f"-{self.field}" if self.descending else self.field


NEWEST_FIRST = Sort("year", descending=True)
BY_ID = Sort("id")
"""An order that no change of a paper disturbs."""


def parse_sort(text: str, fields: Sequence[Field] = PAPER_FIELDS) -> Sort:
    """Read an order: the name of a field, with `-` before it for the largest value first.

    Raises `InputError` if there is no such field, or its values have no order.
    """
    name = text.strip().lower()
    wanted = name.removeprefix("-").strip()
    sortable = [TITLE, *(field.name for field in fields if field.kind in ("number", "date"))]
    found = next((field for field in (wanted, ALIASES.get(wanted, "")) if field in sortable), "")
    if not found:
        raise InputError(
            f"Papers can't be sorted by {text[:60]!r}; choose one of {', '.join(sortable)}, with - before it for the "
            "largest value first."
        )
    return Sort(found, name.startswith("-"))


def title_key(title: str) -> str:
    """Return what titles are sorted by: letters and digits without case and accents; empty where there are none."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", title).casefold())
    if not decomposed.isascii():
        decomposed = "".join(char for char in decomposed if not unicodedata.combining(char))
    return _BETWEEN_WORDS.sub(" ", decomposed).strip()[:LONGEST_KEY].strip()


def sorted_ids(values: Mapping[str, FieldValue], ids: Iterable[str], order: Sort) -> list[str]:
    """Return ids in an order, by their values of its field; ids without a value are absent from `values`."""
    by_id = sorted(ids)
    keys = {id_: key for id_ in by_id if (key := position_key(values.get(id_), order)) not in (None, "")}
    having = sorted((id_ for id_ in by_id if id_ in keys), key=keys.__getitem__, reverse=order.descending)
    return [*having, *(id_ for id_ in by_id if id_ not in keys)]


def position_key(value: FieldValue | None, order: Sort) -> str | float | None:
    """Return what a paper is sorted by, given its value of the field or the key itself; None where it has none."""
    if value is None or order == BY_ID:
        return None
    if order.field == TITLE:
        return title_key(str(value)) or None
    return date.fromisoformat(first_day(value)).toordinal() if isinstance(value, str) else value  # type: ignore[return-value]


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Return the rows of (rows, dimension) at length one, in their own precision; a row of zeros stays as it is."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def closeness(vectors: np.ndarray, query: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Return scores that grow with closeness, float32 (count,), of vectors, float32 (count, dimension), to a query.

    They are the cosine (0 for a zero vector), the dot product, or minus the Euclidean distance. The query is float32
    (dimension,).
    """
    with np.errstate(over="ignore", invalid="ignore"):  # infinite scores are refused where legs are joined
        if similarity == "l2":
            away: np.ndarray = -np.linalg.norm(vectors - query, axis=1)
            return away
        dots: np.ndarray = vectors @ query
        if similarity == "dot":
            return dots
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) * np.linalg.norm(query)
        cosines: np.ndarray = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
        return cosines


Join = Literal["ses", "engine"]
"""Who joins the legs of a hybrid search. If ses joins them, scores are explained, the same on every engine."""

NEIGHBOURS = "neighbours"
"""Beside the names of the legs, the name of what a hit's score owes to the papers most like it."""


RERANKED = "rerank"
"""The name of what a reranker with a model adds to a paper, beside the legs."""


class Scored(NamedTuple):
    """A paper found by a leg.

    Attributes:
        id: The paper's id.
        score: The leg's own score; larger is better.
        value: The paper's value of the field that the plan names as its column; None where it has none.
    """

    id: str
    score: float
    value: object = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """One leg's part in a hit: rank from 1, the leg's own score, and what fusion added to the hit's score."""

    rank: int
    raw: float
    value: float


class Fused(NamedTuple):
    """A paper's fused score, and where it came from.

    Only the hits of a page need the contributions as such: a search ranks hundreds of papers.

    Attributes:
        id: The paper's id.
        score: The sum of its contributions; of papers behind those that a model ranked again, less by the same for all.
        given: Parts of a contribution by leg and id; all papers of a ranking share this.
    """

    id: str
    score: float
    given: Mapping[str, Mapping[str, tuple[int, float, float]]]

    @property
    def contributions(self) -> dict[str, Contribution]:
        """What each leg gave; legs that did not find the paper are absent."""
        return {leg: Contribution(*parts[self.id]) for leg, parts in self.given.items() if self.id in parts}


@dataclass(frozen=True, slots=True)
class Ranking:
    """The papers of legs that an engine joined, best first, ties by id; and, by id, the value of the plan's column."""

    fused: Sequence[Fused]
    values: Mapping[str, object] = field(default_factory=dict)


class Position(NamedTuple):
    """Where a paper stands in an order of papers, also after other papers came or went.

    Attributes:
        key: What the paper is sorted by, as its engine writes it: only the same engine can read it.
        id: The paper's id, since equal papers are ordered by it.
    """

    key: str | float | None
    id: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The first papers that match a filter, in an order.

    Attributes:
        ids: Their ids.
        matches: How many papers match the filter.
        positions: Where each of them stands.
    """

    ids: Sequence[str]
    matches: int
    positions: Sequence[Position] = ()


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts by field over all matches.

    Attributes:
        matches: How many papers were counted.
        counted: Description of the counted papers.
        counts: Most frequent values by field, with their counts; equal counts by value.
    """

    matches: int
    counted: str
    counts: Mapping[str, tuple[tuple[str | int | float, int], ...]]


def ranked(scores: Iterable[Scored]) -> list[Scored]:
    """Sort best first, ties by id in ascending order, so that every engine ranks alike."""
    return sorted(scores, key=lambda hit: (-hit.score, hit.id))
