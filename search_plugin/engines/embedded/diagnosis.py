"""The state of a folder of indexes, and of an index in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from corpora.errors import InputError, UnavailableError
from search_plugin.contract import diagnosis
from search_plugin.contract.diagnosis import (
    Diagnosis,
    Finding,
    IndexDiagnosis,
    human_bytes,
    missing_vectors,
    troubles_of,
)
from search_plugin.engines.embedded.files import folder_bytes
from search_plugin.engines.embedded.index import EmbeddedIndex

_NAMED = 9
"""Damaged files and records that are named."""


def diagnose_folder(root: Path, indexes: Sequence[IndexDiagnosis]) -> Diagnosis:
    """Return the state of a folder, given that of its indexes; raise `OSError` if it can't be read."""
    from importlib.metadata import version

    findings = (*_check_folder(root, indexes), *troubles_of(indexes))
    return Diagnosis("tantivy", version("tantivy"), ("ses",), tuple(indexes), findings)


def _check_folder(root: Path, indexes: Sequence[IndexDiagnosis]) -> Iterator[Finding]:
    path, size, free = root.resolve(), folder_bytes(root), shutil.disk_usage(root).free
    yield Finding("folder", str(path), f"folder {path}: {human_bytes(size)}; {human_bytes(free)} of its disk free")
    yield Finding("size_bytes", size)
    yield Finding("free_bytes", free)
    largest = max(indexes, key=lambda index: index.disk_bytes, default=None)
    if largest and free < largest.disk_bytes:
        yield Finding(
            trouble=f"The disk of {root} has {human_bytes(free)} left; a fresh build of {largest.name} needs about as "
            f"much as it takes now, {human_bytes(largest.disk_bytes)}. Free some space."
        )


def diagnose_index(
    name: str,
    versions: Callable[[str], tuple[int, int, Sequence[int]]],
    open_index: Callable[[str], EmbeddedIndex],
    lock: Callable[[str], AbstractContextManager[None]],
) -> IndexDiagnosis:
    """Return the state of an index, given how to read its versions (see `of_versions`), open it, and lock it."""
    state = IndexDiagnosis(name)
    try:
        state = diagnosis.of_versions(name, *versions(name), lambda: _is_written(lock(name)))
        if state.generation:
            index = open_index(name)
            state = state.with_papers(index.schema, index.count(), index.count)
            state = replace(state, disk_bytes=index.disk_bytes())
            state = state.plus(*missing_vectors(state), *_check_files(index), *_check_derived(index, lock(name)))
    except UnavailableError as error:
        return state.plus(Finding(trouble=error.marked))
    return state


def _check_files(index: EmbeddedIndex) -> Iterator[Finding]:
    if changed := index.damaged():
        more = f" and {len(changed) - _NAMED:,} more" if len(changed) > _NAMED else ""
        problem = f"Files of the index {index.name} changed after they were written"
        yield Finding(trouble=f"{problem} ({', '.join(changed[:_NAMED])}{more}); index again with <fresh>.")


def _check_derived(index: EmbeddedIndex, lock: AbstractContextManager[None]) -> Iterator[Finding]:
    """Make damaged derived files again."""
    damaged = index.damaged_derived()
    if not damaged:
        return
    reasons = ", ".join(f"{path.name}: {why}" for path, why in damaged.items())
    try:
        with lock:
            index.derive_again(damaged)
    except (InputError, UnavailableError) as error:
        problem = f"Derived files of the index {index.name} are damaged ({reasons}) and can't be made again"
        yield Finding(trouble=f"{problem}: {error.marked}")
    else:
        names = [path.name for path in damaged]
        yield Finding("derived_again", names, f"damaged derived files were made again ({reasons})")


def _is_written(lock: AbstractContextManager[None]) -> bool:
    """Return whether another process holds the lock."""
    try:
        with lock:
            return False
    except (InputError, UnavailableError):
        return True
