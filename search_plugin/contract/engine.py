"""What every engine must do, and what it may do in a quicker way of its own. The search layer is the same over all.

An engine has two classes, an `Engine` and an `Index`. It must write their 14 abstract methods. All other methods have
a default, which is written here by the abstract ones: it is right for every engine, and slow in a large index. An
engine replaces those that it can do better. What can't be done by the abstract methods alone is a small protocol
(`JoinsLegs`, `TriesBm25`, `AttachesIndexes`, `InCluster`), and the code above asks an index whether it is one.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

from corpora.custom import FieldValue
from corpora.errors import InputError, NotFoundError, UnavailableError
from corpora.lazy import np
from corpora.paper import Paper
from search_plugin.contract.legs import Facets, Listing, Position, Ranking, Scored, Sort, position_key, sorted_ids
from search_plugin.contract.plan import LEXICAL, Counting, Plan, counted_papers
from search_plugin.contract.schema import SPARSE, Bm25, Field, IndexSchema, SparseField
from search_plugin.contract.tree import Filter, OneOf, Says
from search_plugin.words.terms import edits, terms_of

if TYPE_CHECKING:
    from search_plugin.contract.diagnosis import Diagnosis


EVALUATION = "eval-"
"""The names of the indexes that evaluations make begin with it; such an index is never the default."""

_INDEX_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

MOST_VALUES = 60_000
"""Values of one field that an engine lists at once: a little less than the default limits of all engines."""

_BLOCK = 500
"""Papers that a default reads or writes at once."""


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


class Index(ABC):
    """One generation of an index; threads may share it."""

    name: str
    generation: int
    schema: IndexSchema

    # What every index must do.

    @abstractmethod
    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Write documents, replacing those with the same ids; durable on return. Returns the refused ones."""

    @abstractmethod
    def delete(self, ids: Sequence[str]) -> None:
        """Delete papers; unknown ids are ignored."""

    @abstractmethod
    def add_fields(self, fields: Sequence[Field]) -> None:
        """Add fields to the schema and to the index, durable on return; no paper has a value in them yet.

        Raises `InputError` where `IndexSchema.with_fields` does.
        """

    @abstractmethod
    def documents(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Document]:
        """Return the papers that exist, with their values of added fields, and their vectors in some fields."""

    @abstractmethod
    def ids(self, where: Filter | None = None) -> Iterator[str]:
        """Yield the ids of all papers, or of the papers that match a filter, in any order."""

    @abstractmethod
    def search(self, plan: Plan) -> Mapping[str, Sequence[Scored]]:
        """Return the papers of each leg, best first; equal scores are ordered by id."""

    @abstractmethod
    def revision(self) -> str:
        """Return a text that changes whenever what searches find may have changed, by whichever process."""

    # What an index may do in a quicker way than by the methods above.

    def pinned(self) -> Index:
        """Return the index for the reads of one page: they see the same papers, whatever others write meanwhile.

        An engine whose requests can't share a state returns the index itself.
        """
        return self

    def finish(self) -> None:  # noqa: B027 - nothing to do is a default
        """Optimise the index for searching, after writes; may be called again at any time."""

    def hashes(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the content hashes of the ids that exist."""
        return {id_: found.content_hash for id_, found in self.documents(ids, ()).items()}

    def papers(self, ids: Sequence[str]) -> Mapping[str, Paper]:
        """Return the papers that exist, with their values of added fields in `extra`."""
        return {id_: found.paper for id_, found in self.documents(ids, ()).items()}

    def values(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Mapping[str, FieldValue]]:
        """Return the values of some fields of the ids that exist; a field without a value is left out."""
        return {
            id_: {name: value for name in fields if (value := paper.value(name)) is not None}
            for id_, paper in self.papers(ids).items()
        }

    def vectors(self, ids: Sequence[str], field: str) -> Mapping[str, np.ndarray]:
        """Return float32 (dimension,) vectors of a format of the ids that exist."""
        return {id_: found.vectors[field] for id_, found in self.documents(ids, [field]).items()}

    def find_papers(self, ids: Sequence[str], identifiers: Sequence[str]) -> Mapping[str, Paper]:
        """Return the papers that have one of some ids or one of some identifiers, in one request."""
        more = self.ids(OneOf("identifiers", tuple(identifiers))) if identifiers else ()
        return self.papers(list(dict.fromkeys([*ids, *more])))

    def matching_values(self, patterns: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """Return the values of keyword fields, by field and each once, that regular expressions match as a whole.

        `patterns` are expressions of `search_plugin.filters.matching` by field. Raises `InputError` if there are more
        than `MOST_VALUES` values of a field.
        """
        found: dict[str, dict[str, None]] = {field: {} for field in patterns}
        for paper in self._all_papers():
            for field, expressions in patterns.items():
                values = facet_values(paper, self.schema.field(field))
                matched = (str(one) for one in values if any(re.fullmatch(like, str(one)) for like in expressions))
                found[field] |= dict.fromkeys(matched)
        if field := next((field for field, values in found.items() if len(values) > MOST_VALUES), ""):
            raise too_many(field)
        return {field: list(values) for field, values in found.items()}

    def document_frequencies(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return how many papers hold each of some words in title or abstract, compared by stem."""
        return {word: sum(1 for _ in self.ids(Says("text", word))) for word in words}

    def fuzzy_matches(self, terms: Sequence[str], distance: int, size: int) -> Sequence[Paper]:
        """Return papers, at most `size`, whose title or abstract holds a term like one of some terms, in any order.

        Terms are given as they are indexed. `distance` is the maximum number of edits, 1 or 2; to swap two neighbours
        is one. Papers may be left out whose term has another first letter. They have at least titles and abstracts.
        """

        def near(held: str) -> bool:
            return any(held[:1] == term[:1] and edits(held, term, consonant=1.0) <= distance for term in terms)

        def holds(paper: Paper) -> bool:
            return any(map(near, {*terms_of(f"{paper.title}\n{paper.abstract}", self.schema.language)}))

        return list(islice(filter(holds, self._all_papers()), size))

    def cached(self, key: str, find: Callable[[], str]) -> str:  # noqa: ARG002 - an engine that caches looks it up
        """Return what `find` returned for the same key before, or call it.

        An engine that can't tell whether its papers have changed may return an older answer, unless that was empty.
        """
        return find()

    def count(self, field: str | None = None) -> int:
        """Return how many papers the index holds, or how many of them have a vector of a format."""
        ids = list(self.ids())
        if field is None or field == SPARSE:  # every paper has one, which may have no entry
            return len(ids)
        return sum(1 for block in _blocks(ids) for vector in self.vectors(block, field).values() if vector.size)

    def disk_bytes(self) -> int:
        """Return how much disk this generation takes, with all its copies; 0 if it is not known."""
        return 0

    def value_counts(self, field: str, size: int) -> Sequence[tuple[FieldValue, int]]:
        """Return the most frequent values of a field over all papers, with their counts; equal counts by value."""
        return count_values(self._all_papers(), [self.schema.field(field)], size)[field]

    def update(self, values: Mapping[str, Mapping[str, FieldValue | None]]) -> Sequence[str]:
        """Write some fields of existing papers, by id and field, and change nothing else; durable on return.

        None or an empty value removes the field's value. Returns the ids that do not exist. Raises `InputError` if the
        index has no such field, it can't be updated, or a value is of another kind.
        """
        from search_plugin.contract.values import checked, with_values

        changes = checked(self.schema, values)
        found = self.documents(list(changes), [field.format for field in self.schema.written])
        self.upsert([replace(one, paper=with_values(one.paper, changes[id_])) for id_, one in found.items()])
        return [id_ for id_ in changes if id_ not in found]

    def listed(self, where: Filter | None, order: Sort, size: int, after: Position | None = None) -> Listing:
        """Return the first papers of those that match a filter, in an order; or the next ones after a position in it.

        Raises `InputError` if the index was built by a version of ses that stored no order of titles.
        """
        held = self.values(list(self.ids(where)), [order.field])
        keys = {id_: row[order.field] for id_, row in held.items() if row}
        place = ""
        if after:
            place = f"{after.id}\0"  # right after this id
            keys |= {place: after.key} if after.key is not None else {}
        ids = sorted_ids(keys, [*held, *filter(None, [place])], order)
        shown = ids[ids.index(place) + 1 if after else 0 :][:size]
        return Listing(shown, len(held), [Position(position_key(keys.get(id_), order), id_) for id_ in shown])

    def fetch(self, ids: Sequence[str], counting: Counting | None = None) -> tuple[Mapping[str, Paper], Facets | None]:
        """Return what a page shows: the papers that exist, and the requested facet counts."""
        return self.papers(ids), self._facets(counting) if counting else None

    def _facets(self, counting: Counting) -> Facets:
        plan = counting.plan
        if plan.order:
            counted = set(self.ids(plan.filter))
        else:
            counted = set(counting.found)
            if plan.words:
                every = replace(plan, vectors=(), added=(), window=self.count() or 1)
                counted |= {hit.id for hit in self.search(every)[LEXICAL]}
        papers = list(self.papers(sorted(counted)).values())
        fields = [self.schema.field(name) for name in counting.fields]
        found = count_values(papers, fields, counting.size, counting.include)
        return Facets(len(papers), counted_papers(plan), {name: tuple(one) for name, one in found.items()})

    def _all_papers(self) -> Iterator[Paper]:
        for block in _blocks(list(self.ids())):
            yield from self.papers(block).values()


def check_model(index: Index, name: str, fingerprint: str, leg: str = "", *, papers_by: str = "") -> None:
    """Raise `InputError`, naming both, where a model is not the one that made the index, or the vectors of a leg.

    `papers_by` is the fingerprint of a member whose indexes it can search too (`ModelCard.papers_by`).
    """
    schema = index.schema
    field = schema.beside(leg)
    if field and field.fingerprint not in {fingerprint, papers_by}:
        raise InputError(
            f"The vectors {leg} of the index {index.name} are of the model {field.model} ({field.fingerprint}), not of "
            f"{name} ({fingerprint})",
            f"give <sparse={field.model}>, or index again with <fresh> and <sparse={name}>"
            if isinstance(field, SparseField)
            else "attach the index again with that model",
        )
    if not field and schema.fingerprint not in {fingerprint, papers_by}:
        if schema.model == name:
            raise InputError(
                f"The index {index.name} was made by another {name} ({schema.fingerprint}) than the one here "
                f"({fingerprint})",
                "restore that model, or index again with <fresh>",
            )
        raise InputError(
            f"The index {index.name} was made by the model {schema.model} ({schema.fingerprint}), not by {name} "
            f"({fingerprint})",
            f"give <model={schema.model}>, or index again with <fresh> and <model={name}>",
        )


@runtime_checkable
class JoinsLegs(Protocol):
    """An index whose engine can join the legs of a search itself."""

    def rank(self, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:
        """Run two or more legs and let the engine join them by one of the fusions of ses.

        Returns None if this engine leaves that to ses; raises `InputError` if it can never do it.
        """


def rank_in_engine(index: Index, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:
    """Let the engine of an index join two or more legs, or raise `InputError` if it can't; see `JoinsLegs`."""
    if isinstance(index, JoinsLegs):
        return index.rank(plan, fusion, weights)
    raise InputError("This engine can't join the legs of a search", "let ses join them")


@runtime_checkable
class TriesBm25(Protocol):
    """An index that can be searched by other constants of BM25 than its own."""

    def scored_by(self, bm25: Bm25) -> AbstractContextManager[None]:
        """Use other BM25 constants inside the block, to try them; nobody else can search the index meanwhile."""


def scored_by(index: Index, bm25: Bm25) -> AbstractContextManager[None]:
    """Return a block in which an index is searched by some constants of BM25; `InputError` if its engine can't."""
    if isinstance(index, TriesBm25):
        return index.scored_by(bm25)
    if bm25 == index.schema.bm25:
        return nullcontext()
    raise InputError(
        f"This engine scores words by BM25 with {index.schema.bm25}, which can't be changed",
        "leave <bm25> out, or use a cluster",
    )


@runtime_checkable
class AttachesIndexes(Protocol):
    """An engine that can search the indexes of other programs, which are attached to it."""

    def attachments(self, name: str) -> Sequence[object]:
        """Return the attached index of a name, or all by `*`."""


@runtime_checkable
class InCluster(Protocol):
    """An engine whose indexes are in a cluster, which other programs can ask too.

    Attributes:
        cluster: What sends requests to it, a `Cluster`.
    """

    cluster: Any


class Engine(ABC):
    """Keeps indexes by name, each in generations of which one is published and searched."""

    url: str

    # What every engine must do.

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Return the published indexes, the most recently published first."""

    @abstractmethod
    def open(self, name: str) -> Index:
        """Return the published generation, or raise `NotFoundError` that names the existing indexes."""

    @abstractmethod
    def build(self, name: str, schema: IndexSchema, source: str) -> Index:
        """Return an unpublished generation to fill: a new one, or one that an interrupted run left."""

    @abstractmethod
    def publish(self, index: Index) -> None:
        """Publish a generation atomically; the previous one is kept for `rollback`, if the engine has that."""

    @abstractmethod
    def discard(self, index: Index) -> None:
        """Delete a generation that was not published."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Delete an index with all its generations, also if none was published; `NotFoundError` if there are none."""

    @abstractmethod
    def lock(self, name: str) -> AbstractContextManager[None]:
        """Lock out other writers of the index; raises `ConflictError` where there is one."""

    # What an engine may do in a quicker way than by the methods above.

    def published_at(self, name: str) -> float:  # noqa: ARG002 - an engine that knows looks it up
        """Return when the generation that is searched was published, in seconds since 1970; 0 if it is not known."""
        return 0.0

    def schema(self, name: str) -> IndexSchema | None:
        """Return the schema of the published generation without opening it; None if there is no such index."""
        return self.open(name).schema if check_index_name(name) in self.names() else None

    def rollback(self, name: str) -> Index:
        """Publish the generation before again; raises `NotFoundError` if there is none.

        The newer generation stays until the next one is published, for those who still read it. It is never published
        again.
        """
        raise no_earlier(check_index_name(name))

    def copy(self, name: str, to: str, done: Callable[[int], None]) -> Index:
        """Copy the published generation of an index, and publish it as the first one of the index `to`, which has none.

        `done` receives how many more papers were copied. Raises `NotFoundError` if there is no index to copy, and
        `UnavailableError` if the copy is not whole; then nothing of it is left.
        """
        index = self.open(name)
        # The time is in the source, so that a copy that was killed is never continued: the index may have changed.
        copied = self.build(to, index.schema, f"copy of {name} at {time.time()}")
        try:
            _copy_documents(index, copied, done)
        except BaseException:
            with suppress(UnavailableError):
                self.discard(copied)
            raise
        self.publish(copied)
        return self.open(to)

    def diagnose(self, name: str | None = None) -> Diagnosis:
        """Return how the engine and its indexes (or the named index only) are, without changing what they hold."""
        from search_plugin.contract.diagnosis import Diagnosis, IndexDiagnosis, missing_vectors, troubles_of

        states = []
        for one in [name] if name else self.names():
            index = self.open(one)
            state = IndexDiagnosis(one, index.generation).with_papers(index.schema, index.count(), index.count)
            states.append(replace(state, disk_bytes=index.disk_bytes()).plus(*missing_vectors(state)))
        return Diagnosis(self.url.partition(":")[0], "", ("ses",), tuple(states), tuple(troubles_of(states)))


def unknown_index(name: str, place: object, known: Sequence[str], hint: str = "") -> NotFoundError:
    """Return the error for an index that is not in an engine, which knows others; there may be a better hint."""
    hint = hint or (f"choose one of {', '.join(known)}" if known else "index some papers first")
    return NotFoundError(f"There is no index {name!r} in {place}", hint)


def no_earlier(name: str) -> NotFoundError:
    """Return the error for an index without an earlier version."""
    return NotFoundError(f"The index {name} has no earlier version to go back to", "<fresh> makes and keeps one")


def _copy_documents(source: Index, target: Index, done: Callable[[int], None]) -> None:
    """Write all papers of an index, with their vectors, values and content hashes, into an empty one, block by block.

    `done` receives how many more papers were written. Raises `UnavailableError` if the engine refuses a paper, or if
    the copy holds another number of papers.
    """
    formats = [field.format for field in source.schema.written]
    written = 0
    for block in _blocks(list(source.ids())):
        documents = list(source.documents(block, formats).values())
        if refused := target.upsert(documents):
            raise UnavailableError(f"The paper {refused[0].id} can't be copied: {refused[0].reason}.")
        written += len(documents)
        done(len(documents))
    target.finish()
    if not target.count() == written == source.count():
        raise UnavailableError(f"The index {source.name} changed while it was copied; copy it again.")


def _blocks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _BLOCK] for start in range(0, len(ids), _BLOCK))


def facet_values(paper: Paper, field: Field) -> Iterable[FieldValue]:
    """Return the values of a field as they are counted, each once: a date by its year, a boolean as `true`."""
    value = paper.value(field.name)
    if value is None:
        return ()
    if isinstance(value, tuple):
        return dict.fromkeys(filter(None, value))
    if field.kind == "date":
        return (int(str(value)[:4]),)
    return ("true",) if field.kind == "boolean" else (value,)


def count_values(
    papers: Iterable[Paper], fields: Sequence[Field], size: int, include: Sequence[str] = ()
) -> dict[str, list[tuple[Any, int]]]:
    """Return the most frequent values of fields by field, with their counts, ties by value.

    `include` holds the only values to count, if there are any.
    """
    counts: dict[str, Counter[Any]] = {field.name: Counter() for field in fields}
    for paper in papers:
        for field in fields:
            counts[field.name].update(one for one in facet_values(paper, field) if not include or one in include)
    return {
        name: sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:size] for name, counted in counts.items()
    }


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
