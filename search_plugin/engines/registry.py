"""The available engines, chosen by URL: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable

from corpora.errors import InputError, UnavailableError
from corpora.installed import extra
from search_plugin.contract.connection import Connection
from search_plugin.contract.engine import Engine
from search_plugin.engines.embedded.engine import EmbeddedEngine


def _embedded(url: str, connection: Connection | None) -> Engine:  # noqa: ARG001 - a folder asks for no credentials
    return EmbeddedEngine(url)


def _cluster(url: str, connection: Connection | None) -> Engine:
    from importlib.util import find_spec

    # A package that both extras install, and a client alone does not.
    if not find_spec("tenacity"):
        raise UnavailableError(
            "A cluster needs its client, which is not installed; "
            f"run `pip install {extra('opensearch')}` or `pip install {extra('elasticsearch')}`."
        )
    from search_plugin.engines.cluster.engine import ClusterEngine

    return ClusterEngine(url, connection)


ENGINES: dict[str, Callable[[str, Connection | None], Engine]] = {
    "embedded": _embedded,
    "http": _cluster,
    "https": _cluster,
}
"""Engines by the URL's scheme. The cluster itself reports whether it is OpenSearch or Elasticsearch."""


def is_cluster(url: str) -> bool:
    """Return whether a URL is of a server, as those of clusters are."""
    return ENGINES.get(url.partition(":")[0]) is _cluster


def connect(url: str, connection: Connection | None = None) -> Engine:
    """Return the engine of a URL: `embedded:DIR`, or `http://HOST:PORT` of a cluster's nodes, with commas between.

    Raises `InputError` if no engine has that scheme, and `UnavailableError` if the engine does not answer, or if its
    folder can't be used.
    """
    scheme = url.partition(":")[0]
    if ":" not in url or scheme not in ENGINES:
        # Before an @ there may be a password.
        shown = url.rpartition("@")[2]
        raise InputError(f"There is no engine for {shown!r}", "give <engine> as embedded:DIR or http://HOST:PORT")
    return ENGINES[scheme](url, connection)
