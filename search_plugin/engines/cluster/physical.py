"""Physical indexes and their aliases: made, found, published and deleted by requests to the cluster."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.generation import Generation, previous_alias
from search_plugin.engines.cluster.privileges import SEEING, unseen

if TYPE_CHECKING:
    from search_plugin.engines.cluster.transport import Cluster


def physical_name(name: str, generation: int) -> str:
    """Return the cluster's name of a generation; no other alias or index begins with it."""
    return f"ses.{name}.v{generation}"


def find_indexes(cluster: Cluster, name: str) -> Mapping[str, Any]:
    """Return the physical indexes of a name, or of all by `*`, with mappings, settings and aliases."""
    found: Mapping[str, Any] = cluster.call("GET", f"/ses.{name}.v*", params={"expand_wildcards": "open,closed"})
    return found


def check_seen(cluster: Cluster, names: Sequence[str]) -> None:
    """Raise `UnavailableError` if a user may not see the indexes of some names, and so can't tell whether they exist.

    Args:
        cluster: Where they may be.
        names: Patterns of physical names.
    """
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
    try:
        cluster.call("DELETE", f"/{physical}", retry=cluster.writing)
    except ClusterError as error:
        if error.status != 404:
            raise


def publish_generation(cluster: Cluster, name: str, to: Generation, before: Generation | None) -> None:
    """Put the alias of a name on a generation, and mark the one before for a rollback, in one request."""
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
    cluster.call("POST", "/_aliases", {"actions": actions}, retry=cluster.writing)
