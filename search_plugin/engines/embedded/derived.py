"""What is derived from the files of a generation, and can be made anew at any time: named after how much it covers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from search_plugin.engines.embedded.files import sync_folder


def newest(folder: Path, name: str, most: int) -> tuple[int, Path] | None:
    """Return how much the largest that covers at most so much covers, and where it is; None if there is none."""
    found = [(covered, path) for covered, path in _all(folder, name) if covered <= most]
    return max(found, default=None)


def complete(folder: Path, part: Path, name: str, covered: int) -> None:
    """Move a whole file or folder into its place, durably, and remove those that cover less."""
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
