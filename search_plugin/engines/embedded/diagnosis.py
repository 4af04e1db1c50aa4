"""How the embedded engine is: its folder, the room on its disk, and its indexes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
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
from search_plugin.engines.embedded.errors import explained

if TYPE_CHECKING:
    from search_plugin.engines.embedded.engine import EmbeddedEngine


def diagnose(engine: EmbeddedEngine, names: Sequence[str]) -> Diagnosis:
    """Look at a folder of indexes; raises `UnavailableError` if it can't be read.

    Args:
        engine: Whose folder it is.
        names: Of the indexes to look at.

    Returns:
        How they are.
    """
    from importlib.metadata import version

    root = engine.root
    with explained(root):
        size, free = _size(root), shutil.disk_usage(root).free
        checked = [_check(engine, name) for name in names]
    troubles = [trouble for _, found in checked for trouble in found]
    largest = max((index for index, _ in checked), key=lambda index: index.disk_bytes, default=None)
    if largest and free < largest.disk_bytes:
        troubles.append(
            f"The disk of {root} has {human_bytes(free)} left, and a fresh build of {largest.name} takes about as much "
            f"as it has now, {human_bytes(largest.disk_bytes)}; free some space."
        )
    return Diagnosis(
        product="tantivy",
        version=version("tantivy"),
        joins=("ses",),
        indexes=tuple(index for index, _ in checked),
        troubles=tuple(troubles),
        details={"folder": str(root.resolve()), "size_bytes": size, "free_bytes": free},
        lines=(f"folder {root.resolve()}: {human_bytes(size)}; {human_bytes(free)} of its disk free",),
    )


def _check(engine: EmbeddedEngine, name: str) -> tuple[IndexDiagnosis, list[str]]:
    present = engine.generations(name)
    try:
        alias = engine.alias(name)
    except UnavailableError as error:
        return _unread(name, 0, 0, (), {}), [str(error)]
    known = (alias.current, alias.previous)
    leftovers = tuple(number for number in present if number not in known)
    written = bool(leftovers) and _is_written(engine, name)
    troubles = versions_told(name, alias.current or None, leftovers, written=written)
    details = {"being_written": written}
    if not alias.current:
        return _unread(name, *known, leftovers, details), troubles
    try:
        index = engine.open(name)
        counts = {vector.format: index.count(vector.format) for vector in index.schema.vectors}
        papers = index.count()
    except UnavailableError as error:
        return _unread(name, *known, leftovers, details), [str(error), *troubles]
    vectors = tuple(VectorCount(v.format, v.dimension, counts[v.format]) for v in index.schema.vectors)
    diagnosis = IndexDiagnosis(
        name=name,
        generation=alias.current,
        previous=alias.previous if alias.previous in present else None,
        leftovers=leftovers,
        papers=papers,
        vectors=vectors,
        model=index.schema.model,
        fingerprint=index.schema.fingerprint,
        quantization=index.schema.quantization,
        disk_bytes=_size(engine.folder(name, alias.current)),
        details=details,
        lines=(),
    )
    return diagnosis, [*missing_vectors(name, papers, vectors), *troubles]


def _unread(
    name: str, current: int, previous: int, leftovers: tuple[int, ...], details: Mapping[str, object]
) -> IndexDiagnosis:
    """What can be told of an index that was never published, or can't be read."""
    return IndexDiagnosis(name, current or None, previous or None, leftovers, 0, (), "", "", "", 0, details, ())


def _is_written(engine: EmbeddedEngine, name: str) -> bool:
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
