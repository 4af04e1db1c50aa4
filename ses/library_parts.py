"""What a library and its products share: settings, the engine, and the models that are loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ses.indexes.default_index import shown_url

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from indexer.job import IndexReport
    from products.state_store import StateStore
    from search_plugin.contract.engine import Engine, Index
    from ses.indexes.named_states import State
    from ses.indexes.open_index import OpenIndex
    from ses.models.library_models import LibraryModels
    from ses.settings import Settings


@dataclass(frozen=True, slots=True)
class LibraryParts:
    """What a product needs of the library that it belongs to.

    Attributes:
        settings: Settings of the library.
        engine: Its engine.
        models: Its models.
        opened: Function that opens an index by name, the default one for an empty name.
        writing: Function that provides an index for writing, under its lock.
        indexed: Function that indexes papers, as `Library.index` does.
    """

    settings: Settings
    engine: Engine
    models: LibraryModels
    opened: Callable[[str], OpenIndex]
    writing: Callable[[str], AbstractContextManager[Index]]
    indexed: Callable[..., IndexReport]

    def open(self, name: str) -> Index:
        """Open an index for reading, or raise `NotFoundError`."""
        return self.engine.open(name)

    def states(self, folder: str, kind: type[State], noun: str) -> tuple[StateStore[State], str]:
        """Return the states of a kind in the data folder, and the URL of the engine that new ones are over."""
        from products.state_store import StateStore

        return StateStore(self.settings.data_dir / folder, kind, noun), shown_url(self.settings)
