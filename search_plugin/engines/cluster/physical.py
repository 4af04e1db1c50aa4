"""Physical indexes and their aliases, one for each generation: made, found, published and deleted by requests."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.errors import SEEING, ClusterError, ignoring_missing, unseen
from search_plugin.engines.cluster.transport import Cluster
from search_plugin.engines.cluster.word_indexes import switching

_PHYSICAL = re.compile(r"ses\.(?P<name>[a-z0-9][a-z0-9_-]*)\.v(?P<generation>\d+)")


@dataclass(frozen=True, slots=True)
class Generation:
    """A physical index of ses: which version of which index, and what the cluster reports about it."""

    name: str
    number: int
    mappings: Mapping[str, Any]
    settings: Mapping[str, Any]
    aliases: frozenset[str]

    @property
    def published(self) -> bool:
        """Whether it is searched."""
        return self.name in self.aliases

    @property
    def previous(self) -> bool:
        """Whether it is kept for a rollback."""
        return previous_alias(self.name) in self.aliases

    @property
    def facts(self) -> Mapping[str, Any]:
        """The metadata of ses in it."""
        kept = self.mappings.get("_meta", {}).get("ses")
        return kept if isinstance(kept, Mapping) else {}

    @property
    def published_at(self) -> float:
        """When it was published, in seconds since 1970; 0 if it is not known."""
        when = self.facts.get("published")
        return when if isinstance(when, float) else 0.0


def read_generations(reply: Mapping[str, Any]) -> list[Generation]:
    """Return the generations among the indexes of a reply, by what they are called there."""
    return [
        Generation(
            parts["name"],
            int(parts["generation"]),
            facts.get("mappings", {}),
            facts.get("settings", {}).get("index", {}),
            frozenset(facts.get("aliases", {})),
        )
        for physical, facts in reply.items()
        if (parts := _PHYSICAL.fullmatch(physical))
    ]


def previous_alias(name: str) -> str:
    """Return the alias of the generation that a rollback brings back."""
    return f"ses.{name}.previous"


def physical_name(name: str, generation: int) -> str:
    """Return the cluster's name of a generation; no other alias or index begins with it."""
    return f"ses.{name}.v{generation}"


def find_indexes(cluster: Cluster, name: str) -> Mapping[str, Any]:
    """Return the physical indexes of a name, or of all by `*`, with mappings, settings and aliases."""
    found: Mapping[str, Any] = cluster.call("GET", f"/ses.{name}.v*", params={"expand_wildcards": "open,closed"})
    return found


def check_seen(cluster: Cluster, names: Sequence[str]) -> None:
    """Raise `UnavailableError` if a user may not see some indexes, by patterns, and can't tell whether they exist."""
    body = {"index": [{"names": list(names), "privileges": list(SEEING)}]}
    try:
        reply = cluster.call("POST", "/_security/user/_has_privileges", body)
    except UnavailableError:
        # Without security everybody sees everything, and OpenSearch refuses what it would have to hide.
        return
    if lacks := unseen(reply):
        raise UnavailableError(
            f"{cluster.url} hides indexes of ses from this user ({lacks})", "ask for a user or key that may see them"
        )


def create_index(cluster: Cluster, physical: str, body: Mapping[str, Any]) -> None:
    """Make an index, or raise `UnavailableError` if no node takes it."""
    # In the path, because the client would treat it as its own parameter.
    path = f"/{physical}?timeout={max(1, round(cluster.connection.timeout / 2))}s"
    try:
        reply = cluster.call("PUT", path, body, retry=cluster.writing)
    except ClusterError as error:
        # An earlier attempt whose answer was lost made it: only the holder of the lock makes one.
        if error.type_name != "resource_already_exists_exception":
            raise
    else:
        if not reply.get("shards_acknowledged", True):
            raise ClusterError(
                f"{cluster.url} finds no node for a new index, as when the disks of all are nearly full; "
                "free some space there, and try again."
            )


def delete_index(cluster: Cluster, physical: str) -> None:
    """Delete an index; one that is not there is ignored."""
    with ignoring_missing():
        cluster.call("DELETE", f"/{physical}", retry=cluster.writing)


def publish_generation(cluster: Cluster, name: str, to: Generation, before: Generation | None) -> None:
    """Put the alias of a name on a generation, and mark the one before for a rollback, in one request.

    The words of front ends move in the same request.
    """
    # The source stays, so that a run that is killed between the two requests resumes.
    facts = {"ses": {**to.facts, "published": time.time()}}
    physical = physical_name(name, to.number)
    cluster.call("PUT", f"/{physical}/_mapping", {"_meta": facts}, retry=cluster.writing)
    actions: list[dict[str, Any]] = [{"add": {"index": physical, "alias": name}}]
    actions.append({"remove": {"index": f"ses.{name}.v*", "alias": previous_alias(name), "must_exist": False}})
    if before:
        replaced = physical_name(name, before.number)
        actions.append({"remove": {"index": replaced, "alias": name}})
        actions.append({"add": {"index": replaced, "alias": previous_alias(name)}})
    actions += switching(cluster, name, str(to.facts.get("schema", {}).get("fingerprint", "")))
    cluster.call("POST", "/_aliases", {"actions": actions}, retry=cluster.writing)
