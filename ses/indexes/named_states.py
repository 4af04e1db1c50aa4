"""What users keep by name, each over an index of a library: feeds and reviews."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from corpora.errors import InputError
from ses.argument_validation import checked_methods

if TYPE_CHECKING:
    from products.state_store import StateStore
    from ses.indexes.open_index import OpenIndex


class OverIndex(Protocol):
    """A state that names its index, and the engine of that."""

    @property
    def index(self) -> str:
        """Name of the index."""

    @property
    def engine(self) -> str:
        """URL of its engine."""


State = TypeVar("State", bound=OverIndex)


@checked_methods
@dataclass(frozen=True, slots=True)
class NamedStates(Generic[State]):
    """States by name.

    Attributes:
        kept: The states.
        engine: URL of the library's engine.
        opened: Function that opens an index by name, the default one for an empty name.
    """

    kept: StateStore[State]
    engine: str
    opened: Callable[[str], OpenIndex]

    def names(self) -> list[str]:
        """Return all names, also of those over other engines."""
        return self.kept.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __getitem__(self, name: str) -> State:
        return self.get(name)

    def get(self, name: str) -> State:
        """Return one by its name, or raise `NotFoundError` with the available names."""
        return self.kept.load(name)

    def over(self, engine: str) -> bool:
        """Return whether an engine's URL is that of this library, perhaps from before the data folder was moved."""
        scheme, _, place = engine.partition(":")
        here = self.kept.folder.resolve().parent / Path(place).name
        moved = scheme == "embedded" and self.engine == f"embedded:{here}" and not Path(place).exists()
        return moved or engine == self.engine

    def delete(self, name: str) -> None:
        """Delete one, or raise `NotFoundError`; its index stays."""
        self.kept.delete(name)

    def _index_of(self, state: State) -> OpenIndex:
        if not self.over(state.engine):
            raise InputError(
                f"This {self.kept.noun} is over the engine {state.engine}, not over {self.engine}",
                f"give <engine={state.engine}>",
            )
        return self.opened(state.index)
