"""Small disks, for tests of what a full or a read-only one does."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(disk: Path, kilobytes: int) -> Iterator[Callable[[str], object]]:
    """Mount a disk of some kilobytes at a new folder; yields a function that mounts it again with other options."""
    disk.mkdir()

    def mount(*options: str) -> int:
        return subprocess.run(["/bin/mount", *options, str(disk)], capture_output=True, check=False).returncode

    if mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs"):
        pytest.skip("only root may mount a small disk")
    try:
        yield lambda options: mount("-o", f"remount,{options}")
    finally:
        # Commands run in this process, so files of the disk may be mapped until their garbage is collected.
        subprocess.run(["/bin/umount", "--lazy", str(disk)], check=True)
