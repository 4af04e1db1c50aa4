"""Writes into documents of others: none into an index that was replaced meanwhile, and none that loses anything.

Both products make an index for an update if there is none. So updates go through aliases of ses on the attached
indexes, one each, which exist only during a run: if an index is deleted, its alias is gone too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from corpora.errors import UnavailableError
from search_plugin.contract.engine import Refused
from search_plugin.engines.cluster import bulk
from search_plugin.engines.cluster.attached.attachment import NAMESPACE, Attachment, companion_name
from search_plugin.engines.cluster.dialect import as_json
from search_plugin.engines.cluster.documents import BulkRequest
from search_plugin.engines.cluster.errors import INDEX_NOT_FOUND, ClusterError, ignoring_missing
from search_plugin.engines.cluster.transport import Cluster

TOO_LARGE = (
    "It holds a number that is too large for a double, such as 1E400. A partial update would change it, so the "
    "document was left as it is. To include it, detach the index, and attach it with its vectors beside the documents."
)
"""Why a document got no vector."""

_FORBIDDEN = re.compile(r"cannot execute (\[inline\] scripts|scripts using \[update\] context)")

_RETRIES = 5
"""Times that an update is sent again if another program wrote the same document meanwhile."""

# A server reads such a number as infinity, and would write it back as text.
_ADD = f"""
boolean infinite(def value) {{
  if (value instanceof Map) {{ for (def one : value.values()) {{ if (infinite(one)) {{ return true; }} }} }}
  else if (value instanceof List) {{ for (def one : value) {{ if (infinite(one)) {{ return true; }} }} }}
  else if (value instanceof Double) {{ return Double.isInfinite((double) value); }}
  return false;
}}
if (infinite(ctx._source)) {{ ctx.op = 'none'; }}
else if (ctx._source['{NAMESPACE}'] instanceof Map) {{ ctx._source['{NAMESPACE}'].putAll(params.own); }}
else {{ ctx._source['{NAMESPACE}'] = params.own; }}
"""

_REMOVE = orjson.dumps({"script": {"lang": "painless", "source": f"ctx._source.remove('{NAMESPACE}')"}})


def pin(cluster: Cluster, attachment: Attachment, indexes: Iterable[str]) -> dict[str, str]:
    """Put an alias of ses on each of some indexes, which have the field of the vectors; return the aliases by index.

    Raises `UnavailableError` if an index was replaced meanwhile.
    """
    aliases = {index: _alias(attachment.name, index) for index in indexes}
    if not aliases:
        return {}
    actions = [{"add": {"index": index, "alias": alias}} for index, alias in aliases.items()]
    with _unless_replaced(attachment):
        cluster.call("POST", "/_aliases", {"actions": actions}, retry=cluster.writing)
    # An index of the same name, made in between, has the alias and not the field.
    if not holding(cluster, attachment, pinned(attachment.name)) >= set(aliases):
        raise replaced(attachment)
    return aliases


def pinned(name: str) -> str:
    """Return the pattern of the aliases of ses on attached indexes: it reaches all documents, whatever is filtered."""
    return f"{_alias(name)}*"


def holding(cluster: Cluster, attachment: Attachment, target: str) -> set[str]:
    """Return the indexes behind a name or pattern that have the field of ses; `UnavailableError` if there are none."""
    with _unless_replaced(attachment):
        described = cluster.call("GET", f"/{quote(target, safe='*')}/_mapping", retry=cluster.writing)
    return {index for index, kept in described.items() if NAMESPACE in kept["mappings"].get("properties", {})}


def unpin(cluster: Cluster, name: str) -> None:
    """Remove the aliases of ses from attached indexes, those of interrupted runs too."""
    held = cluster.call("GET", f"/_alias/{pinned(name)}", retry=cluster.writing)
    actions = [
        {"remove": {"index": index, "alias": alias, "must_exist": False}}
        for index, facts in held.items()
        for alias in facts.get("aliases", {})
    ]
    if actions:
        with ignoring_missing():
            cluster.call("POST", "/_aliases", {"actions": actions}, retry=cluster.writing)


class Update(NamedTuple):
    """An update of a document: its id, and the two lines of a bulk request."""

    id: str
    action: bytes
    change: bytes


def addition(hit: Mapping[str, Any], aliases: Mapping[str, str], own: Mapping[str, Any]) -> Update:
    """Return the update that adds what is of ses to a document; a document that this would change is left as it is."""
    script = {"script": {"lang": "painless", "source": _ADD, "params": {"own": own}}}
    return Update(hit["_id"], _action(hit, aliases), as_json(script))


def removal(hit: Mapping[str, Any], aliases: Mapping[str, str]) -> Update:
    """Return the update that removes what is of ses from a document."""
    return Update(hit["_id"], _action(hit, aliases), _REMOVE)


def update(
    cluster: Cluster,
    attachment: Attachment,
    updates: Sequence[Update],
    unchanged: str = "",
    stored: bulk.StoredIds | None = None,
) -> Sequence[Refused]:
    """Send updates of documents; return those that were refused.

    `unchanged` is the reason by which a document that was left as it was counts as refused; without it, it does not.
    `stored` tells what was written where the cluster does not answer in time. Raises `UnavailableError` if
    an index was deleted or replaced, or if the cluster can't be written to.
    """
    if not updates:
        return []
    request = BulkRequest(
        tuple(one.id for one in updates), tuple(line for one in updates for line in (one.action, one.change))
    )
    with _unless_replaced(attachment):
        refused = bulk.write(cluster, "", [request], unchanged=unchanged, stored=stored)
    if any(_FORBIDDEN.search(one.reason) for one in refused):
        raise UnavailableError(
            f"{cluster.url} allows no scripts in updates (script.allowed_types, script.allowed_contexts), and vectors "
            "are added to documents and removed by scripts",
            "ask for them to be allowed, or attach the index with <beside>",
        )
    return refused


def replaced(attachment: Attachment) -> UnavailableError:
    """Return the error for an index that its owner has deleted or replaced during a run."""
    return UnavailableError(
        f"An index of {attachment.target} was deleted or replaced by its owner while vectors were written; nothing "
        "was written into a new one",
        "attach it again with <update>",
    )


def _action(hit: Mapping[str, Any], aliases: Mapping[str, str]) -> bytes:
    routing = {"routing": hit["_routing"]} if "_routing" in hit else {}
    place = {"_index": aliases[hit["_index"]], "_id": hit["_id"], "retry_on_conflict": _RETRIES, **routing}
    return orjson.dumps({"update": place})


def _alias(name: str, index: str = "") -> str:
    # A name of an index may be too long to be a part of another one.
    digest = hashlib.blake2b(index.encode(), digest_size=8).hexdigest() if index else ""
    return f"ses.{companion_name(name)}.writing.{digest}"


@contextmanager
def _unless_replaced(attachment: Attachment) -> Iterator[None]:
    try:
        yield
    except ClusterError as error:
        if error.type_name != INDEX_NOT_FOUND:
            raise
        raise replaced(attachment) from error
