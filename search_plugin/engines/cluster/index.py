"""One generation of an index in a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import orjson

from corpora.custom import FieldValue
from corpora.lazy import np
from corpora.paper import Paper
from search_plugin.contract.engine import Document, Index, Refused, Remembered
from search_plugin.contract.legs import Facets, Listing, Position, Ranking, Scored, Sort
from search_plugin.contract.plan import Counting, Plan
from search_plugin.contract.schema import Bm25, Field, IndexSchema
from search_plugin.contract.trace import Sent, note
from search_plugin.contract.tree import Filter
from search_plugin.contract.values import checked
from search_plugin.engines.cluster import bulk, facets, queries, revisions
from search_plugin.engines.cluster.dialect import Dialect, QueryBody
from search_plugin.engines.cluster.dialects import rank
from search_plugin.engines.cluster.documents import (
    BulkRequest,
    among,
    batches,
    deletions,
    document_bodies,
    document_id,
    flat,
    having,
    id_of,
    paper_of,
    papers_of,
    read_documents,
    read_papers,
    source_id,
    updates,
    values_of,
    vectors_of,
)
from search_plugin.engines.cluster.errors import ClusterError, check_whole
from search_plugin.engines.cluster.lease import Lease
from search_plugin.engines.cluster.mapping import LOADING, SERVING, TITLE_ORDER, added_mapping, similarity_of
from search_plugin.engines.cluster.passages import has_vector, path_of
from search_plugin.engines.cluster.physical import physical_name
from search_plugin.engines.cluster.scan import scan_hits
from search_plugin.engines.cluster.transport import READING, Cluster, RetryPolicy
from search_plugin.filters.matching import joined

PAGE = 1_000
"""Papers asked for in one request."""


SEGMENT_BYTES = 5 << 30
"""Largest segment to merge into, Lucene's own default: larger segments are not merged again after changes."""


