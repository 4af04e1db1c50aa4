"""Copies the folder of a generation."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from search_plugin.engines.embedded.files import sync_folder


def copy_folder(source: Path, target: Path) -> None:
    """Copy a generation durably; the target is complete as soon as it exists.

    No file is linked: some are appended to in place, so a write to one index would change the other.

    Args:
        source: Folder of a generation that nobody writes.
        target: A folder beside it that does not exist.

    Raises:
        OSError: If the disk is full; nothing of the copy is left.
    """
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        shutil.copytree(source, part)
        for folder, _, files in os.walk(part):
            for name in files:
                _sync(Path(folder) / name)
            sync_folder(Path(folder))
        part.replace(target)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    sync_folder(target.parent)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
