"""What a cluster answers when it will not or can't, told to the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corpora.errors import InputError, SesError, UnavailableError


class ClusterError(UnavailableError):
    """A request that failed.

    Args:
        message: What the user is told.
        status: Of the HTTP reply; 0 where none came.
        kind: The cluster's name for the error, such as `resource_already_exists_exception`.
    """

    def __init__(self, message: str, status: int = 0, kind: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class BusyError(ClusterError):
    """A request that may well succeed a little later: too many at once, a node or the connection lost."""


_BUSY = (429, 502, 503, 504)
_TOO_MANY = ("maxClauseCount", "too_many_clauses", "too_many_nested_clauses", "too many clauses", "too many nested")


def unreachable(url: str, reason: str) -> ClusterError:
    """Return the error for a cluster that does not answer."""
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return ClusterError(
            f"{url} shows a certificate that this machine does not trust; "
            "set SES_ENGINE_CA to the file of the authority that signed it."
        )
    if "WRONG_VERSION_NUMBER" in reason or "record layer failure" in reason:
        return ClusterError(f"{url} does not speak TLS; write the URL with http://.")
    return BusyError(f"{url} does not answer ({_short(reason)}); start it, or check --engine.")


def failure(url: str, status: int, reply: Any) -> SesError:
    """Return the error for a reply that isn't a success.

    Args:
        url: Of the cluster.
        status: Of the reply.
        reply: Its body, parsed where it was JSON.

    Returns:
        A `BusyError` where it is worth trying again, otherwise a `ClusterError` or an `InputError`.
    """
    kind, reason = cause(reply)
    if blocked := blockade(url, kind, reason):
        return blocked
    if status == 401:
        return ClusterError(
            f"{url} asks who you are; set SES_ENGINE_USERNAME and SES_ENGINE_PASSWORD, or SES_ENGINE_API_KEY, "
            "to what it knows.",
            status,
            kind,
        )
    if status == 403:
        return ClusterError(
            f"{url} does not allow this ({_short(reason)}); ask for a user or key that may.", status, kind
        )
    if any(sign in f"{kind} {reason}" for sign in _TOO_MANY):
        return InputError(f"{url} can't search for so many words or conditions at once; shorten the query or --filter.")
    busy = status in _BUSY
    told = f"{url} answered {status} ({_short(reason or kind or str(reply))})"
    if busy:
        return BusyError(f"{told}; it is too busy or not whole: wait a little, and run the same command again.", status)
    return ClusterError(f"{told}; look into its log, or index again with --fresh.", status, kind)


def blockade(url: str, kind: str, reason: str) -> ClusterError | None:
    """Return the error for an index that may not be written, or None where that is not what happened."""
    if "cluster_block_exception" not in kind:
        return None
    if "watermark" in reason or "read-only-allow-delete" in reason or "read-only / allow delete" in reason:
        return ClusterError(
            f"{url} has made the index read-only because a node's disk is nearly full; free some space there, and run "
            "the same command again: it goes on where it stopped.",
            403,
            kind,
        )
    if "read-only" in reason:
        return ClusterError(
            f"{url} says that the index was made read-only; remove its block index.blocks.read_only or "
            "index.blocks.write, and run the same command again: it goes on where it stopped.",
            403,
            kind,
        )
    return None


def cause(reply: Any) -> tuple[str, str]:
    """Return the kind and reason of the innermost error that a reply tells."""
    error = reply.get("error", reply) if isinstance(reply, Mapping) else reply
    if not isinstance(error, Mapping):
        return "", str(error)
    for nested in (error.get("root_cause"), error.get("failed_shards")):
        if isinstance(nested, list) and nested and isinstance(nested[0], Mapping):
            inner = nested[0].get("reason", "")
            error = inner if isinstance(inner, Mapping) else nested[0]
            break
    kind, reason = str(error.get("type", "")), str(error.get("reason", ""))
    inner = error.get("caused_by")
    if isinstance(inner, Mapping) and inner.get("reason"):
        reason = f"{reason}: {inner['reason']}"
    return kind, reason


def _short(text: str) -> str:
    return " ".join(text.split())[:300].rstrip(".;")
