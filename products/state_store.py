"""Small states that users keep by name, such as feeds and reviews: one JSON file each, which only they may read.

The files have a checksum. Files of earlier versions of ses have none, and are read as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from corpora.checksums import sealed, unsealed
from corpora.errors import ConflictError, InputError, NotFoundError, UnavailableError
from corpora.lazy import orjson
from corpora.writing import WRITABLE_DATA, explaining, locking, private_folder, replacing

T = TypeVar("T")

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_WAIT = 10.0  # seconds for another process to finish its change


@dataclass(frozen=True, slots=True)
class StateStore(Generic[T]):
    """States of one kind in a folder.

    Attributes:
        folder: Made when the first is saved.
        kind: A dataclass of plain values.
        noun: Noun for it in messages.
    """

    folder: Path
    kind: type[T]
    noun: str

    def names(self) -> list[str]:
        """Return the names, sorted."""
        return sorted(path.stem for path in self.folder.glob("*.json")) if self.folder.is_dir() else []

    def load(self, name: str) -> T:
        """Read a state; `NotFoundError` if there is none of that name, `UnavailableError` if its file is damaged."""
        from pydantic import TypeAdapter

        try:
            content = self._path(name).read_bytes()
        except FileNotFoundError:
            known = ", ".join(self.names())
            hint = f"choose one of {known}" if known else f"create the first {self.noun}"
            raise NotFoundError(f"There is no {self.noun} {name!r}", hint) from None
        except OSError as error:
            raise UnavailableError(f"{self._path(name)} can't be read ({error.strerror}).") from error
        try:
            values = orjson.dumps(unsealed(content, optional=True))
            read: T = TypeAdapter(self.kind).validate_json(values, strict=True, extra="forbid")
        except ValueError as error:  # of pydantic, too
            raise UnavailableError(
                f"{self._path(name)} was not written by this version of ses, or is damaged", "move it away"
            ) from error
        return read

    def create(self, name: str, state: T) -> None:
        """Save a new state, or raise `InputError` if its name can't be one or is taken."""
        with self._lock(name):
            if self._path(name).exists():
                raise InputError(f"There is a {self.noun} {name} already", "choose another name, or delete it")
            self._write(name, state)

    @contextmanager
    def changing(self, name: str) -> Iterator[Changing[T]]:
        """Provide a state to change; what `Changing.state` is at the end is saved, unless the block raises."""
        with self._lock(name):
            changing = Changing(self.load(name))
            before = changing.state
            yield changing
            if changing.state != before:
                self._write(name, changing.state)

    def delete(self, name: str) -> None:
        """Delete a state, or raise `NotFoundError`."""
        with self._lock(name):
            self.load(name)
            self._path(name).unlink()

    def _write(self, name: str, state: T) -> None:
        values: Any = asdict(state)  # type: ignore[call-overload]
        path = self._path(name)
        with explaining(path, WRITABLE_DATA), replacing(path, locked=True, private=True) as part:
            part.write_bytes(sealed(values, indented=True))

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        path = self._path(name).with_suffix(".lock")
        busy = ConflictError(f"Another run is changing the {self.noun} {name}", "try again later")
        with ExitStack() as held:
            with explaining(f"The folder {self.folder}", WRITABLE_DATA):
                private_folder(self.folder)
                held.enter_context(locking(path, busy, wait=_WAIT, private=True))
            yield

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"A {self.noun} can't be named {name[:64]!r}",
                "use up to 64 small letters, digits, - and _, beginning with a letter or a digit",
            )
        return self.folder / f"{name}.json"


@dataclass(slots=True)
class Changing(Generic[T]):
    """A state while it is changed; assign the new one to `state`."""

    state: T
