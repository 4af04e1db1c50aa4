"""What all requests share: the library, and its open indexes."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from search_plugin.pages.page import Page
    from ses.library import Library
    from ses.opened import OpenIndex
    from ses.service.settings import ServiceSettings


class Service:
    """Answers requests over the indexes of a library; threads may share it.

    Args:
        library: The library.
        settings: Settings of the service.
    """

    def __init__(self, library: Library, settings: ServiceSettings) -> None:
        self.library, self.settings = library, settings
        self._opened: dict[str, OpenIndex] = {}
        self._lock = Lock()

    def opened(self, name: str = "") -> OpenIndex:
        """Return an index by its name, the default index if that is empty; `NotFoundError` if there is none."""
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self.library[name] if name else self.library.default()
            return self._opened[name]

    def revision(self, name: str = "") -> str:
        """Return a text that changes whenever what searches of an index find may have changed."""
        return str(self.opened(name).index.generation)

    def search(self, index: str, query: str, options: dict[str, Any]) -> Page:
        """Search an index; arguments and errors as of `OpenIndex.search`."""
        return self.opened(index).search(query, **options)

    def similar(self, index: str, paper: str, options: dict[str, Any]) -> Page:
        """Find papers like one in an index; arguments and errors as of `OpenIndex.similar`."""
        return self.opened(index).similar(paper, **options)

    def similar_text(self, index: str, text: str, options: dict[str, Any]) -> Page:
        """Find papers like a manuscript; arguments and errors as of `OpenIndex.similar_text`."""
        return self.opened(index).similar_text(text, **options)

    def close(self) -> None:
        """Release the library."""
        self._opened.clear()
        self.library.close()
