"""The embedded engine: a folder of LanceDB tables, one a generation, and a small file that names the published one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from corpora.errors import ConflictError, InputError, NotFoundError, UnavailableError
from search_plugin.engines.base import Index
from search_plugin.engines.index_name import check_index_name
from search_plugin.engines.lance_errors import explained, failure
from search_plugin.engines.lance_index import LanceIndex, check_bm25, check_schema
from search_plugin.engines.lance_rows import added_fields, create_table
from search_plugin.schema import IndexSchema, from_stored, to_stored

if TYPE_CHECKING:
    from search_plugin.engines.diagnosis import Diagnosis


@dataclass(frozen=True, slots=True)
class _Alias:
    """Which generation is searched, and which was before; 0 for none."""

    current: int = 0
    previous: int = 0


class LanceEngine:
    """Keeps indexes in a folder; see `Engine`.

    Args:
        url: `lance:DIR`.

    Raises:
        UnavailableError: If the folder can't be made.
    """

    def __init__(self, url: str) -> None:
        import lancedb

        self.url = url
        self._root = Path(url.partition(":")[2]).expanduser()
        with self._explained():
            self._root.mkdir(parents=True, exist_ok=True)
            self._database = lancedb.connect(self._root)

    def names(self) -> Sequence[str]:
        """Return the published indexes, the one published last first."""
        files = sorted(self._root.glob("*.json"), key=lambda path: (-path.stat().st_mtime, path.name))
        return [path.stem for path in files]

    def open(self, name: str) -> LanceIndex:
        """Return the published generation, or raise `NotFoundError` that names the indexes there are."""
        current = self._alias(check_index_name(name)).current
        if not current:
            known = ", ".join(self.names())
            raise NotFoundError(
                f"There is no index {name!r} in {self._root}",
                f"those there are: {known}" if known else "index some papers first",
            )
        return self._generation(name, current)

    def build(self, name: str, schema: IndexSchema, source: str) -> LanceIndex:
        """Return an unpublished generation to fill: what an interrupted run of the same source left, or a new one."""
        alias = self._alias(check_index_name(name))
        if schema.quantization != "none":
            raise InputError("The embedded engine keeps vectors whole", "leave <quantization> out, or use a cluster")
        check_bm25(schema.bm25)
        check_schema(schema)
        generations = self._generations(name)
        newest = max([*generations, alias.current, alias.previous, 0])
        facts = orjson.dumps({"schema": to_stored(schema), "source": source})
        if newest in generations and newest not in (alias.current, alias.previous):
            with suppress(UnavailableError):
                index = self._generation(name, newest)
                if index.facts == facts:
                    return index
        with self._explained():
            create_table(self._database, _table(name, newest + 1), schema, facts)
        return self._generation(name, newest + 1)

    def publish(self, index: Index) -> None:
        """Make a generation the one that is searched, at once; the one before is kept for `rollback`."""
        before = self._alias(index.name).current
        if index.generation != before:
            self._point(index.name, _Alias(index.generation, before))
        self._drop_all_but(index.name, {index.generation, self._alias(index.name).previous})

    def rollback(self, name: str) -> LanceIndex:
        """Make the generation before the published one, again; raises `NotFoundError` if there is none."""
        alias = self._alias(check_index_name(name))
        if alias.previous not in self._generations(name):
            raise NotFoundError(f"The index {name} has no earlier version to go back to", "<fresh> makes and keeps one")
        self._point(name, _Alias(alias.previous, alias.current))
        return self.open(name)

    def drop(self, name: str) -> None:
        """Delete an index with all its generations."""
        (self._root / f"{check_index_name(name)}.json").unlink(missing_ok=True)
        self._drop_all_but(name, set())

    def diagnose(self, name: str | None = None) -> Diagnosis:
        """Return how the folder and its indexes, or the one of that name, are; asking changes nothing."""
        from importlib.metadata import version

        from search_plugin.engines.folder_diagnosis import Versions, diagnose_folder

        def versions(name: str) -> Versions:
            alias = self._alias(name)
            path = self._root / f"{_table(name, alias.current)}.lance"
            return Versions(alias.current, alias.previous, self._generations(name), path)

        if name and not self._generations(check_index_name(name)):
            self.open(name)
        begun = {path.name.rpartition(".v")[0] for path in self._root.glob("*.v*.lance")}
        names = [name] if name else sorted({*self.names(), *begun})
        with self._explained():
            return diagnose_folder(self, ("LanceDB", version("lancedb")), self._root, names, versions)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold off other writers of the index; the operating system lets go of it when a process dies."""
        from filelock import FileLock, Timeout

        lock = FileLock(self._root / f"{check_index_name(name)}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise ConflictError(
                f"Another run is writing the index {name}", "wait until it is done, or choose another <index>"
            ) from None
        except OSError as error:
            raise failure(self._root, error) from error
        try:
            yield
        finally:
            lock.release()

    def _generations(self, name: str) -> list[int]:
        folders = self._root.glob(f"{name}.v*.lance")
        return sorted(int(number) for folder in folders if (number := folder.stem.rpartition(".v")[2]).isdigit())

    def _generation(self, name: str, generation: int) -> LanceIndex:
        try:
            with self._explained():
                table = self._database.open_table(_table(name, generation))
            facts = table.schema.metadata[b"ses"]
            schema = from_stored(orjson.loads(facts)["schema"]).with_fields(added_fields(table.schema))
        except (KeyError, TypeError, ValueError) as error:
            raise UnavailableError(
                f"The index {name} in {self._root} is damaged, or not made by this version of ses",
                "index again with <fresh>",
            ) from error
        return LanceIndex(name, generation, schema, facts, self._root, table)

    def _alias(self, name: str) -> _Alias:
        path = self._root / f"{name}.json"
        try:
            return _Alias(**orjson.loads(path.read_bytes()))
        except FileNotFoundError:
            return _Alias()
        except (orjson.JSONDecodeError, TypeError, OSError) as error:
            raise UnavailableError(f"{path} can't be read ({error}); delete it and index again.") from error

    def _point(self, name: str, alias: _Alias) -> None:
        path = self._root / f"{name}.json"
        part = path.with_suffix(".json.part")
        with self._explained():
            with part.open("wb") as file:
                file.write(orjson.dumps(asdict(alias)))
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)

    def _drop_all_but(self, name: str, kept: set[int]) -> None:
        for generation in set(self._generations(name)) - kept:
            shutil.rmtree(self._root / f"{_table(name, generation)}.lance", ignore_errors=True)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with explained(self._root):
            yield


def _table(name: str, generation: int) -> str:
    return f"{name}.v{generation}"
