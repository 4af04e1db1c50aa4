"""Indexes in a cluster: each a physical index for every generation, and an alias on the one that is searched.

The alias is the index's own name, so that other programs find it. A second alias marks the generation before, for
`rollback`. Both move in one atomic request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError, UnavailableError
from corpora.lazy import orjson
from search_plugin.contract.connection import Connection
from search_plugin.contract.engine import Engine, Index, check_index_name, no_earlier, unknown_index
from search_plugin.engines.cluster.attached.attachment import companion_name, not_ours, read_attachments
from search_plugin.engines.cluster.attached.index import open_attached
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.errors import ClusterError, ignoring_missing
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.lease import hold
from search_plugin.engines.cluster.mapping import body_of, check_open, check_unchanged, schema_of
from search_plugin.engines.cluster.physical import (
    Generation,
    check_seen,
    create_index,
    delete_index,
    find_indexes,
    physical_name,
    publish_generation,
    read_generations,
)
from search_plugin.engines.cluster.transport import Cluster

if TYPE_CHECKING:
    from search_plugin.contract.diagnosis import Diagnosis
    from search_plugin.contract.schema import IndexSchema
    from search_plugin.engines.cluster.attached.attachment import Attachment
    from search_plugin.engines.cluster.lease import Lease


class ClusterEngine(Engine):
    """Keeps indexes in an OpenSearch or Elasticsearch cluster, `http://HOST:PORT` or several with commas; see `Engine`.

    Raises `InputError` if the URL can't be read, and `UnavailableError` if the cluster doesn't answer, or isn't one
    that ses works with.
    """

    def __init__(self, url: str, connection: Connection | None = None) -> None:
        self.url = url
        self.cluster = Cluster(url, connection or Connection())
        self.dialect = dialect_of(self.cluster.product)
        self._leases: dict[str, Lease] = {}

    def names(self) -> Sequence[str]:
        """Return the published indexes, the most recently published first."""
        reply = find_indexes(self.cluster, "*")
        found = [(-g.published_at, g.name) for g in read_generations(reply) if g.published]
        found += [(-attachment.attached_at, attachment.name) for attachment in read_attachments(reply)]
        return [name for _, name in sorted(found)]

    def published_at(self, name: str) -> float:
        """Return when the generation that is searched was published, in seconds since 1970; 0 if it is not known."""
        found = self._searched(name)
        if isinstance(found, Generation):
            return found.published_at
        return found.attached_at if found else 0.0

    def schema(self, name: str) -> IndexSchema | None:
        """Return the schema of the published generation or attached index; None if there is none."""
        found = self._searched(name)
        if isinstance(found, Generation):
            return schema_of(found.mappings, f"The index {name} in {self.url}")
        return found.searched if found else None

    def open(self, name: str) -> ClusterIndex:
        """Return the published generation or attached index, or raise `NotFoundError` that names the existing ones."""
        found = self._searched(name)
        if found is None:
            check_seen(self.cluster, [f"ses.{name}.v*", f"ses.{companion_name(name)}.v1"])
            known, hint = self.names(), ""
            with suppress(ClusterError):
                if self._is_taken(name):
                    hint = "attach the index of this name first, which ses did not make"
            raise unknown_index(name, self.url, known, hint)
        return self._index(found) if isinstance(found, Generation) else open_attached(self.cluster, self.dialect, found)

    def build(self, name: str, schema: IndexSchema, source: str) -> ClusterIndex:
        """Return an unpublished generation to fill: a new one, or one that an interrupted run left."""
        generations = self._generations(check_index_name(name))
        self._check_name_is_free(name, generations)
        newest = max(generations, key=lambda g: g.number, default=None)
        body = body_of(schema, source, self.dialect, self.cluster.connection.shards)
        if newest and not newest.published and not newest.previous:
            facts = body["mappings"]["_meta"]["ses"]
            if _plain({**newest.facts, "published": None}) == _plain({**facts, "published": None}):
                # A generation that somebody has changed is not used, and is deleted when its successor is published.
                with suppress(UnavailableError):
                    return self._index(newest)
        self._check_plugins()
        number = newest.number + 1 if newest else 1
        create_index(self.cluster, physical_name(name, number), body)
        return ClusterIndex(self.cluster, self.dialect, name, number, schema, self._leases.get(name))

    def publish(self, index: Index) -> None:
        """Publish a generation atomically; the previous one is kept for `rollback`."""
        generations = {g.number: g for g in self._generations(index.name)}
        if index.generation not in generations:
            raise UnavailableError(
                f"Version {index.generation} of the index {index.name} is gone: somebody deleted it; index again."
            )
        self._index(generations[index.generation])
        before = next((g for g in generations.values() if g.published), None)
        if before is None or before.number != index.generation:
            self._swap(index.name, generations[index.generation], before)
        kept = {index.generation, before.number if before else 0}
        if before and before.number == index.generation:
            kept |= {g.number for g in generations.values() if g.previous}
        for number in generations.keys() - kept:
            delete_index(self.cluster, physical_name(index.name, number))

    def rollback(self, name: str) -> ClusterIndex:
        """Publish the generation before again; raises `NotFoundError` if there is none."""
        generations = self._generations(check_index_name(name))
        current = next((g for g in generations if g.published), None)
        earlier = next((g for g in generations if g.previous and not (current and g.number > current.number)), None)
        if earlier is None:
            raise no_earlier(name)
        self._swap(name, earlier, current)
        return self.open(name)

    def copy(self, name: str, to: str, done: Callable[[int], None]) -> Index:
        """Write the papers of an index and their vectors into another one, and publish that.

        `_reindex` would lose vectors that a server keeps out of `_source`.
        """
        self._check_own(name, "it can't be copied", "index its papers with <corpus=index>")
        return super().copy(name, to, done)

    def discard(self, index: Index) -> None:
        """Delete a generation that was not published."""
        delete_index(self.cluster, physical_name(index.name, index.generation))

    def drop(self, name: str) -> None:
        """Delete an index with all its generations, also if none was published; `NotFoundError` if there are none."""
        generations = self._generations(check_index_name(name))
        if not generations:
            self._check_own(name, "it can't be dropped", "detach it")
            self.open(name)
        for generation in generations:
            delete_index(self.cluster, physical_name(name, generation.number))

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Lock out other writers of the index; the lock of a dead writer expires after at most a minute."""
        with hold(self.cluster, check_index_name(name)) as lease:
            self._leases[name] = lease
            try:
                yield
            finally:
                del self._leases[name]

    def diagnose(self, name: str | None = None) -> Diagnosis:
        """Return how the cluster and its indexes (or the named index only) are, without changing anything."""
        from search_plugin.engines.cluster.diagnosis.diagnose import diagnose

        found = self._generations(check_index_name(name) if name else "*")
        attached = self.attachments(name or "*") if not (name and found) else []
        if name and not found and not attached:
            self.open(name)
        return diagnose(self.cluster, self.dialect, found, attached)

    def attachments(self, name: str) -> list[Attachment]:
        """Return the attached index of a name, or all by `*`."""
        return read_attachments(find_indexes(self.cluster, companion_name(name)))

    def _index(self, generation: Generation) -> ClusterIndex:
        what = f"the index {generation.name} in {self.url}"
        check_open(generation.settings, physical_name(generation.name, generation.number), what)
        schema = schema_of(generation.mappings, f"The{what[3:]}")
        check_unchanged(generation.mappings, generation.settings, schema, self.dialect, what)
        lease = self._leases.get(generation.name)
        return ClusterIndex(self.cluster, self.dialect, generation.name, generation.number, schema, lease)

    def _searched(self, name: str) -> Generation | Attachment | None:
        """Return the published generation or the attached index of a name; None if there is none."""
        # Not one request for both: a user may have the right to see only the first.
        published = next((g for g in self._generations(check_index_name(name)) if g.published), None)
        return published or next(iter(self.attachments(name)), None)

    def _generations(self, name: str) -> list[Generation]:
        """Return the generations of an index, or of all by `*`."""
        return read_generations(find_indexes(self.cluster, name))

    def _check_own(self, name: str, what: str, hint: str) -> None:
        if self.attachments(name):
            raise not_ours(name, what, hint)

    def _swap(self, name: str, to: Generation, before: Generation | None) -> None:
        if lease := self._leases.get(name):
            lease.confirm()
        publish_generation(self.cluster, name, to, before)

    def _check_name_is_free(self, name: str, generations: Sequence[Generation]) -> None:
        if any(generation.published for generation in generations):
            return
        self._check_own(name, "ses can't build an index of this name", "detach it, or choose another <index>")
        if self._is_taken(name):
            raise InputError(
                f"{self.url} has an index or alias {name} that ses did not make", "choose another name with <index>"
            )

    def _is_taken(self, name: str) -> bool:
        """Return whether the cluster has an index or alias of a name, whosever it is."""
        with ignoring_missing():
            self.cluster.call("GET", f"/{name}/_alias")
            return True
        return False

    def _check_plugins(self) -> None:
        listed = self.cluster.call("GET", "/_cat/plugins", params={"format": "json"})
        self.dialect.check(frozenset(str(plugin.get("component")) for plugin in listed))


def _plain(facts: Mapping[str, Any]) -> Any:
    """As JSON returns it: tuples become lists."""
    return orjson.loads(orjson.dumps(facts))
