"""The state of an engine that keeps its indexes in a folder: its free disk space, and each index."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from corpora.errors import InputError, UnavailableError
from search_plugin.engines.diagnosis import Diagnosis, IndexDiagnosis, VectorCount, human_bytes, versions_told
from search_plugin.engines.embedded.files import folder_bytes

if TYPE_CHECKING:
    from search_plugin.engines.base import Engine


class Versions(NamedTuple):
    """Versions of an index.

    Attributes:
        current: The searched one; 0 for none.
        previous: The one before; 0 for none.
        present: All in the folder.
        path: Folder of the searched one.
        damaged: Reads all files of the searched one, and returns the names of those that changed since they were
            written.
    """

    current: int
    previous: int
    present: Sequence[int]
    path: Path
    damaged: Callable[[], Sequence[str]]


def diagnose_folder(
    engine: Engine, product: tuple[str, str], root: Path, names: Sequence[str], versions: Callable[[str], Versions]
) -> Diagnosis:
    """Read the state of a folder of indexes.

    Args:
        engine: Whose folder it is.
        product: Name and version of the library that keeps them.
        root: The folder.
        names: Of the indexes to look at.
        versions: Reads the versions of one; raises `UnavailableError` where they can't be read.

    Returns:
        The state of the engine.

    Raises:
        OSError: If the folder can't be read.
    """
    size, free = folder_bytes(root), shutil.disk_usage(root).free
    indexes = tuple(_check(engine, name, versions) for name in names)
    troubles = [trouble for index in indexes for trouble in index.troubles]
    largest = max(indexes, key=lambda index: index.disk_bytes, default=None)
    if largest and free < largest.disk_bytes:
        troubles.append(
            f"The disk of {root} has {human_bytes(free)} left; a fresh build of {largest.name} needs about as much "
            f"as it takes now, {human_bytes(largest.disk_bytes)}. Free some space."
        )
    return Diagnosis(
        *product,
        joins=("ses",),
        indexes=indexes,
        troubles=tuple(troubles),
        details={"folder": str(root.resolve()), "size_bytes": size, "free_bytes": free},
        lines=(f"folder {root.resolve()}: {human_bytes(size)}; {human_bytes(free)} of its disk free",),
    )


def _check(engine: Engine, name: str, versions: Callable[[str], Versions]) -> IndexDiagnosis:
    try:
        current, previous, present, path, damaged = versions(name)
    except UnavailableError as error:
        return IndexDiagnosis(name, troubles=(error.marked,))
    leftovers = tuple(number for number in present if number not in (current, previous))
    written = bool(leftovers) and _is_written(engine, name)
    index = IndexDiagnosis(
        name,
        current or None,
        previous if previous in present and previous < current else None,
        leftovers,
        details={"being_written": written},
        troubles=tuple(versions_told(name, current or None, leftovers, written=written)),
    )
    if not current:
        return index
    try:
        opened = engine.open(name)
        vectors = tuple(VectorCount(v.format, v.dimension, opened.count(v.format)) for v in opened.schema.vectors)
        index = replace(index.read(opened.schema, opened.count(), vectors), disk_bytes=folder_bytes(path))
        changed = ", ".join(damaged())
    except UnavailableError as error:
        return replace(index, troubles=(error.marked, *index.troubles))
    if not changed:
        return index
    trouble = f"Files of the index {name} changed after they were written ({changed}); index again with <fresh>."
    return replace(index, troubles=(trouble, *index.troubles))


def _is_written(engine: Engine, name: str) -> bool:
    """Return whether another process holds the lock."""
    try:
        with engine.lock(name):
            return False
    except (InputError, UnavailableError):
        return True
