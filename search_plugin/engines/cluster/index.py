"""One generation of an index in a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from search_plugin.contract.engine import Document, Refused
from search_plugin.contract.fields import Field
from search_plugin.contract.schema import Bm25, IndexSchema
from search_plugin.contract.values import checked
from search_plugin.engines.cluster import bulk
from search_plugin.engines.cluster.documents import (
    batches,
    deletions,
    updates,
)
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.mapping import LOADING, SERVING, added_mapping, similarity_of
from search_plugin.engines.cluster.reader import PAGE, ClusterReader

if TYPE_CHECKING:
    from corpora.custom import FieldValue
    from search_plugin.engines.cluster.dialect import Dialect
    from search_plugin.engines.cluster.lease import Lease
    from search_plugin.engines.cluster.transport import Cluster

SEGMENT_BYTES = 5 << 30
"""Largest segment to merge into, Lucene's own default: larger segments are not merged again after changes."""


class ClusterIndex(ClusterReader):
    """See `Index`: the writing half, and the state of the index.

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
        super().__init__(cluster, dialect, name, generation, schema, lease)
        # Only a write through an alias can be prevented from creating a deleted index again.
        self._alias = f"{self.physical}.writing"
        self._writable = False
        self._loading: bool | None = None

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Write documents, replacing those with the same ids; durable on return. Returns those not taken."""
        self._written()
        refused: list[Refused] = []
        rendered = batches(documents, self.schema, bulk.BATCH_BYTES, refused)
        return [*bulk.write(self.cluster, self._alias, rendered, loading=self._is_loading()), *refused]

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
        held: Mapping[str, Any] = self.cluster.call("GET", f"/{self.physical}/_stats/store")["_all"]
        return held

    def _is_loading(self) -> bool:
        if self._loading is None:
            self._loading = self._settings().get("refresh_interval") == LOADING["refresh_interval"]
        return self._loading

    def _settings(self) -> Mapping[str, Any]:
        reply = self.cluster.call("GET", f"/{self.physical}/_settings", retry=self.cluster.writing)
        found: Mapping[str, Any] = reply[self.physical]["settings"]["index"]
        return found
