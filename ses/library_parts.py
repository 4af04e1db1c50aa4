"""What a library and its products share: settings, the engine, and the models that are loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indexer.job import IndexReport
    from search_plugin.contract.engine import Engine, Index
    from ses.library_models import LibraryModels
    from ses.open_index import OpenIndex
    from ses.settings import Settings


@dataclass(frozen=True, slots=True)
class LibraryParts:
    """What a product needs of the library that it belongs to.

    Attributes:
        settings: Settings of the library.
        engine: Its engine.
        models: Its models.
        opened: Function that opens an index by name, the default one for an empty name.
        indexed: Function that indexes papers, as `Library.index` does.
    """

    settings: Settings
    engine: Engine
    models: LibraryModels
    opened: Callable[[str], OpenIndex]
    indexed: Callable[..., IndexReport]

    def open(self, name: str) -> Index:
        """Open an index for reading, or raise `NotFoundError`."""
        return self.engine.open(name)

    @contextmanager
    def writing(self, name: str) -> Iterator[Index]:
        """Provide an index for writing, under its lock."""
        with self.engine.lock(name):
            yield self.engine.open(name)
