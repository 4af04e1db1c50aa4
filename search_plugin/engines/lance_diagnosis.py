"""How the embedded engine is: its folder, the room on its disk, and its indexes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError, UnavailableError
from search_plugin.engines.diagnosis import (
    Diagnosis,
    IndexDiagnosis,
    VectorCount,
    human_bytes,
    missing_vectors,
    versions_told,
)
from search_plugin.engines.lance_errors import explained

if TYPE_CHECKING:
    from search_plugin.engines.base import Engine


@dataclass(frozen=True, slots=True)
class Versions:
    """The generations of an index: the searched one, the one before (0 for none), and all that are in the folder."""

    current: int
    previous: int
    present: Sequence[int]


def diagnose(engine: Engine, root: Path, names: Sequence[str], versions: Callable[[str], Versions]) -> Diagnosis:
    """Look at a folder of indexes.

    Args:
        engine: Whose folder it is.
        root: The folder.
        names: Of the indexes to look at.
        versions: Reads the generations of one; raises `UnavailableError` where they can't be read.

    Returns:
        How they are.

    Raises:
        UnavailableError: If the folder can't be read.
    """
    from importlib.metadata import version

    with explained(root):
        size, free = _size(root), shutil.disk_usage(root).free
        checked = [_check(engine, root, name, versions) for name in names]
    troubles = [trouble for _, found in checked for trouble in found]
    largest = max((index for index, _ in checked), key=lambda index: index.disk_bytes, default=None)
    if largest and free < largest.disk_bytes:
        troubles.append(
            f"The disk of {root} has {human_bytes(free)} left, and a fresh build of {largest.name} takes about as much "
            f"as it has now, {human_bytes(largest.disk_bytes)}; free some space."
        )
    return Diagnosis(
        product="LanceDB",
        version=version("lancedb"),
        joins=("ses",),
        indexes=tuple(index for index, _ in checked),
        troubles=tuple(troubles),
        details={"folder": str(root.resolve()), "size_bytes": size, "free_bytes": free},
        lines=(f"folder {root.resolve()}: {human_bytes(size)}; {human_bytes(free)} of its disk free",),
    )


def _check(
    engine: Engine, root: Path, name: str, versions: Callable[[str], Versions]
) -> tuple[IndexDiagnosis, list[str]]:
    try:
        found = versions(name)
    except UnavailableError as error:
        return _unread(name, Versions(0, 0, ()), {}), [str(error)]
    leftovers = tuple(number for number in found.present if number not in (found.current, found.previous))
    written = bool(leftovers) and _is_written(engine, name)
    troubles = versions_told(name, found.current or None, leftovers, written=written)
    details = {"being_written": written}
    if not found.current:
        return _unread(name, found, details), troubles
    try:
        index = engine.open(name)
        counts = {vector.name: index.count(vector.name) for vector in index.schema.vectors}
        papers = index.count()
    except UnavailableError as error:
        return _unread(name, found, details), [str(error), *troubles]
    vectors = tuple(VectorCount(v.name, v.dimension, counts[v.name]) for v in index.schema.vectors)
    diagnosis = IndexDiagnosis(
        name=name,
        generation=found.current,
        previous=found.previous if found.previous in found.present else None,
        leftovers=leftovers,
        papers=papers,
        vectors=vectors,
        model=index.schema.model,
        fingerprint=index.schema.fingerprint,
        quantization=index.schema.quantization,
        disk_bytes=_size(root / f"{name}.v{found.current}.lance"),
        details=details,
        lines=(),
    )
    return diagnosis, [*missing_vectors(name, papers, vectors), *troubles]


def _unread(name: str, found: Versions, details: dict[str, bool]) -> IndexDiagnosis:
    """What can be told of an index that was never published, or can't be read."""
    known = [number for number in (found.current, found.previous) if number]
    leftovers = tuple(number for number in found.present if number not in known)
    return IndexDiagnosis(
        name, found.current or None, found.previous or None, leftovers, 0, (), "", "", "", 0, details, ()
    )


def _is_written(engine: Engine, name: str) -> bool:
    """Return whether another process holds the lock."""
    try:
        with engine.lock(name):
            return False
    except (InputError, UnavailableError):
        return True


def _size(folder: Path) -> int:
    """Return the bytes of all files below a folder; one that goes away meanwhile counts nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return total
