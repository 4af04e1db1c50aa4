"""Open a library: that of an engine, or over HTTP that of a service."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from corpora.errors import UnavailableError
from ses.argument_validation import checked
from ses.library import Library
from ses.settings import Settings, load_settings


@checked
def open(engine: str | Path | None = None, **settings: Any) -> Library:  # noqa: A001 - read as `ses.open()`
    """Open the library of an engine.

    Args:
        engine: URL of a cluster or of a service (`ses serve`), `embedded:DIR`, or a folder; if None, that of the
            settings, else one in the data folder.
        **settings: Such as `model`, `runtime`, `data_dir` or `engine_api_key`; they override `SES_*` and `ses.toml`.

    Returns:
        The library.

    Raises:
        InputError: If a setting is wrong.
        UnavailableError: If the engine does not answer, or its folder can't be used.

    Example:
        >>> with ses.open(Path("library")) as library:
        ...     library.indexes()
        []
    """
    url = f"embedded:{engine}" if isinstance(engine, Path) else engine
    found = load_settings(engine=url, **settings)
    if _has_path(found.engine):
        return _over_http(found)
    try:
        return Library(found)
    except UnavailableError as error:
        from search_plugin.engines.cluster.product import NoClusterError

        if not isinstance(error, NoClusterError):
            raise
        try:
            return _over_http(found)
        except UnavailableError:
            pass
        raise


def _over_http(settings: Settings) -> Library:
    """Return the library of a service: to type checkers one of an engine, which knows all that a program may call."""
    from ses.remote.library import RemoteLibrary

    return cast("Library", RemoteLibrary(settings))


def _has_path(url: str) -> bool:
    """Return whether a URL is of a service: that of a cluster has no path."""
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and "," not in url and bool(parts.path.strip("/"))
