"""One generation of an index in a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corpora.paper import Paper
from search_plugin.engines.base import Document, Refused
from search_plugin.engines.cluster import bulk
from search_plugin.engines.cluster.documents import PAPER_FIELDS, batches, deletions, paper_of
from search_plugin.engines.cluster.errors import ClusterError, failure
from search_plugin.engines.cluster.facets import facets_body, read_facets
from search_plugin.engines.cluster.mapping import SERVING
from search_plugin.engines.cluster.queries import ID_COLUMN, leg_bodies, multi_search, scored
from search_plugin.page import Facets
from search_plugin.schema import IndexSchema

if TYPE_CHECKING:
    import numpy as np

    from search_plugin.engines.cluster.dialect import Dialect
    from search_plugin.engines.cluster.lease import Lease
    from search_plugin.engines.cluster.transport import Cluster
    from search_plugin.legs import Scored
    from search_plugin.plan import Plan

_PAGE = 1_000


class ClusterIndex:
    """See `Index`.

    Args:
        cluster: Where it is.
        dialect: Of the product.
        name: As the user calls it.
        generation: Which version of it.
        schema: What it holds.
        lease: The right to write, where somebody holds it.
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
        # What an interrupted run wrote may not be searchable yet.
        self._stale = True

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Write documents, replacing those with the same ids; durable on return. Returns those not taken."""
        self._written()
        return bulk.write(self.cluster, self.physical, batches(documents, self.schema, bulk.BATCH_BYTES))

    def delete(self, ids: Sequence[str]) -> None:
        """Delete papers; ids that are not there are ignored."""
        self._written()
        if ids:
            bulk.write(self.cluster, self.physical, [deletions(ids)])

    def finish(self) -> None:
        """Merge what was loaded, make it searchable, and let the cluster copy it; of a live index, show the changes."""
        if self._setting("refresh_interval") == "-1":
            self._refresh()
            self._merge()
            self.cluster.call("PUT", f"/{self.physical}/_settings", {"index": SERVING}, patience=self.cluster.writing)
        self._stale = True
        self._refresh()

    def hashes(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the content hashes of those ids that are there."""
        columns = {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["id", "content_hash"]}
        found = (hit["fields"] for hit in self._among(ids, columns))
        return {fields["id"][0]: fields["content_hash"][0] for fields in found}

    def papers(self, ids: Sequence[str]) -> Mapping[str, Paper]:
        """Return those papers that are there."""
        found = (paper_of(hit["_source"]) for hit in self._among(ids, {"_source": list(PAPER_FIELDS)}))
        return {paper.id: paper for paper in found}

    def vectors(self, ids: Sequence[str], field: str) -> Mapping[str, np.ndarray]:
        """Return float32 (dimension,) vectors of those ids that are there."""
        import numpy as np

        name = self.schema.vector(field).name
        hits = self._among(ids, {"_source": False, "fields": ["id", name]})
        return {hit["fields"]["id"][0]: np.asarray(hit["fields"][name], np.float32) for hit in hits}

    def count(self, field: str | None = None) -> int:
        """Return how many papers the index holds, or how many of them have a vector in a field."""
        self._refresh()
        query = {"exists": {"field": self.schema.vector(field).name}} if field else {"match_all": {}}
        return int(self._ask("_count", {"query": query})["count"])

    def ids(self) -> Iterator[str]:
        """Yield the ids of all papers, in any order."""
        after: list[Any] = []
        while True:
            body = {"size": _PAGE, "sort": [{"id": "asc"}], **ID_COLUMN, **({"search_after": after} if after else {})}
            hits = self.ask_search(body)["hits"]["hits"]
            if not hits:
                return
            yield from (hit["fields"]["id"][0] for hit in hits)
            after = hits[-1]["sort"]

    def search(self, plan: Plan) -> Mapping[str, Sequence[Scored]]:
        """Return each leg's papers, best first, ties by id; all legs in one request."""
        bodies = leg_bodies(plan, self.schema, self.dialect)
        if not bodies:
            return {}
        replies = self._ask("_msearch", multi_search(list(bodies.values())))["responses"]
        return {
            leg: scored(self._whole(reply)["hits"]["hits"], leg, self.schema, plan.window)
            for leg, reply in zip(bodies, replies, strict=True)
        }

    def facets(self, plan: Plan, found: Iterable[str], fields: Sequence[str], size: int) -> Facets:
        """Count all papers that match the plan's words, and those `found`, by fields; `size` values each."""
        reply = self.ask_search(facets_body(plan, found, fields, size))
        return read_facets(reply, plan, fields, size)

    def ask_search(self, body: Mapping[str, Any], params: Mapping[str, Any] | None = None) -> Any:
        """Send one search, and return the reply if every shard gave its part."""
        return self._whole(self._ask("_search", body, {"allow_partial_search_results": False, **(params or {})}))

    def _among(self, ids: Sequence[str], what: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
        for start in range(0, len(ids), _PAGE):
            page = list(ids[start : start + _PAGE])
            body = {"query": {"terms": {"id": page}}, "size": len(page), "sort": ["_doc"], **what}
            yield from self.ask_search(body)["hits"]["hits"]

    def _ask(self, what: str, body: Mapping[str, Any] | bytes, params: Mapping[str, Any] | None = None) -> Any:
        self._refresh()
        return self.cluster.call("POST", f"/{self.physical}/{what}", body, params=params)

    def _whole(self, reply: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a reply, or raise if it is an error or lacks a part: a list that looks whole and is not misleads."""
        if "error" in reply:
            raise failure(self.cluster.url, int(reply.get("status", 500)), reply)
        shards = reply.get("_shards", {})
        if shards.get("failed") or reply.get("timed_out"):
            raise ClusterError(
                f"{self.cluster.url} answered for {shards.get('successful', 0)} of {shards.get('total', 0)} parts of "
                f"the index {self.name} only; wait until the cluster is whole again, and search again."
            )
        return reply

    def _written(self) -> None:
        if self._lease:
            self._lease.check()
        self._stale = True

    def _refresh(self) -> None:
        if self._stale:
            self.cluster.call("POST", f"/{self.physical}/_refresh")
            self._stale = False

    def _merge(self) -> None:
        """Merge into few segments, however long that takes: a request that times out goes on in the cluster."""
        self.cluster.call("POST", f"/{self.physical}/_flush", patience=self.cluster.writing)

    def _setting(self, name: str) -> str:
        reply = self.cluster.call("GET", f"/{self.physical}/_settings/index.{name}")
        return str(reply.get(self.physical, {}).get("settings", {}).get("index", {}).get(name, ""))


def physical_name(name: str, generation: int) -> str:
    """Return what the cluster calls a generation; no alias or index of others begins so."""
    return f"ses.{name}.v{generation}"
