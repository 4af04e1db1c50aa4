"""What every engine does. The search layer fuses, explains and highlights the same way over all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from corpora.custom import FieldValue
from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.contract.diagnosis import Diagnosis
from search_plugin.contract.legs import Facets, Listing, Position, Ranking, Scored
from search_plugin.contract.ordering import Sort
from search_plugin.contract.plan import Counting, Plan
from search_plugin.contract.schema import Bm25, Field, IndexSchema
from search_plugin.contract.tree import Filter

if TYPE_CHECKING:
    import numpy as np


EVALUATION = "eval-"
"""The names of the indexes that evaluations make begin with it; such an index is never the default."""

_INDEX_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

MOST_VALUES = 60_000
"""Values of one field that an engine lists at once: a little less than the default limits of all engines."""


def check_index_name(name: str) -> str:
    """Return the name if every engine can hold an index of that name, or raise `InputError`."""
    if not _INDEX_NAME.fullmatch(name):
        raise InputError(
            f"An index can't be named {name!r}; "
            "use up to 64 lower-case letters, digits, - and _, a letter or digit first."
        )
    return name


def too_many(field: str) -> InputError:
    """Return the error for more values than an engine lists."""
    return InputError(f"More than {MOST_VALUES:,} values of {field} begin alike; give more of the one you mean.")


@dataclass(frozen=True, slots=True)
class Document:
    """A paper ready to write.

    Attributes:
        paper: The paper.
        content_hash: The hash of the paper's content, which shows later whether it changed.
        vectors: float32 (dimension,) by format; (passages, dimension) where the vector field's unit is the passage.
    """

    paper: Paper
    content_hash: str
    vectors: Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that the engine refused, and why."""

    id: str
    reason: str


