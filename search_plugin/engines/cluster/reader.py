"""What can be read of one generation of an index in a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.legs import Listing
from search_plugin.contract.schema import IndexSchema
from search_plugin.contract.trace import note
from search_plugin.engines.cluster.documents import (
    flat,
    id_of,
    paper_of,
    source_id,
    values_of,
)
from search_plugin.engines.cluster.facets import (
    facets_body,
    read_facets,
    read_spelled,
    read_tally,
    spelled_body,
    tally_body,
)
from search_plugin.engines.cluster.joins import rank
from search_plugin.engines.cluster.passages import has_vector, path_of
from search_plugin.engines.cluster.physical import physical_name
from search_plugin.engines.cluster.queries import (
    ID_COLUMN,
    condition,
    leg_bodies,
    listing_body,
    multi_search,
    read_word_counts,
    resembling_query,
    scored,
    word_counts_body,
)
from search_plugin.engines.cluster.reading import (
    among,
    document_bodies,
    having,
    papers_of,
    read_documents,
    read_papers,
    vectors_of,
)
from search_plugin.engines.cluster.replies import check_whole
from search_plugin.engines.cluster.transport import READING
from search_plugin.engines.remembered import Remembered
from search_plugin.filters.alike import joined
from search_plugin.pages.page import Facets

if TYPE_CHECKING:
    import numpy as np

    from corpora.custom import FieldValue
    from search_plugin.contract.legs import Ranking, Scored
    from search_plugin.contract.ordering import Sort
    from search_plugin.contract.plan import Counting, Plan
    from search_plugin.contract.tree import Filter
    from search_plugin.engines.cluster.dialect import Dialect
    from search_plugin.engines.cluster.lease import Lease
    from search_plugin.engines.cluster.transport import Cluster, RetryPolicy

PAGE = 1_000
"""Papers asked for in one request."""


class ClusterReader:
    """The reading half of `Index`.

    Args:
        cluster: Where it is.
        dialect: Of the product.
        name: As the user calls it.
        generation: Which version of it.
        schema: What it holds.
        lease: The right to write; None for readers.
    """

    def __init__(
        self, cluster: Cluster, dialect: Dialect, name: str, generation: int, schema: IndexSchema, lease: Lease | None
    ) -> None:
        self.cluster = cluster
        self.dialect = dialect
        self.name = name
        self.generation = generation
        self.schema = schema
        self.physical = physical_name(name, generation)
        self._lease = lease
        # A word that no paper holds may come with the next paper. What was found may be a little old.
        self._counts: Remembered[int] = Remembered(bool)
        self._answers: Remembered[str] = Remembered(bool)
        # What an interrupted run wrote may not be searchable yet. Readers need no refresh, and may lack the right.
        self._stale = lease is not None

    def hashes(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the content hashes of the ids that exist."""
        columns = {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["id", "content_hash"]}
        # A document without a hash was not written by ses, and is written again.
        return {id_of(hit): hit["fields"].get("content_hash", [""])[0] for hit in self._among(ids, columns)}

    def papers(self, ids: Sequence[str]) -> Mapping[str, Paper]:
        """Return the papers that exist, with their values of added fields in `extra`."""
        found = (paper_of(hit["_source"], self.schema) for hit in self._among(ids, papers_of(self.schema)))
        return {paper.id: paper for paper in found}

    def named(self, ids: Sequence[str], identifiers: Sequence[str]) -> Mapping[str, Paper]:
        """Return the papers that have one of some ids or one of some identifiers, in one request."""
        body = {**having(ids, identifiers), **papers_of(self.schema)}
        return read_papers(self.ask_search(body, why="papers by identifier"), self.schema)

    def spelled(self, patterns: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """Return the values of keyword fields that regular expressions match; see `Index`."""
        asked = [(field, one) for field, expressions in patterns.items() for one in joined(expressions)]
        reply = self.ask_search(spelled_body(asked), why=f"values of {', '.join(patterns)}")
        return read_spelled(reply, asked)

    def word_counts(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return how many papers hold each of some words in title or abstract, compared by stem."""

        def count(new: Sequence[str]) -> Mapping[str, int]:
            reply = self.ask_search(word_counts_body(new), why="papers with each word")
            return read_word_counts(reply, new)

        return self._counts.look_up(words, count)

    def resembling(self, terms: Sequence[str], distance: int, size: int) -> Sequence[Paper]:
        """Return papers whose title or abstract holds a term like one of some terms; see `Index`."""
        query = resembling_query(terms, distance)
        body = {"query": query, **papers_of(self.schema), "size": size, "track_total_hits": False}
        return list(read_papers(self.ask_search(body, why="similar words"), self.schema).values())

    def remembered(self, key: str, find: Callable[[], str]) -> str:
        """Return what `find` returned for the same key before, unless it was empty, or call it."""
        return self._answers.look_up([key], lambda _: {key: find()})[key]

    def values(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Mapping[str, FieldValue]]:
        """Return the values of some fields of the ids that exist; a field without a value is left out."""
        kinds = {field.name: field.kind for field in self.schema.fields}
        # A column is faster to read than a document, but has no text, and has dates and booleans in another form.
        if all(kinds.get(name) in ("keyword", "keywords") for name in fields):
            columns = {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["id", *fields]}
            hits = self._among(ids, columns)
            return {id_of(hit): values_of(flat(hit["fields"], kinds), self.schema, fields) for hit in hits}
        hits = self._among(ids, {"_source": ["id", *fields]})
        return {source_id(hit): values_of(hit["_source"], self.schema, fields) for hit in hits}

    def documents(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Document]:
        """Return the papers that exist, with their vectors in some fields."""
        held = [self.schema.leg(field) for field in fields]
        documents: dict[str, Document] = {}
        for start in range(0, len(ids), PAGE):
            bodies = document_bodies(ids[start : start + PAGE], self.schema, held)
            documents |= read_documents(self._ask_all(bodies, "papers with vectors"), self.schema, held)
        return documents

    def vectors(self, ids: Sequence[str], field: str) -> Mapping[str, np.ndarray]:
        """Return float32 (dimension,) vectors of a format, or (passages, dimension), of the ids that exist."""
        held = self.schema.leg(field)
        hits = self._among(ids, {"_source": False, "fields": ["id", path_of(held)]})
        return {id_of(hit): vectors_of(hit, [held])[field] for hit in hits}

    def count(self, field: str | None = None) -> int:
        """Return how many papers the index holds, or how many of them have a vector in a field."""
        query = has_vector(self.schema.leg(field)) if field else {"match_all": {}}
        return int(self._ask("_count", {"query": query})["count"])

    def tally(self, field: str, size: int) -> Sequence[tuple[FieldValue, int]]:
        """Return the most frequent values of a field over all papers, with their counts; equal counts by value."""
        return read_tally(self.ask_search(tally_body(self.schema.field(field), size)), self.schema.field(field), size)

    def ids(self, where: Filter | None = None) -> Iterator[str]:
        """Yield the ids of all papers, or of the papers that match a filter, in any order."""
        query = {"bool": {"filter": [condition(where, self.schema) or {"match_all": {}}]}}
        body: dict[str, Any] = {"query": query, "size": PAGE, "sort": [{"id": "asc"}], **ID_COLUMN}
        after: list[Any] = []
        while True:
            hits = self.ask_search({**body, **({"search_after": after} if after else {})})["hits"]["hits"]
            if not hits:
                return
            yield from map(id_of, hits)
            after = hits[-1]["sort"]

    def search(self, plan: Plan) -> Mapping[str, Sequence[Scored]]:
        """Return the papers of each leg, best first; equal scores are ordered by id; all legs in one request."""
        bodies = leg_bodies(plan, self.schema, self.dialect)
        if not bodies:
            return {}
        replies = self._ask_all(bodies, f"the legs {', '.join(bodies)}")
        return {
            leg: scored(reply["hits"]["hits"], leg, self.schema, plan.window, plan.column)
            for leg, reply in replies.items()
        }

    def rank(self, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:
        """Let the cluster join two or more legs; None if it can't, which is logged once."""
        return rank(self, plan, fusion, weights)

    def listed(self, where: Filter | None, order: Sort, size: int) -> Listing:
        """Return the first papers of those that match a filter, in an order, or `InputError` if it is not stored."""
        hits = self.ask_search(listing_body(where, order, size, self.schema), why="a listing")["hits"]
        return Listing([id_of(hit) for hit in hits["hits"]], int(hits["total"]["value"]))

    def fetch(self, ids: Sequence[str], counting: Counting | None = None) -> tuple[Mapping[str, Paper], Facets | None]:
        """Return the papers that exist, and the requested facet counts, all in one request."""
        page, rest = ids[:PAGE], ids[PAGE:]
        bodies = {"papers": {**among(page), **papers_of(self.schema)}} if page else {}
        bodies |= {"facets": facets_body(counting, self.schema)} if counting else {}
        if not bodies:
            return {}, None
        replies = self._ask_all(bodies, " and ".join(bodies))
        papers = read_papers(replies["papers"], self.schema) if page else {}
        facets = read_facets(replies["facets"], counting, self.schema) if counting else None
        return {**papers, **self.papers(rest)}, facets

    def ask_search(self, body: Mapping[str, Any], params: Mapping[str, Any] | None = None, why: str = "") -> Any:
        """Send one search, and return the reply if every shard gave its part; `why` tells what for."""
        return self._ask("_search", body, {"allow_partial_search_results": False, **(params or {})}, why)

    def _ask_all(self, bodies: Mapping[str, Mapping[str, Any]], why: str) -> dict[str, Any]:
        replies = self._ask("_msearch", multi_search(bodies), why=why)["responses"]
        return dict(zip(bodies, replies, strict=True))

    def _among(self, ids: Sequence[str], what: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
        for start in range(0, len(ids), PAGE):
            yield from self.ask_search({**among(ids[start : start + PAGE]), **what})["hits"]["hits"]

    def _ask(
        self, what: str, body: Mapping[str, Any] | bytes, params: Mapping[str, Any] | None = None, why: str = ""
    ) -> Any:
        self._refresh()
        check = partial(check_whole, url=self.cluster.url, name=self.name)
        path = f"/{self.physical}/{what}"
        note(f"POST {path}" + (f" for {why}" if why else ""))
        return self.cluster.call("POST", path, body, params=params, retry=self._retry, check=check)

    @property
    def _retry(self) -> RetryPolicy:
        # No user waits for the reads of a writing run: they are retried for as long as its writes.
        return self.cluster.writing if self._lease else READING

    def _refresh(self) -> None:
        if self._stale:
            self.cluster.call("POST", f"/{self.physical}/_refresh", retry=self._retry)
            self._stale = False
