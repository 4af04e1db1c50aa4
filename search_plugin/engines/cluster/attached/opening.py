"""Opening an attached index: the owner may have changed or deleted it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from corpora.errors import UnavailableError
from search_plugin.engines.cluster.attached.attachment import NAMESPACE, Attachment
from search_plugin.engines.cluster.attached.index import AttachedIndex
from search_plugin.engines.cluster.errors import ClusterError

if TYPE_CHECKING:
    from search_plugin.engines.cluster.dialect import Dialect
    from search_plugin.engines.cluster.lease import Lease
    from search_plugin.engines.cluster.transport import Cluster


def open_attached(
    cluster: Cluster, dialect: Dialect, attachment: Attachment, lease: Lease | None = None
) -> AttachedIndex:
    """Open an attached index.

    Args:
        cluster: Where it is.
        dialect: Of the product.
        attachment: What it is.
        lease: The right to write vectors.

    Returns:
        The index.

    Raises:
        UnavailableError: If the attached index is gone, or one behind the alias has no vectors yet.
    """
    target = attachment.target
    mappings = _mappings(cluster, attachment)
    if not attachment.beside:
        for index, kept in sorted(mappings.items()):
            own = kept["mappings"].get("properties", {}).get(NAMESPACE, {}).get("properties", {})
            if not all(field.name.partition(".")[2] in own for field in attachment.schema.vectors):
                raise UnavailableError(
                    f"{target} was changed by its owner: the index {index} has no vectors yet",
                    "attach it again with <update>",
                )
    return AttachedIndex(cluster, dialect, attachment, lease)


def _mappings(cluster: Cluster, attachment: Attachment) -> Mapping[str, Any]:
    """Return the mappings of the indexes that are attached, or raise `UnavailableError` if they are gone."""
    try:
        found: Mapping[str, Any] = cluster.call("GET", f"/{quote(attachment.target, safe='')}/_mapping")
    except ClusterError as error:
        if error.status == 404:
            raise gone(cluster, attachment) from error
        raise
    return found


def gone(cluster: Cluster, attachment: Attachment) -> UnavailableError:
    """Return the error for an attached index that its owner has deleted."""
    return UnavailableError(
        f"{cluster.url} has no index {attachment.target} any more, to which {attachment.name} is attached",
        "bring it back, or detach it",
    )
