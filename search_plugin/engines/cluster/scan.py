"""Read all documents of any index in a cluster, also of one that ses did not write."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from corpora.errors import InputError, NotFoundError
from search_plugin.contract.connection import Connection
from search_plugin.engines.cluster.errors import ClusterError, check_whole
from search_plugin.engines.cluster.transport import ONCE, Cluster

PAGE = 200
"""Documents per request."""

KEPT = "30m"
"""How long the cluster keeps the place between two requests: papers of a page are encoded in this time."""

_UNREADABLE = ("knn_vector", "dense_vector", "sparse_vector", "rank_features", "binary", "semantic_text")
"""Types of fields that hold no text; vectors would be most of what is sent."""

_NAME = re.compile(r'[^-_+.\\/*?"<>|\s,#:][^\\/*?"<>|\s,#:]{0,254}')


def split_index_url(url: str) -> tuple[str, str]:
    """Return the URL of the cluster, and the name of the index or alias, of `http://HOST:PORT/NAME`.

    Several nodes have commas between, and the name after the last. Raises `InputError` if the URL has another form.
    """
    cluster, _, name = url.rstrip("/").rpartition("/")
    if not cluster.startswith(("http://", "https://")) or not _is_plain(name):
        shown = url.rpartition("@")[2]
        raise InputError(f"{shown!r} is no URL of an index", "write it as http://HOST:PORT/NAME")
    return cluster, name


def check_plain_name(name: str) -> None:
    """Raise `InputError` for what can't be the name of an index or alias: a pattern, a list, a request."""
    if not _is_plain(name):
        raise InputError(f"{name!r} is not the name of an index or alias", "for several indexes, make an alias of them")


def _is_plain(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name == name.lower()


def scan_url(url: str, connection: Connection) -> Iterator[Mapping[str, Any]]:
    """Yield the documents of an index by its URL; see `scan`."""
    cluster, name = split_index_url(url)
    yield from scan(Cluster(cluster, connection), name)


def scan(cluster: Cluster, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the source of each document, without vectors, as it was when the first one was read; its id is `_id`.

    The name may be an alias of any number of indexes. Raises `NotFoundError` if there is no such index, and
    `UnavailableError` if a request fails, or if fewer documents arrive than the cluster has counted.
    """
    try:
        mappings = cluster.call("GET", f"/{quote(name, safe='')}/_mapping")
    except ClusterError as error:
        if error.status == 404:
            raise NotFoundError(f"{cluster.url} has no index {name}", "check its name") from error
        raise
    left_out = sorted({field for index in mappings.values() for field in _unreadable(index.get("mappings", {}))})
    for hit in scan_hits(cluster, name, {"query": {"match_all": {}}, "_source": {"excludes": left_out}}):
        yield {**hit.get("_source", {}), "_id": hit["_id"]}


def scan_hits(cluster: Cluster, name: str, body: Mapping[str, Any]) -> Generator[Mapping[str, Any], None, None]:
    """Yield the hits of a search, in any order, as they were when the first one was read.

    A scroll is used, which all versions of both products offer; OpenSearch 2 can't page through a point in time by
    shard and document. Raises `UnavailableError` if a request fails, or if fewer hits arrive than the cluster has
    counted.
    """
    # A page that got lost on its way can't be asked for again, so nothing here is sent twice.
    reply = cluster.call(
        "POST",
        f"/{quote(name, safe='')}/_search",
        {"sort": ["_doc"], "size": PAGE, **body},
        params={"scroll": KEPT, "track_total_hits": True},
        retry=ONCE,
    )
    total, read = int(reply["hits"]["total"]["value"]), 0
    try:
        while True:
            check_whole(reply, url=cluster.url, name=name)
            hits = reply["hits"]["hits"]
            if not hits:
                break
            yield from hits
            read += len(hits)
            reply = cluster.call(
                "POST", "/_search/scroll", {"scroll": KEPT, "scroll_id": reply["_scroll_id"]}, retry=ONCE
            )
    finally:
        cluster.call("DELETE", "/_search/scroll", {"scroll_id": [reply["_scroll_id"]]}, retry=ONCE)
    if read != total:
        raise ClusterError(
            f"{cluster.url} sent {read:,} of {total:,} documents of {name}; try again when it is less busy."
        )


def _unreadable(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, field in mapping.get("properties", {}).items():
        if field.get("type") in _UNREADABLE:
            yield f"{prefix}{name}"
        yield from _unreadable(field, f"{prefix}{name}.")