class Index(Protocol):
    """One generation of an index."""

    name: str
    generation: int
    schema: IndexSchema

    def pinned(self) -> Index:
        """Return the index for the reads of one page: they see the same papers, whatever others write meanwhile.

        An engine whose requests can't share a state returns the index itself.
        """

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Write documents, replacing those with the same ids; durable on return. Returns the refused ones."""

    def delete(self, ids: Sequence[str]) -> None:
        """Delete papers; unknown ids are ignored."""

    def finish(self) -> None:
        """Optimise the index for searching, after writes; may be called again at any time."""

    def hashes(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the content hashes of the ids that exist."""

    def papers(self, ids: Sequence[str]) -> Mapping[str, Paper]:
        """Return the papers that exist, with their values of added fields in `extra`."""

    def named(self, ids: Sequence[str], identifiers: Sequence[str]) -> Mapping[str, Paper]:
        """Return the papers that have one of some ids or one of some identifiers, in one request."""

    def spelled(self, patterns: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """Return the values of keyword fields, by field and each once, that regular expressions match as a whole.

        `patterns` are expressions of `search_plugin.filters.matching` by field. Raises `InputError` if there are more
        than `MOST_VALUES` values of a field.
        """

    def word_counts(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return how many papers hold each of some words in title or abstract, compared by stem."""

    def resembling(self, terms: Sequence[str], distance: int, size: int) -> Sequence[Paper]:
        """Return papers, at most `size`, whose title or abstract holds a term like one of some terms, in any order.

        Terms are given as they are indexed, and their first letter has to be the same. `distance` is the maximum number
        of edits, 1 or 2; to swap two neighbours is one. The papers have at least their titles and abstracts.
        """

    def remembered(self, key: str, find: Callable[[], str]) -> str:
        """Return what `find` returned for the same key before, or call it.

        An engine that can't tell whether its papers have changed may return an older answer, unless that was empty.
        """

    def documents(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Document]:
        """Return the papers that exist, with their vectors in some fields."""

    def vectors(self, ids: Sequence[str], field: str) -> Mapping[str, np.ndarray]:
        """Return float32 (dimension,) vectors of a format of the ids that exist."""

    def count(self, field: str | None = None) -> int:
        """Return how many papers the index holds, or how many of them have a vector of a format."""

    def revision(self) -> str:
        """Return a text that changes whenever what searches find may have changed, by whichever process."""

    def disk_bytes(self) -> int:
        """Return how much disk this generation takes, with all its copies."""

    def tally(self, field: str, size: int) -> Sequence[tuple[FieldValue, int]]:
        """Return the most frequent values of a field over all papers, with their counts; equal counts by value."""

    def ids(self, where: Filter | None = None) -> Iterator[str]:
        """Yield the ids of all papers, or of the papers that match a filter, in any order."""

    def values(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Mapping[str, FieldValue]]:
        """Return the values of some fields of the ids that exist; a field without a value is left out."""

    def update(self, values: Mapping[str, Mapping[str, FieldValue | None]]) -> Sequence[str]:
        """Write some fields of existing papers, by id and field, and change nothing else; durable on return.

        None or an empty value removes the field's value. Returns the ids that do not exist. Raises `InputError` if the
        index has no such field, it can't be updated, or a value is of another kind.
        """

    def add_fields(self, fields: Sequence[Field]) -> None:
        """Add fields to the schema and to the index, durable on return; no paper has a value in them yet.

        Raises `InputError` where `IndexSchema.with_fields` does.
        """

    def search(self, plan: Plan) -> Mapping[str, Sequence[Scored]]:
        """Return the papers of each leg, best first; equal scores are ordered by id."""

    def rank(self, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:
        """Run two or more legs and let the engine join them by one of the fusions of ses.

        Returns None if this engine leaves that to ses; raises `InputError` if it can never do it.
        """

    def listed(self, where: Filter | None, order: Sort, size: int, after: Position | None = None) -> Listing:
        """Return the first papers of those that match a filter, in an order; or the next ones after a position in it.

        Raises `InputError` if the index was built by a version of ses that stored no order of titles.
        """

    def fetch(self, ids: Sequence[str], counting: Counting | None = None) -> tuple[Mapping[str, Paper], Facets | None]:
        """Return what a page shows: the papers that exist, and the requested facet counts."""

    def scored_by(self, bm25: Bm25) -> AbstractContextManager[None]:
        """Use other BM25 constants inside the block, to try them; nobody else can search the index meanwhile.

        Raises `InputError` where an engine's constants are fixed.
        """


class Engine(Protocol):
    """Keeps indexes by name, each in generations of which one is published and searched."""

    url: str

    def names(self) -> Sequence[str]:
        """Return the published indexes, the most recently published first."""

    def moment(self, name: str) -> float:
        """Return when the generation that is searched was published, in seconds since 1970; 0 if it is not known."""

    def schema(self, name: str) -> IndexSchema | None:
        """Return the schema of the published generation without opening it; None if there is no such index."""

    def open(self, name: str) -> Index:
        """Return the published generation, or raise `NotFoundError` that names the existing indexes."""

    def build(self, name: str, schema: IndexSchema, source: str) -> Index:
        """Return an unpublished generation to fill: a new one, or one that an interrupted run left."""

    def publish(self, index: Index) -> None:
        """Publish a generation atomically; the previous one is kept for `rollback`."""

    def rollback(self, name: str) -> Index:
        """Publish the generation before again; raises `NotFoundError` if there is none.

        The newer generation stays until the next one is published, for those who still read it. It is never published
        again.
        """

    def copy(self, name: str, to: str, done: Callable[[int], None]) -> Index:
        """Copy the published generation of an index, and publish it as the first one of the index `to`, which has none.

        `done` receives how many more papers were copied. Raises `NotFoundError` if there is no index to copy, and
        `UnavailableError` if the copy is not whole; then nothing of it is left.
        """

    def discard(self, index: Index) -> None:
        """Delete a generation that was not published."""

    def drop(self, name: str) -> None:
        """Delete an index with all its generations, also if none was published; `NotFoundError` if there are none."""

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Lock out other writers of the index; raises `ConflictError` where there is one."""

    def diagnose(self, name: str | None = None) -> Diagnosis:
        """Return how the engine and its indexes (or the named index only) are, without changing what they hold."""


MOST_REMEMBERED = 20_000

T = TypeVar("T")


class Remembered(Generic[T]):
    """What was found for some words, such as how many papers hold them; the newest `most` answers.

    Threads may share it. `kept` says which answers to remember.
    """

    def __init__(self, kept: Callable[[T], object] = lambda _: True, most: int = MOST_REMEMBERED) -> None:
        self._kept, self._most = kept, most
        self._found: dict[str, T] = {}
        self._lock = Lock()

    def look_up(self, words: Sequence[str], find: Callable[[list[str]], Mapping[str, T]]) -> dict[str, T]:
        """Return an answer for each word; `find` gets the words without one, if there are any."""
        with self._lock:
            known = {word: self._found[word] for word in words if word in self._found}
        new = [word for word in words if word not in known]
        if not new:
            return known
        found = find(new)
        with self._lock:
            self._found.update({word: one for word, one in found.items() if self._kept(one)})
            for oldest in list(islice(self._found, max(0, len(self._found) - self._most))):
                del self._found[oldest]
        return {**known, **found}
