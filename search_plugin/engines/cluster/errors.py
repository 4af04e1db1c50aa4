"""Errors of a cluster, explained to the user: refused requests, missing rights, incomplete replies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from corpora.errors import InputError, SesError, UnavailableError

SEEING = ("read", "view_index_metadata")
"""The privileges by which a user sees an index; a request by pattern silently leaves out what the user may not see."""

_GRANTED_BY = re.compile(r"granted by the (?P<scope>index|cluster) privileges \[(?P<names>[^\]]+)\]")
_ON = re.compile(r"on indices \[([^\]]+)\]")
_NO_PERMISSIONS = re.compile(r"no permissions for \[([^\]]+)\]")


def lacking(reason: str) -> str:
    """Return the right that a refused request needed, from the cluster's reason; empty if it names none.

    Elasticsearch names privileges that grant the action. OpenSearch's security plugin names the permission itself.
    """
    if granted := _GRANTED_BY.search(reason):
        # All rights are more than anybody should ask for.
        names = [name for name in granted["names"].split(",") if name != "all"] or ["all"]
        on = _ON.search(reason)
        where = " on " + ", ".join(on[1].split(",")) if on else ""
        return f"{_named(granted['scope'] + ' privilege', names)}{where} is missing"
    if lacks := _NO_PERMISSIONS.search(reason):
        return f"{_named('permission', lacks[1].split(','))} is missing"
    return ""


def unseen(reply: Mapping[str, Any]) -> str:
    """Return what a user lacks to see some indexes, from the reply to a question for `SEEING`; empty if nothing."""
    for name, held in reply.get("index", {}).items():
        if missing := [privilege for privilege in SEEING if not held.get(privilege, True)]:
            return f"the index privilege {' and '.join(missing)} on {name} is missing"
    return ""


def _named(kind: str, names: Sequence[str]) -> str:
    return f"the {kind} {names[0].strip()}" if len(names) == 1 else f"one of the {kind}s {', '.join(names)}"


class ClusterError(UnavailableError):
    """A failed request.

    Args:
        sentence: One sentence: what is wrong.
        status: Status of the HTTP reply; 0 if none came.
        type_name: The cluster's name for the error, such as `resource_already_exists_exception`.
        hint: Advice for the user.
    """

    def __init__(self, sentence: str, status: int = 0, type_name: str = "", hint: str = "") -> None:
        super().__init__(sentence, hint)
        self.status = status
        self.type_name = type_name


@contextmanager
def ignoring_missing() -> Iterator[None]:
    """Ignore that what a request in the block names is not there."""
    try:
        yield
    except ClusterError as error:
        if error.status != 404:
            raise


class BusyError(ClusterError):
    """A request that may succeed if sent again later: the cluster is too busy, or a node or the connection was lost."""


class UnansweredError(BusyError):
    """A request that was sent, and not answered in time: the cluster may still be working on it."""


_BLOCK = re.compile(r"\[(?:FORBIDDEN|TOO_MANY_REQUESTS)/\d+/([^\]]+)\]")
_BLOCKS = {
    "index read-only": "index.blocks.read_only",
    "index write": "index.blocks.write",
    "index read": "index.blocks.read",
    "index metadata": "index.blocks.metadata",
    "cluster read-only": "cluster.blocks.read_only",
}
"""The settings that block, by the cluster's names for the blocks."""

INDEX_NOT_FOUND = "index_not_found_exception"

_NO_SUCH_INDEX = re.compile(r"no such index \[([^\]]+?)(?:\.writing)?\]")
_GATEWAY_TIMEOUT = 504
_BUSY = (429, 502, 503, _GATEWAY_TIMEOUT)
_INVALID = ("has expired", "not yet valid", "mismatch")
_CONNECTION_SHOWN = re.compile(r"^HTTPS?Connection(Pool)?\(.*?\): ")
_TOO_MANY = ("maxClauseCount", "too_many_clauses", "too_many_nested_clauses", "too many clauses", "too many nested")


def unanswered(url: str) -> UnansweredError:
    """Return the error for a cluster that takes a request, and does not answer in time."""
    return UnansweredError(
        f"{url} does not answer in time", hint="see how busy it is, or set SES_ENGINE_TIMEOUT higher"
    )


def unreachable(url: str, reason: str) -> ClusterError:
    """Return the error for a cluster that does not answer."""
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        if any(sign in reason for sign in _INVALID):
            return ClusterError(
                f"{url} shows a certificate that is not valid ({short(reason)}); "
                "write the URL with a name that it was made for, or renew it."
            )
        return ClusterError(
            f"{url} shows a certificate that this machine does not trust; "
            "set SES_ENGINE_CA to the file of the authority that signed it."
        )
    if "WRONG_VERSION_NUMBER" in reason or "record layer failure" in reason:
        return ClusterError(f"{url} does not speak TLS; write the URL with http://.")
    # A TLS port does this when it receives plain text.
    hung_up = url.startswith("http:") and "RemoteDisconnected" in reason
    shown = short(_CONNECTION_SHOWN.sub("", reason))
    return BusyError(
        f"{url} does not answer ({shown})",
        hint="start it, or check <engine>" + (": it may want https://" if hung_up else ""),
    )


