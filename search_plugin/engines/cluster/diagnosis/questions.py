"""Read requests of the diagnosis. The cluster may refuse any of them; the others are still answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from search_plugin.engines.cluster.errors import ClusterError

if TYPE_CHECKING:
    from search_plugin.engines.cluster.transport import Cluster


class Questions:
    """Sends read requests to a cluster, and keeps in `refused` a line for each request that it refused."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.refused: list[str] = []

    def ask(self, path: str, body: Mapping[str, Any] | None = None, **params: Any) -> Any:
        """Return the JSON of the reply to a GET, or to a POST of a body; None if the cluster refuses."""
        method = "GET" if body is None else "POST"
        try:
            return self.cluster.call(method, path, body, params=params)
        except (ClusterError, InputError) as error:
            if isinstance(error, ClusterError) and not error.status:  # the cluster does not answer
                raise
            self.refused.append(
                f"The cluster refuses {method} {path}, so this report is not the whole picture: {error.marked}"
            )
            return None

    def attempt(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Do the same as `ask` where a refusal is no problem: a document may not exist, a feature may be missing."""
        return Questions(self.cluster).ask(path, body)


def dig(reply: Any, *path: str) -> Mapping[str, Any]:
    """Return the object at a path of a reply, or an empty one if it is missing."""
    for name in path:
        reply = reply.get(name) if isinstance(reply, Mapping) else None
    return reply if isinstance(reply, Mapping) else {}


def whole(value: Any) -> int:
    """Return a number from a reply, which some servers send as text, or 0 if it is missing."""
    try:
        return max(int(value), 0)
    except (TypeError, ValueError):
        return 0