class ClusterIndex(Index):
    """One generation of an index; see `Index`. A lease is the right to write; readers have none."""

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
        # Only a write through an alias can be prevented from creating a deleted index again.
        self._alias = f"{self.physical}.writing"
        self._writable = False
        self._loading: bool | None = None

    def hashes(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the content hashes of the ids that exist."""
        columns = {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["id", "content_hash"]}
        # A document without a hash was not written by ses, and is written again.
        return {id_of(hit): hit["fields"].get("content_hash", [""])[0] for hit in self._among(ids, columns)}

    def papers(self, ids: Sequence[str]) -> Mapping[str, Paper]:
        """Return the papers that exist, with their values of added fields in `extra`."""
        found = (paper_of(hit["_source"], self.schema) for hit in self._among(ids, papers_of(self.schema)))
        return {paper.id: paper for paper in found}

    def find_papers(self, ids: Sequence[str], identifiers: Sequence[str]) -> Mapping[str, Paper]:
        """Return the papers that have one of some ids or one of some identifiers, in one request."""
        body = {**having(ids, identifiers), **papers_of(self.schema)}
        return read_papers(self.ask_search(body, why="papers by identifier"), self.schema)

    def matching_values(self, patterns: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """Return the values of keyword fields that regular expressions match; see `Index`."""
        pairs = [(field, one) for field, expressions in patterns.items() for one in joined(expressions)]
        reply = self.ask_search(facets.matching_values_body(pairs), why=f"values of {', '.join(patterns)}")
        return facets.read_matching_values(reply, pairs)

    def document_frequencies(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return how many papers hold each of some words in title or abstract, compared by stem."""

        def count(new: Sequence[str]) -> Mapping[str, int]:
            bodies = {str(at): queries.counting_body(word) for at, word in enumerate(new)}
            replies = self._ask_all(bodies, "papers with each word").values()
            return {word: int(reply["hits"]["total"]["value"]) for word, reply in zip(new, replies, strict=True)}

        return self._counts.look_up(words, count)

    def fuzzy_matches(self, terms: Sequence[str], distance: int, size: int) -> Sequence[Paper]:
        """Return papers whose title or abstract holds a term like one of some terms; see `Index`."""
        query = queries.fuzzy_query(terms, distance)
        body = {"query": query, **papers_of(self.schema), "size": size, "track_total_hits": False}
        return list(read_papers(self.ask_search(body, why="similar words"), self.schema).values())

    def cached(self, key: str, find: Callable[[], str]) -> str:
        """Return what `find` returned for the same key before, unless it was empty, or call it."""
        return self._answers.look_up([key], lambda _: {key: find()})[key]

    def values(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Mapping[str, FieldValue]]:
        """Return the values of some fields of the ids that exist; a field without a value is left out."""
        kinds = {field.name: field.kind for field in (*self.schema.fields, *self.schema.kept)}
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
        hits = self._among(ids, {"_source": False, "fields": ["id", path_of(held)]}, why="vectors of papers")
        return {id_of(hit): vectors_of(hit, [held])[field] for hit in hits}

    def count(self, field: str | None = None) -> int:
        """Return how many papers the index holds, or how many of them have a vector in a field."""
        query = has_vector(self.schema.leg(field)) if field else {"match_all": {}}
        return int(self._ask("_count", {"query": query})["count"])

    def value_counts(self, field: str, size: int) -> Sequence[tuple[FieldValue, int]]:
        """Return the most frequent values of a field over all papers, with their counts; equal counts by value."""
        return facets.read_value_counts(
            self.ask_search(facets.value_counts_body(self.schema.field(field), size)), self.schema.field(field), size
        )

    def ids(self, where: Filter | None = None) -> Iterator[str]:
        """Yield the ids of all papers, or of the papers that match a filter, in any order."""
        query = {"bool": {"filter": [queries.condition(where, self.schema, self.dialect) or {"match_all": {}}]}}
        body: dict[str, Any] = {"query": query, "size": PAGE, "sort": [{"id": "asc"}], **queries.ID_COLUMN}
        after: list[Any] = []
        while True:
            hits = self.ask_search({**body, **({"search_after": after} if after else {})})["hits"]["hits"]
            if not hits:
                return
            yield from map(id_of, hits)
            after = hits[-1]["sort"]

    def texts(self, where: QueryBody) -> Iterator[tuple[str, ...]]:
        """Yield title and abstract of the papers that a query of the cluster's own fields finds, in any order."""
        body = {"query": where, "_source": ["title", "abstract"], "size": PAGE}
        for hit in scan_hits(self.cluster, self.physical, body):
            yield tuple(str(hit["_source"].get(name) or "") for name in ("title", "abstract"))

    def search(self, plan: Plan) -> Mapping[str, Sequence[Scored]]:
        """Return the papers of each leg, best first; equal scores are ordered by id; all legs in one request."""
        bodies = queries.leg_bodies(plan, self.schema, self.dialect)
        if not bodies:
            return {}
        replies = self._ask_all(bodies, f"the legs {', '.join(bodies)}")
        return {
            leg: queries.scored(reply["hits"]["hits"], leg, self.schema, plan.window, plan.column)
            for leg, reply in replies.items()
        }

    def rank(self, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:
        """Let the cluster join two or more legs; None if it can't, which is logged once."""
        return rank(self, plan, fusion, weights)

    def listed(self, where: Filter | None, order: Sort, size: int, after: Position | None = None) -> Listing:
        """Return the first papers of those that match a filter, in an order, or the next ones after a position."""
        body = queries.listing_body(where, order, size, self.schema, self.dialect, after)
        found = self.ask_search(body, why="a listing")["hits"]
        hits = found["hits"]
        positions = [Position(*hit["sort"]) for hit in hits]
        return Listing([id_of(hit) for hit in hits], int(found["total"]["value"]), positions)

    def fetch(self, ids: Sequence[str], counting: Counting | None = None) -> tuple[Mapping[str, Paper], Facets | None]:
        """Return the papers that exist, and the requested facet counts, all in one request."""
        page, rest = ids[:PAGE], ids[PAGE:]
        bodies = {"papers": {**among(page), **papers_of(self.schema)}} if page else {}
        bodies |= {"facets": facets.facets_body(counting, self.schema, self.dialect)} if counting else {}
        if not bodies:
            return {}, None
        replies = self._ask_all(bodies, " and ".join(bodies))
        papers = read_papers(replies["papers"], self.schema) if page else {}
        counts = facets.read_facets(replies["facets"], counting, self.schema) if counting else None
        return {**papers, **self.papers(rest)}, counts

    def ask_search(self, body: Mapping[str, Any], params: Mapping[str, Any] | None = None, why: str = "") -> Any:
        """Send one search, and return the reply if every shard gave its part; `why` tells what for."""
        return self._ask("_search", body, {"allow_partial_search_results": False, **(params or {})}, why)

    @property
    def address(self) -> str:
        """The name in a path under which other programs search the index, whichever generation is published."""
        return self.name

    @property
    def holds_vectors(self) -> bool:
        """Whether the vectors are in the documents that are searched by words."""
        return True

    @property
    def unshown(self) -> list[str]:
        """The fields of its documents that are for ses alone."""
        return [*(field.name for field in self.schema.written), "content_hash", TITLE_ORDER]

    def translated(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a search in the field names of the index, which are those of ses here."""
        return dict(body)

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Write documents, replacing those with the same ids; durable on return. Returns those not taken."""
        self._written()
        refused: list[Refused] = []
        rendered = batches(documents, self.schema, bulk.BATCH_BYTES, refused)
        loading = self._is_loading()
        return [*bulk.write(self.cluster, self._alias, rendered, loading=loading, stored=self._stored_of), *refused]

    def _stored_of(self, request: BulkRequest) -> set[str]:
        """Return the papers of a bulk request that are stored as it has them; the hash stands for their texts."""
        names = ["content_hash", "origins", *(field.name for field in (*self.schema.added, *self.schema.kept))]
        wanted_documents = [{"_id": document_id(id_), "_source": names} for id_ in request.ids]
        reply = self.cluster.call(
            "POST", f"/{self._alias}/_mget", {"docs": wanted_documents}, retry=self.cluster.writing
        )
        wanted = zip(request.ids, request.lines[1::2], reply["docs"], strict=True)
        return {id_ for id_, line, found in wanted if _agree(names, orjson.loads(line), found.get("_source", {}))}

    def delete(self, ids: Sequence[str]) -> None:
        """Delete papers; unknown ids are ignored."""
        self._written()
        if ids:
            refused = bulk.write(self.cluster, self._alias, [deletions(ids)])
            if refused:
                raise ClusterError(f"{len(refused):,} papers can't be deleted: {refused[0].reason}.")

    def update(self, values: Mapping[str, Mapping[str, FieldValue | None]]) -> Sequence[str]:
        """Write some fields of existing papers; returns the ids that do not exist."""
        rows = checked(self.schema, values)
        missing: list[str] = []
        if rows:
            self._written()
        for start in range(0, len(rows), PAGE):
            page = dict(islice(rows.items(), start, start + PAGE))
            for refused in bulk.write(self.cluster, self._alias, [updates(page)]):
                if refused.reason != bulk.MISSING:
                    raise ClusterError(f"The paper {refused.id} can't be updated: {refused.reason}.")
                missing.append(refused.id)
        return missing

    def add_fields(self, fields: Sequence[Field]) -> None:
        """Add fields to the schema and to the mapping, in one step."""
        wider = self.schema.with_fields(fields)
        if wider == self.schema:
            return
        self._written()
        kept = self.cluster.call("GET", f"/{self.physical}/_mapping", retry=self.cluster.writing)
        facts = kept[self.physical]["mappings"]["_meta"]["ses"]
        body = added_mapping(self.schema, wider, facts, self.dialect)
        self.cluster.call("PUT", f"/{self.physical}/_mapping", body, retry=self.cluster.writing)
        self.schema = wider

    def finish(self) -> None:
        """Merge what was loaded, make it searchable and replicate it; for a live index, make the changes searchable."""
        if self._is_loading():
            self._refresh()
            self._merge()
            self.cluster.call("PUT", f"/{self.physical}/_settings", {"index": SERVING}, retry=self.cluster.writing)
            self._loading = False
        self._stale = True
        self._refresh()

    def revision(self) -> str:
        """Return a text that changes whenever what searches find may have changed; see `Index`.

        It takes two requests, and the rights of a search. The cluster caches the second one until its next refresh.
        """
        path = f"/{self.physical}/_settings/index.uuid,index.number_of_shards"
        settings = self.cluster.call("GET", path, retry=self._retry)
        kept = {name: facts["settings"]["index"] for name, facts in settings.items()}
        shards = max((int(facts["number_of_shards"]) for facts in kept.values()), default=1)
        replies = self._ask("_msearch", revisions.body(shards), why="its revision")["responses"]
        return revisions.read(self.generation, {name: facts["uuid"] for name, facts in kept.items()}, replies)

    def disk_bytes(self) -> int:
        """Return how much disk this generation takes, with all its copies."""
        return int(self._stored()["total"]["store"]["size_in_bytes"])

    @contextmanager
    def scored_by(self, bm25: Bm25) -> Iterator[None]:
        """See `Index`: a cluster accepts this setting only for a closed index."""
        if bm25 == self.schema.bm25:
            yield
            return
        try:
            self._score_by(bm25)
            yield
        finally:
            self._score_by(self.schema.bm25)

    def _ask_all(self, bodies: Mapping[str, Mapping[str, Any]], why: str) -> dict[str, Any]:
        replies = self._ask("_msearch", queries.multi_search(bodies), why=why)["responses"]
        return dict(zip(bodies, replies, strict=True))

    def _among(self, ids: Sequence[str], what: Mapping[str, Any], why: str = "") -> Iterable[Mapping[str, Any]]:
        for start in range(0, len(ids), PAGE):
            yield from self.ask_search({**among(ids[start : start + PAGE]), **what}, why=why)["hits"]["hits"]

    def _ask(
        self, what: str, body: Mapping[str, Any] | bytes, params: Mapping[str, Any] | None = None, why: str = ""
    ) -> Any:
        self._refresh()
        check = partial(check_whole, url=self.cluster.url, name=self.name)
        path = f"/{self.physical}/{what}"
        note(f"POST {path}" + (f" for {why}" if why else ""), Sent(path, params or {}, body))
        return self.cluster.call("POST", path, body, params=params, retry=self._retry, check=check)

    @property
    def _retry(self) -> RetryPolicy:
        # No user waits for the reads of a writing run: they are retried for as long as its writes.
        return self.cluster.writing if self._lease else READING

    def _refresh(self) -> None:
        if self._stale:
            self.cluster.call("POST", f"/{self.physical}/_refresh", retry=self._retry)
            self._stale = False

    def _score_by(self, bm25: Bm25) -> None:
        self._refresh()
        for method, what, body in (
            ("POST", "_close", None),
            ("PUT", "_settings", {"index": {"similarity": similarity_of(bm25)}}),
            ("POST", "_open", None),
        ):
            self.cluster.call(method, f"/{self.physical}/{what}", body, retry=self.cluster.writing)

    def _written(self) -> None:
        if self._lease:
            self._lease.check()
        if not self._writable:
            self.cluster.call("PUT", f"/{self.physical}/_alias/{self._alias}", retry=self.cluster.writing)
            self._writable = True
        self._stale = True

    def _merge(self) -> None:
        """Begin to merge the many segments of loading; searches are correct meanwhile, and faster afterwards."""
        size = int(self._stored()["primaries"]["store"]["size_in_bytes"])
        in_a_shard = size // int(self._settings()["number_of_shards"])
        segments = 1 + in_a_shard // SEGMENT_BYTES
        params = {"max_num_segments": segments, "wait_for_completion": False}
        self.cluster.call("POST", f"/{self.physical}/_forcemerge", params=params, retry=self.cluster.writing)

    def _stored(self) -> Mapping[str, Any]:
        held: Mapping[str, Any] = self.cluster.call("GET", f"/{self.physical}/_stats/store", retry=self._retry)["_all"]
        return held

    def _is_loading(self) -> bool:
        if self._loading is None:
            self._loading = self._settings().get("refresh_interval") == LOADING["refresh_interval"]
        return self._loading

    def _settings(self) -> Mapping[str, Any]:
        reply = self.cluster.call("GET", f"/{self.physical}/_settings", retry=self.cluster.writing)
        found: Mapping[str, Any] = reply[self.physical]["settings"]["index"]
        return found


def index_in_cluster(index: Index) -> ClusterIndex | None:
    """Return an index as one that is in a cluster, where other programs can search it too; None if it is in none."""
    return index if isinstance(index, ClusterIndex) else None


def _agree(names: Sequence[str], one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two documents have the same values of some fields."""
    return all(one.get(name) == other.get(name) for name in names)