def failure(url: str, status: int, reply: Any) -> SesError:
    """Return the error for a reply that isn't a success: a `BusyError` if it is worth trying again."""
    kind, reason = cause(reply)
    if blocked := blockade(url, kind, reason):
        return blocked
    if status == 401:
        return ClusterError(
            f"{url} requires a login; set SES_ENGINE_USERNAME and SES_ENGINE_PASSWORD, or SES_ENGINE_API_KEY, "
            "to what it knows.",
            status,
            kind,
        )
    if status == 403:
        shown = lacking(reason) or short(reason)
        return ClusterError(f"{url} does not allow this ({shown}); ask for a user or key that may.", status, kind)
    if gone := _NO_SUCH_INDEX.search(reason) if kind == INDEX_NOT_FOUND else None:
        return ClusterError(f"{url} has no index {gone[1]} any more: somebody deleted it; index again.", status, kind)
    if kind == "index_closed_exception":
        return ClusterError(f"{url} has closed the index {_index_of(reply)}", status, kind, "ask for it to be opened")
    if any(sign in f"{kind} {reason}" for sign in _TOO_MANY):
        return InputError(
            f"{url} can't search for so many words or conditions at once", "shorten the query or <filter>"
        )
    if 300 <= status < 400:
        return ClusterError(
            f"{url} answers with a redirect, which is not followed, since it could lead credentials to another host",
            status,
            kind,
            "give <engine> the URL to which it leads",
        )
    busy = status in _BUSY
    problem = f"{url} answered {status} ({short(reason or kind or str(reply))})"
    if busy:
        # A proxy answers 504 if the server behind it has taken a request, and does not answer in time.
        kind_of = UnansweredError if status == _GATEWAY_TIMEOUT else BusyError
        return kind_of(f"{problem}; it is too busy or incomplete: wait, and try again.", status)
    return ClusterError(problem, status, kind, "read its log, or index again with <fresh>")


def blockade(url: str, kind: str, reason: str) -> ClusterError | None:
    """Return the error for a block that a person or a full disk has set, or None if there is no such block."""
    # Other kinds, such as SERVICE_UNAVAILABLE, come from a cluster that is starting.
    block = _BLOCK.search(reason) if kind.endswith("block_exception") else None
    if block is None:
        return None
    name = block[1]
    again = "and try again: it resumes"
    if "watermark" in name or "allow delete" in name or "allow-delete" in name:
        problem = f"has made the index read-only because a node's disk is nearly full; free some space there, {again}."
    elif "create-index" in name:
        problem = (
            "allows no new index (cluster.blocks.create_index), as it does by itself when its disks are nearly full; "
            f"free some space there or remove that block, {again}."
        )
    else:
        setting = next((setting for sign, setting in _BLOCKS.items() if name.startswith(sign)), "index.blocks.*")
        problem = f"has a block on it ({name}) that somebody has set; remove {setting}, {again}."
    return ClusterError(f"{url} {problem}", 403, kind)


def cause(reply: Any) -> tuple[str, str]:
    """Return the type and reason of the innermost error in a reply."""
    error = reply.get("error", reply) if isinstance(reply, Mapping) else reply
    if not isinstance(error, Mapping):
        return "", str(error)
    for nested in (error.get("root_cause"), error.get("failed_shards")):
        if isinstance(nested, list) and nested and isinstance(nested[0], Mapping):
            inner = nested[0].get("reason", "")
            error = inner if isinstance(inner, Mapping) else nested[0]
            break
    kind, reason = str(error.get("type") or ""), str(error.get("reason") or "")
    inner = error.get("caused_by")
    if isinstance(inner, Mapping) and inner.get("reason"):
        reason = f"{reason}: {inner['reason']}".removeprefix(": ")
    return kind, reason


def _index_of(reply: Any) -> str:
    """Return the index that an error in a reply is about."""
    error = reply.get("error") if isinstance(reply, Mapping) else None
    return str(error.get("index", "")) if isinstance(error, Mapping) else ""


def short(text: str) -> str:
    """Return a text of unknown origin as one short line that fits into a sentence."""
    return " ".join(text.split())[:300].rstrip(".;")


def check_whole(reply: Mapping[str, Any], *, url: str, name: str) -> None:
    """Raise `UnavailableError` if a reply, or one of a multiple search, is an error or lacks the part of a shard."""
    for part in reply.get("responses", [reply]):
        if "error" in part:
            raise failure(url, int(part.get("status", 500)), part)
        shards = part.get("_shards", {})
        answered, all_ = shards.get("successful", 0), shards.get("total", 0)
        # A count reports an unassigned shard neither as answered nor as failed.
        if shards.get("failed") or answered < all_ or part.get("timed_out"):
            reason = "it ran out of time" if part.get("timed_out") else _reason_of(shards)
            raise ClusterError(
                f"{url} answered for {answered} of {all_} parts of the index {name} only ({reason}); "
                "wait until the cluster is complete and less busy, and try again."
            )


def _reason_of(shards: Mapping[str, Any]) -> str:
    failures = shards.get("failures") or [{}]
    return short(cause(failures[0].get("reason", ""))[1]) or "the others are on no node"
