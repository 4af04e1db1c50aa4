"""The library of a service: its indexes by name, over HTTP."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from corpora.documents import typed
from corpora.errors import InputError, require
from ses.argument_validation import checked_methods
from ses.indexes.default_index import default_index
from ses.indexes.index_facts import IndexFacts
from ses.indexes.searchable import SearchableLibrary
from ses.library import Library
from ses.remote.client import ServiceClient
from ses.remote.index import RemoteEntry, RemoteIndex
from ses.remote.refusal import OverHttp
from ses.settings import Settings


@dataclass(frozen=True, slots=True)
class _Entries:
    indexes: tuple[RemoteEntry, ...]


@checked_methods
class RemoteLibrary(SearchableLibrary, OverHttp, local=Library):
    """The indexes of a service, by name, made by `open`: the methods of `Library` that work over HTTP.

    Args:
        settings: Settings with the URL of the service.
    """

    def __init__(self, settings: Settings) -> None:
        for name in ("tuned", "synonyms"):
            require(not getattr(settings, name), f"A service takes no {name}", f"leave <{name}> out: its own apply")
        self._settings = settings
        self._secrets: tuple[str, ...] = ()  # settings that another process left out
        self._closed = False
        self._made: ServiceClient | None = None
        self._entries()

    @property
    def url(self) -> str:
        """URL of the service."""
        return self._settings.engine_url

    @property
    def _address(self) -> str:
        return self.url

    @property
    def client(self) -> ServiceClient:
        """The client of the service; `InputError` if the library is closed."""
        require(not self._closed, "This library is closed", "open it again")
        if self._made is None:
            self._settings, self._secrets = self._settings.with_secrets(self._secrets), ()
            self._made = ServiceClient(self._settings.engine_url, self._settings.connection)
        return self._made

    def _entries(self) -> tuple[RemoteEntry, ...]:
        content = self.client.get("/v1/indexes")
        try:
            return typed(_Entries, content, may_be_newer=True).indexes
        except (ValueError, TypeError) as error:
            raise self.client.odd(str(error)) from error

    def entry(self, name: str) -> RemoteEntry:
        """Return what the service says of an index, or raise `NotFoundError`."""
        found = {one.name: one for one in self._entries()}
        if name not in found:
            self.client.get("/v1/search", {"index": name, "size": "0"})  # which raises the error of the service
        return found[name]

    def describe(self, name: str) -> IndexFacts:
        """Return the counts, model, fields, origins and size of an index, or raise `NotFoundError`."""
        entry = self.entry(name)
        try:
            return entry.facts()
        except InputError as error:
            raise self.client.odd(error.sentence.rstrip(".")) from error
        except ValueError as error:
            raise self.client.odd(str(error)) from error

    def indexes(self, *, evaluations: bool = False) -> list[str]:  # noqa: ARG002 - a service shows none
        """Return the names of the indexes, the most recently published first."""
        return [one.name for one in self._entries()]

    def __contains__(self, name: str) -> bool:
        return name in self.indexes()

    def __getitem__(self, name: str) -> RemoteIndex:
        """Open an index, or raise `NotFoundError` with the available names."""
        self.entry(name)
        return RemoteIndex(name, self._opened_client, functools.partial(self.entry, name))

    def _opened_client(self) -> ServiceClient:
        return self.client

    def default(self) -> RemoteIndex:
        """Open the default index: that of the settings, else that of the service."""
        entries = self._entries()
        chosen = next((one.name for one in entries if one.default), "")
        return self[self._settings.index or chosen or default_index(self._settings, [one.name for one in entries])]

    def close(self) -> None:
        """Close the connections; a library in a `with` block is closed at its end."""
        self._closed = True
        if self._made:
            self._made.close()

    def __getstate__(self) -> dict[str, Any]:
        # Another process connects by itself.
        settings, secrets = self._settings.without_secrets()
        return {**vars(self), "_settings": settings, "_secrets": secrets or self._secrets, "_made": None}
