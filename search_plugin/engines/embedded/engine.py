"""The embedded engine: a folder with one folder per generation, and a pointer for each index to the published one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import ConflictError, InputError, UnavailableError
from corpora.writing import locking, replacing
from search_plugin.contract.engine import Engine, Index, check_index_name, no_earlier, unknown_index
from search_plugin.engines.embedded.errors import explained, failure
from search_plugin.engines.embedded.files import copy_regular
from search_plugin.engines.embedded.generations import (
    PUBLISHED,
    Alias,
    Facts,
    generations_of,
    has_copy,
    is_whole,
    pointer_of,
    read_alias,
    read_facts,
    remove_pointers,
    write_alias,
    write_facts,
)
from search_plugin.engines.embedded.index import EmbeddedIndex, check_bm25, create_generation

if TYPE_CHECKING:
    from search_plugin.contract.diagnosis import Diagnosis, Finding
    from search_plugin.contract.schema import IndexSchema


class EmbeddedEngine(Engine):
    """Keeps indexes in a folder, `embedded:DIR`; see `Engine`.

    Raises `UnavailableError` if the folder can't be made.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.root = Path(url.partition(":")[2]).expanduser()
        with explained(self.root):
            self.root.mkdir(parents=True, exist_ok=True)

    def names(self) -> Sequence[str]:
        """Return the published indexes, the most recently published first."""
        self._check_folder()
        names = {path.stem for path in self.root.glob("*.json")}
        # A pointer may be lost.
        names |= {name for name in self._begun() - names if self.alias(name).current}
        return sorted(names, key=lambda name: (-_written_at(pointer_of(self.root, name)), name))

    def published_at(self, name: str) -> float:
        """Return when the generation that is searched was published, in seconds since 1970; 0 if it is not known."""
        return _written_at(pointer_of(self.root, check_index_name(name)))

    def schema(self, name: str) -> IndexSchema | None:
        """Return the schema of the published generation without opening it; None if there is no such index."""
        current = self.alias(check_index_name(name)).current
        return self._facts(name, current).schema if current else None

    def open(self, name: str) -> EmbeddedIndex:
        """Return the published generation, or raise `NotFoundError` that names the existing indexes."""
        current = self.alias(check_index_name(name)).current
        if not current:
            raise unknown_index(name, self.root, self.names())
        return self.generation(name, current)

    def build(self, name: str, schema: IndexSchema, source: str) -> EmbeddedIndex:
        """Return an unpublished generation to fill: a new one, or one that an interrupted run left."""
        alias = self.alias(check_index_name(name))
        if schema.quantization != "none":
            raise InputError("The embedded engine keeps vectors whole", "leave <quantization> out, or use a cluster")
        check_bm25(schema.bm25)
        generations = self.generations(name)
        newest = max([*generations, alias.current, alias.previous, 0])
        if newest in generations and newest not in (alias.current, alias.previous):
            with suppress(UnavailableError):
                facts = self._facts(name, newest)
                if (facts.begun, facts.source) == (schema, source):
                    return self.generation(name, newest)
        with explained(self.root), replacing(self.folder(name, newest + 1), locked=True) as part:
            part.mkdir()
            create_generation(part, schema)
            write_facts(part, Facts(schema, schema, source))
        return self.generation(name, newest + 1)

    def publish(self, index: Index) -> None:
        """Publish a generation atomically; the previous one is kept for `rollback`."""
        before = self.alias(index.name).current
        if index.generation != before:
            self._point(index.name, index.generation, before)
        self._drop_all_but(index.name, {index.generation, self.alias(index.name).previous})

    def rollback(self, name: str) -> EmbeddedIndex:
        """Publish the generation before again; raises `NotFoundError` if there is none."""
        alias = self.alias(check_index_name(name))
        if alias.previous not in self.generations(name) or not alias.previous < alias.current:
            raise no_earlier(name)
        self._point(name, alias.previous, alias.current)
        return self.open(name)

    def copy(self, name: str, to: str, done: Callable[[int], None]) -> EmbeddedIndex:
        """Copy the files of the published generation, and publish them as another index."""
        index = self.open(name)
        number = max([*self.generations(check_index_name(to)), 0]) + 1
        # No file is linked: some are appended to in place, so a write to one index would change the other.
        with explained(self.root), replacing(self.folder(to, number), locked=True) as part:
            ignored = shutil.ignore_patterns(PUBLISHED)
            shutil.copytree(index.folder, part, ignore=ignored, copy_function=copy_regular)
        copied = self.generation(to, number)
        self.publish(copied)
        done(copied.count())
        return copied

    def discard(self, index: Index) -> None:
        """Delete a generation that was not published."""
        _remove_generation(self.folder(index.name, index.generation))

    def drop(self, name: str) -> None:
        """Delete an index with all its generations, also if none was published; `NotFoundError` if there are none."""
        if not pointer_of(self.root, check_index_name(name)).exists() and not self.generations(name):
            self.open(name)
        with explained(self.root):
            remove_pointers(self.root, name)
        self._drop_all_but(name, set())

    def diagnose(self, name: str | None = None) -> Diagnosis:
        """Return how the folder and its indexes (or the named index only) are; damaged derived files are made again."""
        from search_plugin.engines.embedded.diagnosis import diagnose_folder, diagnose_index

        def versions(name: str) -> tuple[int, int, Sequence[int]]:
            alias = self.alias(name)
            return alias.current, alias.previous, self.generations(name)

        if name and not self.generations(check_index_name(name)):
            self.open(name)
        names = [name] if name else sorted({*self.names(), *self._begun()})
        with explained(self.root):
            states = [
                diagnose_index(one, versions, self.open, self.lock).plus(*self._check_pointer(one)) for one in names
            ]
            return diagnose_folder(self.root, states)

    def _begun(self) -> set[str]:
        """Return the names of all indexes that have a generation, published or not."""
        begun = {path.name.rpartition(".v")[0] for path in self.root.glob("*.v*") if path.is_dir()}
        return {name for name in begun if self.generations(name)}

    def _check_pointer(self, name: str) -> Iterator[Finding]:
        """Write the pointer again, unless it is whole."""
        from search_plugin.contract.diagnosis import Finding

        with suppress(UnavailableError):  # `diagnose_index` has reported it
            alias = self.alias(name)
            whole = is_whole(self.root, name, alias)
            if not alias.current or (whole and has_copy(self.root, name, alias)):
                return
            pointer = pointer_of(self.root, name)
            try:
                with self.lock(name):
                    self._point(name, alias.current, alias.previous)
            except (InputError, UnavailableError) as error:
                if not whole:
                    yield Finding(trouble=f"{pointer} is damaged and can't be made again: {error.marked}")
            else:
                if not whole:
                    yield Finding("pointer_again", str(pointer), f"{pointer} was lost or damaged, and was made again")

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Lock out other writers of the index; the operating system releases the lock when a process dies."""
        path = self.root / f"{check_index_name(name)}.lock"
        busy = ConflictError(
            f"Another run is writing the index {name}", "wait until it is done, or choose another <index>"
        )
        with ExitStack() as held:
            try:
                held.enter_context(locking(path, busy))
            except OSError as error:
                raise failure(self.root, error) from error
            yield

    def alias(self, name: str) -> Alias:
        """Return which generation of an index is searched; raises `UnavailableError` if that is not known."""
        alias = read_alias(self.root, name)
        if not alias.current:
            self._check_folder()
        return alias

    def generations(self, name: str) -> list[int]:
        """Return the generations of an index that are in the folder, in ascending order."""
        return list(generations_of(self.root, name))

    def folder(self, name: str, generation: int) -> Path:
        """Return the folder of a generation."""
        return self.root / f"{name}.v{generation}"

    def generation(self, name: str, generation: int) -> EmbeddedIndex:
        """Open a generation, published or not; raises `UnavailableError` if it is damaged."""
        return EmbeddedIndex(name, generation, self._facts(name, generation).schema, self.folder(name, generation))

    def _check_folder(self) -> None:
        """Raise `UnavailableError` if the folder is gone: it was there at first, so its indexes are not deleted."""
        if not self.root.is_dir():
            raise UnavailableError(f"The folder {self.root} of the indexes is missing", "put it back, and try again")

    def _facts(self, name: str, generation: int) -> Facts:
        try:
            return read_facts(self.folder(name, generation))
        except (OSError, ValueError) as error:
            raise UnavailableError(
                f"The index {name} in {self.root} is damaged, or not made by this version of ses",
                "index again with <fresh>",
            ) from error

    def _point(self, name: str, current: int, previous: int) -> None:
        with explained(self.root):
            write_alias(self.root, name, current, previous)

    def _drop_all_but(self, name: str, kept: set[int]) -> None:
        for generation in set(self.generations(name)) - kept:
            _remove_generation(self.folder(name, generation))


def _remove_generation(folder: Path) -> None:
    """Delete the folder of a generation.

    It is moved first: tantivy's threads watch an open index, and may write a lock file into a folder that is being
    emptied, which then stays and reads as an interrupted build.
    """
    moved = folder.with_name(f"{folder.name}.part")  # if the process is killed here, the next build removes it
    with suppress(OSError):
        folder.replace(moved)
    for path in (moved, folder):
        shutil.rmtree(path, ignore_errors=True)


def _written_at(path: Path) -> float:
    """Return when a file was written, in seconds since 1970; 0 if it is gone."""
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0
