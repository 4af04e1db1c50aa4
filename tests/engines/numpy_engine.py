"""An engine in the memory of one process that does only what every engine must do (`search_plugin.contract.engine`).

It proves that the contract is enough for all searches of ses, and is quicker for small indexes than tantivy.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from threading import Lock
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np

from corpora.errors import ConflictError
from search_plugin.contract.engine import Document, Engine, Index, Refused, check_index_name, unknown_index
from search_plugin.contract.legs import Scored, closeness, ranked
from search_plugin.contract.plan import LEXICAL, Plan, TermVariant, VectorClause, check_sparse, check_vector
from search_plugin.contract.schema import Bm25, Field, IndexSchema, SparseField
from search_plugin.contract.tree import Filter
from search_plugin.contract.values import check_dimensions, check_numbers
from search_plugin.filters.matching import matches
from search_plugin.words.terms import terms_of


class Texts:
    """The terms of texts by id, and their scores by BM25 as Lucene and tantivy compute it."""

    def __init__(self, texts: Mapping[str, str], language: str, bm25: Bm25) -> None:
        self.language, self.bm25 = language, bm25
        self.terms = {id_: terms_of(text, language) for id_, text in texts.items()}
        self.counts = {id_: Counter(filter(None, terms)) for id_, terms in self.terms.items()}
        self.holding = Counter(term for counts in self.counts.values() for term in counts)
        self.length = sum(counts.total() for counts in self.counts.values()) / (len(texts) or 1)

    def score_words(self, id_: str, words: str) -> float:
        return sum(self._score(id_, [term], self.counts[id_][term]) for term in terms_of(words, self.language) if term)

    def score_phrase(self, id_: str, one: TermVariant) -> float:
        asked, held = terms_of(one.text, self.language), self.terms[id_]
        starts = range(len(held) - len(asked) + 1) if any(asked) else ()
        count = sum(all(t in ("", held[at + step]) for step, t in enumerate(asked)) for at in starts)
        return one.weight * self._score(id_, [term for term in asked if term], count)

    def _score(self, id_: str, terms: Sequence[str], count: int) -> float:
        if not count:
            return 0.0
        k1, b = self.bm25.k1, self.bm25.b
        rare = sum(math.log(1 + (len(self.terms) - n + 0.5) / (n + 0.5)) for n in map(self.holding.__getitem__, terms))
        return rare * count * (k1 + 1) / (count + k1 * (1 - b + b * self.counts[id_].total() / self.length))


@dataclass(frozen=True)
class Commit:
    """All documents of a generation by id; a write makes another one."""

    documents: Mapping[str, Document]
    schema: IndexSchema
    revision: str = field(default_factory=lambda: uuid4().hex)

    def passing(self, where: Filter | None) -> list[str]:
        told, language = self.schema.fields, self.schema.language
        return [id_ for id_, one in self.documents.items() if not where or matches(where, one.paper, told, language)]

    @cached_property
    def fields(self) -> Mapping[str, Texts]:
        papers = [one.paper for one in self.documents.values()]
        texts = {"text": {p.id: f"{p.title}\n{p.abstract}" for p in papers}, "title": {p.id: p.title for p in papers}}
        return {name: Texts(one, self.schema.language, self.schema.bm25) for name, one in texts.items()}

    def score(self, plan: Plan, id_: str) -> float:
        score = 0.0
        for texts, boost in ((self.fields["text"], 1.0), (self.fields["title"], plan.title_boost)):
            words, phrase = partial(texts.score_words, id_), partial(texts.score_phrase, id_)
            groups = (max([words(one.typed), *map(phrase, one.others)]) for one in plan.groups)
            plain = words(plan.words if plan.plain is None else plan.plain)
            score += boost * (plain + sum(groups) + sum(map(phrase, plan.added)))
        return score

    def nearest(self, clause: VectorClause, ids: Sequence[str]) -> dict[str, float]:
        """Return the closeness to a vector of those papers that have one; of several, that of the nearest."""
        asked = self.schema.leg(clause.field)
        held = {id_: self.documents[id_].vectors[clause.field] for id_ in ids}
        if isinstance(asked, SparseField):
            check_sparse(clause, self.schema)
            weights = dict(clause.vector.tolist())
            dots = {id_: sum(weights.get(at, 0) * own for at, own in row.tolist()) for id_, row in held.items()}
            return {id_: dot for id_, dot in dots.items() if dot > 0}
        check_vector(clause, self.schema)
        rows = {id_: np.atleast_2d(vectors) for id_, vectors in held.items() if vectors.size}
        if not rows:
            return {}
        scores = closeness(np.concatenate([*rows.values()]), clause.vector, asked.similarity)
        starts = np.cumsum([0, *map(len, rows.values())][:-1])
        return dict(zip(rows, np.maximum.reduceat(scores, starts).tolist(), strict=True))


class NumpyIndex(Index):
    """One generation of an index; see `Index`."""

    def __init__(self, name: str, generation: int, schema: IndexSchema, source: str) -> None:
        self.name, self.generation, self.begun = name, generation, (schema, source)
        self.schema, self._commit, self._writing = schema, Commit({}, schema), Lock()

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        refused, taken = [], {}
        for document in documents:
            check_dimensions(document.vectors, self.schema)
            try:
                f"{document.paper.title}{document.paper.abstract}".encode()
                check_numbers(document.vectors, self.schema)
                taken[document.paper.id] = document
            except ValueError as error:
                refused.append(Refused(document.paper.id, str(error)))
        with self._writing:
            self._commit = Commit({**self._commit.documents, **taken}, self.schema)
        return refused

    def delete(self, ids: Sequence[str]) -> None:
        with self._writing:
            kept = {id_: one for id_, one in self._commit.documents.items() if id_ not in set(ids)}
            self._commit = Commit(kept, self.schema)

    def add_fields(self, fields: Sequence[Field]) -> None:
        with self._writing:
            self.schema = self.schema.with_fields(fields)
            self._commit = Commit(self._commit.documents, self.schema)

    def documents(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Document]:
        found = {id_: self._commit.documents[id_] for id_ in ids if id_ in self._commit.documents}
        wanted = [self.schema.leg(name).format for name in fields]
        return {id_: replace(one, vectors={name: one.vectors[name] for name in wanted}) for id_, one in found.items()}

    def ids(self, where: Filter | None = None) -> Iterator[str]:
        yield from self._commit.passing(where)

    def search(self, plan: Plan) -> Mapping[str, Sequence[Scored]]:
        commit = self._commit
        ids = commit.passing(plan.filter)
        legs = {LEXICAL: {id_: score for id_ in ids if (score := commit.score(plan, id_))}} if plan.words else {}
        legs |= {clause.field: commit.nearest(clause, ids) for clause in plan.vectors}
        value = {id_: commit.documents[id_].paper.value(plan.column) for id_ in ids} if plan.column else {}
        scored = {leg: [Scored(id_, one, value.get(id_)) for id_, one in held.items()] for leg, held in legs.items()}
        return {leg: ranked(hits)[: plan.window] for leg, hits in scored.items()}

    def revision(self) -> str:
        return self._commit.revision


class NumpyEngine(Engine):
    """Keeps indexes in memory, by URL `numpy:NAME`; see `Engine`. It keeps no earlier versions."""

    _of_url: ClassVar[Any] = defaultdict(lambda: ({}, {}, defaultdict(Lock)))  # shared by all engines of this process

    def __init__(self, url: str) -> None:
        self.url = url
        self._published, self._begun, self._locks = self._of_url[url]

    def names(self) -> Sequence[str]:
        return list(reversed(self._published))

    def open(self, name: str) -> NumpyIndex:
        if check_index_name(name) not in self._published:
            raise unknown_index(name, self.url, self.names())
        return self._published[name]

    def build(self, name: str, schema: IndexSchema, source: str) -> NumpyIndex:
        newest = self._begun.get(check_index_name(name)) or self._published.get(name)
        if name not in self._begun or newest.begun != (schema, source):
            self._begun[name] = NumpyIndex(name, newest.generation + 1 if newest else 1, schema, source)
        return self._begun[name]

    def publish(self, index: Index) -> None:
        self._begun.pop(index.name, None)
        self._published.pop(index.name, None)  # the last one published is the first
        self._published[index.name] = index

    def discard(self, index: Index) -> None:
        del self._begun[index.name]

    def drop(self, name: str) -> None:
        if name not in self._begun:
            self.open(name)
        self._begun.pop(name, None)
        self._published.pop(name, None)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        if not self._locks[check_index_name(name)].acquire(blocking=False):
            raise ConflictError(f"Another run is writing the index {name}", "wait until it is done")
        try:
            yield
        finally:
            self._locks[name].release()
