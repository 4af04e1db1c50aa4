"""Questions to a cluster of which any may be refused: a doctor goes on with what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from search_plugin.engines.cluster.errors import ClusterError

if TYPE_CHECKING:
    from search_plugin.engines.cluster.transport import Cluster


class Questions:
    """Asks a cluster, and keeps in `refused` a trouble for each question that it would not answer.

    Args:
        cluster: To ask.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.refused: list[str] = []

    def ask(self, path: str, body: Mapping[str, Any] | None = None, **params: Any) -> Any:
        """Return a reply's JSON, or None where the cluster refuses.

        Args:
            path: From the root, made of checked names only.
            body: Of a POST; a GET goes without.
            **params: For the URL.

        Returns:
            What it answers.

        Raises:
            UnavailableError: If nobody answers.
        """
        method = "GET" if body is None else "POST"
        try:
            return self.cluster.call(method, path, body, params=params)
        except ClusterError as error:
            if not error.status:
                raise
            self.refused.append(f"Without an answer to {method} {path} this is not the whole picture: {error}")
        return None

    def works(self, path: str, body: Mapping[str, Any]) -> bool:
        """Return whether the cluster can do something, which is no trouble where it can't."""
        try:
            self.cluster.call("POST", path, body)
        except ClusterError as error:
            if not error.status:
                raise
            return False
        except InputError:
            return False
        return True

    def found(self, path: str) -> Any:
        """Return a document that need not be there, or None."""
        try:
            return self.cluster.call("GET", path)
        except ClusterError as error:
            if not error.status:
                raise
            return None
