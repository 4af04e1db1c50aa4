"""Files derived from those of a generation. They can be made again at any time; names say how much they cover."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from search_plugin.engines.embedded.files import sync_folder


def newest(folder: Path, name: str, most: int) -> tuple[int, Path] | None:
    """Return the extent and path of the largest derived file that covers at most the limit; None if there is none."""
    found = [(covered, path) for covered, path in _all(folder, name) if covered <= most]
    return max(found, default=None)


def complete(folder: Path, part: Path, name: str, covered: int) -> None:
    """Move a complete file or folder into place, durably, and remove those that cover less."""
    for path in [*part.iterdir(), part] if part.is_dir() else [part]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    target = folder / f"{name}-{covered}"
    shutil.rmtree(target, ignore_errors=True)
    part.replace(target)
    sync_folder(folder)
    for less, path in _all(folder, name):
        if less < covered:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _all(folder: Path, name: str) -> list[tuple[int, Path]]:
    numbered = [(path.name.rpartition("-")[2], path) for path in folder.glob(f"{name}-*")]
    return [(int(number), path) for number, path in numbered if number.isdigit()]
