"""An index of others as an `Index` of ses; its owner may have changed or deleted it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any
from urllib.parse import quote

from corpora.custom import FieldValue
from corpora.errors import UnavailableError
from corpora.lazy import np
from corpora.paper import Accepted, Rejected
from search_plugin.contract.engine import Document, Refused
from search_plugin.contract.legs import Ranking, Scored
from search_plugin.contract.plan import Plan
from search_plugin.contract.schema import Bm25, Field
from search_plugin.contract.tree import Filter
from search_plugin.engines.cluster import bulk
from search_plugin.engines.cluster.attached import writing
from search_plugin.engines.cluster.attached.attachment import HASH, NAMESPACE, Attachment, companion_name, not_ours
from search_plugin.engines.cluster.attached.field_mappings import read_from, record_of
from search_plugin.engines.cluster.attached.translation import Translation
from search_plugin.engines.cluster.attached.vectors import check_vectors
from search_plugin.engines.cluster.dialect import Dialect, QueryBody
from search_plugin.engines.cluster.documents import BulkRequest, among
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.lease import Lease
from search_plugin.engines.cluster.passages import has_vector
from search_plugin.engines.cluster.queries import ID_COLUMN, condition
from search_plugin.engines.cluster.scan import scan_hits
from search_plugin.engines.cluster.transport import Cluster

PAGE = 500
"""Documents that are looked up and updated together."""


class AttachedIndex(ClusterIndex):
    """An index of others, searched by its own fields and by the vectors of ses; see `Index`.

    Vectors are in its documents, or in a companion: an index of ses under the same ids, which also has a copy of the
    fields, so that filters apply inside the vector search. Readers have no lease, and can change nothing. Another
    `target` than that of the attachment may reach the documents.
    """

    def __init__(
        self, cluster: Cluster, dialect: Dialect, attachment: Attachment, lease: Lease | None, target: str = ""
    ) -> None:
        super().__init__(cluster, dialect, attachment.name, 1, attachment.searched, lease)
        self.attachment = attachment
        self.target = target or attachment.target
        self.physical = quote(self.target, safe="*")
        self.companion = companion_of(cluster, dialect, attachment, lease) if attachment.beside else None
        self._pinned: Mapping[str, str] | None = None
        self._translation = Translation(
            attachment.field_mappings, HASH if attachment.inside else "", attachment.foreign
        )

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Write the vectors of existing documents into them; their own fields stay as they are."""
        self._check_writable()
        refused: list[Refused] = []
        for start in range(0, len(documents), PAGE):
            page = {document.paper.id: document for document in documents[start : start + PAGE]}
            hits, lost = self._distinct(list(page))
            aliases = self._aliases(hits.values())
            lines = [writing.addition(hit, aliases, self._own(page[id_])) for id_, hit in hits.items()]
            stored = partial(self._stored_hashes, page)
            refused += [*writing.update(self.cluster, self.attachment, lines, writing.TOO_LARGE, stored), *lost]
        return refused

    def _stored_hashes(self, page: Mapping[str, Document], request: BulkRequest) -> set[str]:
        """Return the documents of a bulk request that have the vectors of their content."""
        self._stale = True
        return {id_ for id_, held in self.hashes(request.ids).items() if held == page[id_].content_hash}

    def marked(self) -> Iterator[Mapping[str, Any]]:
        """Yield the hits of the documents into which ses has written, without their content."""
        self._refresh()
        body = {"query": {"bool": {"should": self._marks, "minimum_should_match": 1}}, "_source": False}
        return scan_hits(self.cluster, self.target, body)

    def strip(self, hits: Sequence[Mapping[str, Any]]) -> Sequence[Refused]:
        """Remove all that ses has written into some documents; returns those that can't be changed."""
        self._check_writable()
        aliases = self._aliases(hits)
        refused = writing.update(self.cluster, self.attachment, [writing.removal(hit, aliases) for hit in hits])
        return [one for one in refused if one.reason != bulk.MISSING]

    def delete(self, ids: Sequence[str]) -> None:
        """Raise `InputError`: documents are their owner's."""
        if ids:
            raise not_ours(self.name, "its owner deletes its documents")

    def update(self, values: Mapping[str, Mapping[str, FieldValue | None]]) -> Sequence[str]:
        """Raise `InputError`: fields are their owner's."""
        if values:
            raise not_ours(self.name, "its owner writes its fields")
        return []

    def add_fields(self, fields: Sequence[Field]) -> None:
        """Raise `InputError` unless vectors are about to be written: only attaching it writes."""
        if fields or not self._lease:
            raise not_ours(
                self.name, "no corpus can be indexed into it", "attach it with <update> to follow its changes"
            )

    def finish(self) -> None:
        """Make the changes searchable, and remove what only writes need."""
        self._stale = True
        self._refresh()
        writing.unpin(self.cluster, self.name)

    def count(self, field: str | None = None) -> int:
        """Return how many documents ses has made vectors of, or how many have a vector of a leg.

        If ses makes none, all documents with a title count.
        """
        foreign = field is not None and self.schema.beside(field) is not None
        if self.companion and not foreign:
            return self.companion.count(field)
        there = [has_vector(self.schema.leg(field))] if field else self._counted
        if foreign:
            there = [*there, self._translation.has_title]
        return int(self._ask("_count", {"query": {"bool": {"filter": there}}})["count"])

    @property
    def address(self) -> str:
        """The name in a path under which other programs search the index."""
        return self.physical

    @property
    def holds_vectors(self) -> bool:
        """Whether the vectors are in the documents, and not beside them."""
        return self.companion is None

    @property
    def unshown(self) -> list[str]:
        """The fields of its documents that no page shows: those of ses, and its own vectors that are searched."""
        return [NAMESPACE, *(field.name for field in self.schema.foreign)]

    def translated(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a search in the names of ses in those of the owner."""
        return self._translation.body(body)

    @property
    def attached_to(self) -> str:
        """What it is attached to, and where the vectors are, for people."""
        return f"to {self.attachment.target}, {self.attachment.vectors_place}"

    def count_all(self) -> int:
        """Return how many documents there are, with vectors or not."""
        return int(self._ask("_count", {"query": {"match_all": {}}})["count"])

    def having_vector(self, leg: str, most: int) -> list[str]:
        """Return the ids of some documents with a title that have a vector of a leg."""
        body = {"query": has_vector(self.schema.leg(leg)), "size": most, **ID_COLUMN}
        return [str(hit["_id"]) for hit in self.ask_search(body)["hits"]["hits"]]

    def lacking(self, most: int) -> Generator[Accepted | Rejected, None, None]:
        """Yield the paper of each document that `count` leaves out, or why it is no paper, so that it can't count.

        At most `most` documents are read; of an index with a companion, those with vectors too.
        """
        body: dict[str, Any] = {"query": {"match_all": {}}}
        if not self.companion:
            body = {"query": {"bool": {"must_not": [{"bool": {"filter": self._counted}}]}}}
        hits = scan_hits(self.cluster, self.target, {**body, **read_from(self.attachment.field_mappings)})
        with closing(hits):
            read = islice(hits, most)
            while page := list(islice(read, PAGE)):
                there = self.companion.hashes([str(hit["_id"]) for hit in page]) if self.companion else {}
                yield from (
                    record_of(0, hit, self.attachment.field_mappings) for hit in page if hit["_id"] not in there
                )

    def texts(self, where: QueryBody) -> Iterator[tuple[str, ...]]:
        """Yield title and abstract of the documents with a title that a query of the index's own fields finds."""
        field_mappings = tuple(
            mapped for mapped in self.attachment.field_mappings if mapped.name in ("title", "abstract")
        )
        body = {"query": {"bool": {"filter": [where, self._translation.has_title]}}, **read_from(field_mappings)}
        for hit in scan_hits(self.cluster, self.target, body):
            record = record_of(0, hit, field_mappings)
            if isinstance(record, Accepted):
                yield record.paper.title, record.paper.abstract

    def revision(self) -> str:
        """Return a text that changes with the documents, and with the vectors beside them."""
        return super().revision() + (f"-{self.companion.revision()}" if self.companion else "")

    def disk_bytes(self) -> int:
        """Return how much disk the attached index takes, with the companion if there is one."""
        return super().disk_bytes() + (self.companion.disk_bytes() if self.companion else 0)

    def value_counts(self, field: str, size: int) -> Sequence[tuple[FieldValue, int]]:
        """Return the most frequent values of a field; none of a field that the index has not."""
        return super().value_counts(field, size) if any(field == own.name for own in self.schema.fields) else []

    def matching_values(self, patterns: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """Return the values of fields that regular expressions match; of ids, none: a cluster does not list them."""
        there = {mapped.name for mapped in self.attachment.field_mappings}
        wanted = {field: expressions for field, expressions in patterns.items() if field in there}
        found = super().matching_values(wanted) if wanted else {}
        return {field: found.get(field, []) for field in patterns}

    def ids(self, where: Filter | None = None) -> Iterator[str]:
        """Yield the ids of the documents that match a filter."""
        query = condition(where, self.schema, self.dialect) or {"match_all": {}}
        body = self._translation.body({"query": query, "_source": False})
        for hit in scan_hits(self.cluster, self.target, body):
            yield str(hit["_id"])

    def hashes(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the content hashes of the documents that have vectors."""
        found: dict[str, str] = {}
        for start in range(0, len(ids), PAGE):
            documents = among(ids[start : start + PAGE])
            # Elasticsearch leaves vectors out of hits. Who writes a hit back keeps the hash and loses the vectors.
            body = {**documents, "query": {"bool": {"filter": [documents["query"], *self._marks]}}, "_source": False}
            hits = self.ask_search({**body, "docvalue_fields": ["id", "content_hash"]})["hits"]["hits"]
            found |= {str(hit["_id"]): hit["fields"].get("content_hash", [""])[0] for hit in hits}
        return {id_: content_hash for id_, content_hash in found.items() if content_hash}

    def vectors(self, ids: Sequence[str], field: str) -> Mapping[str, np.ndarray]:
        """Return float32 (dimension,) vectors of the ids that have one."""
        if self.companion and not self.schema.beside(field):
            return self.companion.vectors(ids, field)
        found = self.documents(ids, [field])
        return {id_: document.vectors[field] for id_, document in found.items() if field in document.vectors}

    def documents(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Document]:
        """Return the papers that exist, with their vectors in some fields; an owner's vector may be missing."""
        own = [field for field in fields if not self.schema.beside(field)]
        foreign = [field for field in fields if field not in own and self.schema.leg(field).unit == "paper"]
        found = self._own_documents(ids, own) if own or not foreign else {}
        if not foreign:
            return found
        more = super().documents(ids, foreign)
        if not own:
            return more
        none: Mapping[str, np.ndarray] = {}
        return {
            id_: replace(document, vectors={**document.vectors, **(more[id_].vectors if id_ in more else none)})
            for id_, document in found.items()
        }

    def _own_documents(self, ids: Sequence[str], fields: Sequence[str]) -> Mapping[str, Document]:
        """Return papers with vectors that ses has made."""
        if self.companion:
            return self.companion.documents(ids, fields)
        there = self.hashes(ids) if fields else {}
        if fields and (new := next((str(hit["_id"]) for hit in self._located(ids) if hit["_id"] not in there), "")):
            raise UnavailableError(f"The document {new[:100]} has no vector yet", "attach the index with <update>")
        return super().documents(ids, fields)

    def search(self, plan: Plan) -> Mapping[str, Sequence[Scored]]:
        """Return the papers of each leg: of vectors in a companion, those that the index still holds."""
        if not self.companion:
            return super().search(plan)
        foreign = tuple(clause for clause in plan.vectors if self.schema.beside(clause.field))
        own = tuple(clause for clause in plan.vectors if not self.schema.beside(clause.field))
        legs = self.companion.search(replace(plan, words="", vectors=own))
        nearest = list(dict.fromkeys(hit.id for hits in legs.values() for hit in hits))
        there = {str(hit["_id"]) for hit in self._located(nearest)}
        kept = {leg: [hit for hit in hits if hit.id in there] for leg, hits in legs.items()}
        found = {**super().search(replace(plan, vectors=foreign)), **kept}
        return {leg: found[leg] for leg in plan.legs}

    def rank(self, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:
        """Return None: ses joins the legs."""

    @contextmanager
    def scored_by(self, bm25: Bm25) -> Iterator[None]:
        """Raise `InputError` for other constants than the index has."""
        if bm25 != self.schema.bm25:
            raise not_ours(self.name, "its owner chooses how words are scored")
        yield

    def ask_search(self, body: Mapping[str, Any], params: Mapping[str, Any] | None = None, why: str = "") -> Any:
        """Send a search in the names of ses."""
        return self._translation.reply(body, super().ask_search(self.translated(body), params, why))

    def _ask_all(self, bodies: Mapping[str, Mapping[str, Any]], why: str) -> dict[str, Any]:
        there = {name: self.translated(body) for name, body in bodies.items()}
        replies = super()._ask_all(there, why)
        return {name: self._translation.reply(bodies[name], reply) for name, reply in replies.items()}

    @property
    def _counted(self) -> list[QueryBody]:
        """The conditions of a document that counts: that it has the vectors of ses, or a title if ses makes none."""
        return self._marks if self.schema.vectors else [self._translation.has_title]

    @property
    def unmarked(self) -> QueryBody:
        """The query for documents into which ses has not written all that is its own."""
        return {"bool": {"must_not": [{"bool": {"filter": self._marks}}]}}

    @property
    def _marks(self) -> list[QueryBody]:
        """The conditions of a document that has all that ses writes into it."""
        return [{"exists": {"field": path}} for path in (HASH, *(field.name for field in self.schema.vectors))]

    def _check_writable(self) -> None:
        if not self._lease:
            raise not_ours(self.name, "only attaching it writes vectors")
        self._lease.check()
        self._stale = True

    def _aliases(self, hits: Iterable[Mapping[str, Any]]) -> Mapping[str, str]:
        """Return the aliases to write through, by index, or raise `UnavailableError` if a hit is of another index."""
        if self._pinned is None:
            there = writing.holding(self.cluster, self.attachment, self.target)
            self._pinned = writing.pin(self.cluster, self.attachment, there)
        if not all(hit["_index"] in self._pinned for hit in hits):
            raise writing.replaced(self.attachment)
        return self._pinned

    def _own(self, document: Document) -> dict[str, Any]:
        """Return what is of ses in a document."""
        vectors = {field.name.partition(".")[2]: document.vectors[field.format] for field in self.schema.vectors}
        return {HASH.partition(".")[2]: document.content_hash, **vectors}

    def _distinct(self, ids: Sequence[str]) -> tuple[dict[str, Mapping[str, Any]], list[Refused]]:
        """Return the hits of documents by id, and those that can't be found or told apart."""
        # Nothing of the document is read: an update changes the namespace of ses in whatever the document is by then.
        found: dict[str, list[Mapping[str, Any]]] = {}
        for hit in self._located(ids):
            found.setdefault(hit["_id"], []).append(hit)
        refused = [Refused(id_, "It was deleted while it was read.") for id_ in ids if id_ not in found]
        for id_, hits in found.items():
            if len(hits) > 1:
                both = " and ".join(sorted(hit["_index"] for hit in hits))
                refused.append(Refused(id_, f"Two documents have this id, in {both}; attach each index by its name."))
        return {id_: hits[0] for id_, hits in found.items() if len(hits) == 1}, refused

    def _located(self, ids: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """Yield the hits of documents by their ids, without their content."""
        for start in range(0, len(ids), PAGE):
            page = list(ids[start : start + PAGE])
            # An id may be in each of several indexes.
            body = {"query": {"ids": {"values": page}}, "size": 10 * len(page), "_source": False}
            yield from self._ask("_search", body)["hits"]["hits"]


def companion_of(cluster: Cluster, dialect: Dialect, attachment: Attachment, lease: Lease | None) -> ClusterIndex:
    """Return the index of ses that holds the vectors of an attached index beside it."""
    return ClusterIndex(cluster, dialect, companion_name(attachment.name), 1, attachment.schema, lease)


def open_attached(
    cluster: Cluster, dialect: Dialect, attachment: Attachment, lease: Lease | None = None
) -> AttachedIndex:
    """Open an attached index, for writing vectors if there is a lease.

    Raises `UnavailableError` if the attached index is gone, or if one behind the alias has no vectors yet.
    """
    target = attachment.target
    mappings = _mappings(cluster, attachment)
    check_vectors(mappings, attachment.foreign, dialect, target)
    if not attachment.beside:
        for index, kept in sorted(mappings.items()):
            own = own_fields(kept)
            check_copied(index, own, attachment, dialect)
            if not all(field.name.partition(".")[2] in own for field in attachment.schema.vectors):
                raise UnavailableError(
                    f"{target} was changed by its owner: the index {index} has no vectors yet",
                    "attach it again with <update>",
                )
    return AttachedIndex(cluster, dialect, attachment, lease)


def own_fields(described: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the mappings of the fields of ses in an index, by name, as the cluster describes it."""
    space = described.get("mappings", {}).get("properties", {}).get(NAMESPACE, {})
    fields: Mapping[str, Any] = space.get("properties", {})
    return fields


def is_copied(own: Mapping[str, Any], dialect: Dialect) -> bool:
    """Return whether fields of ses came with documents from elsewhere, as by `_reindex`: a cluster guesses types then.

    `own` is of `own_fields`. A vector is then a field of numbers, and the hash is text.
    """
    held = HASH.partition(".")[2]
    return held in own and any(
        field.get("type") != ("keyword" if name == held else dialect.vector_type) for name, field in own.items()
    )


def check_copied(index: str, own: Mapping[str, Any], attachment: Attachment, dialect: Dialect) -> None:
    """Raise `UnavailableError` if an index behind an attachment holds copies of vectors; see `is_copied`."""
    if is_copied(own, dialect):
        raise UnavailableError(
            f"The index {index}, to which {attachment.target} leads, has the field {NAMESPACE} of another index as "
            "numbers and text, as _reindex copies it, so its vectors can't be searched",
            f"copy the documents again without the field {NAMESPACE}, as docs/attach.md says under Reindexing",
        )


def _mappings(cluster: Cluster, attachment: Attachment) -> Mapping[str, Any]:
    """Return the mappings of the indexes that are attached, or raise `UnavailableError` if they are gone."""
    try:
        found: Mapping[str, Any] = cluster.call("GET", f"/{quote(attachment.target, safe='')}/_mapping")
    except ClusterError as error:
        if error.status == 404:
            raise gone(cluster, attachment) from error
        raise
    return found


def gone(cluster: Cluster, attachment: Attachment) -> UnavailableError:
    """Return the error for an attached index that its owner has deleted."""
    return UnavailableError(
        f"{cluster.url} has no index {attachment.target} any more, to which {attachment.name} is attached",
        "bring it back, or detach it",
    )
