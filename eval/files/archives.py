"""Data sets in tar archives."""

from __future__ import annotations

import lzma
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

from corpora.errors import InputError, require

LARGEST = 4 << 30
"""Bytes. An archive that unpacks to more is not a set of judgments."""


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Open a data set as a folder: one that exists, or that of a tar archive, which is deleted afterwards.

    Raises `InputError` if neither exists, or the archive is damaged, far too large, or has links or files outside it.
    """
    if path.is_dir():
        yield path
        return
    require(path.exists(), f"There is no {path}: name an existing folder or tar archive.")
    with TemporaryDirectory() as folder:
        try:
            with tarfile.open(path) as archive:
                require(
                    all(size <= LARGEST for size in accumulate(member.size for member in archive)),
                    f"{path} unpacks to more than {LARGEST >> 30} GiB; unpack it and name a folder.",
                )
                _extract(archive, Path(folder).resolve())
        except tarfile.ReadError as error:  # tarfile's message lists every compression that it tried
            raise InputError(f"{path} is neither a folder nor a sound tar archive: name another.") from error
        except (tarfile.TarError, OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise InputError(f"{path} is neither a folder nor a tar archive that can be unpacked ({error}).") from error
        yield Path(folder)


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive. `extractall` can do this safely from Python 3.11.4 on only."""
    for member in archive:
        target = (folder / member.name).resolve()
        if not target.is_relative_to(folder) or not (member.isdir() or member.isreg()):
            raise tarfile.TarError(f"{member.name!r} is outside its folder, a link or a device")
        (target if member.isdir() else target.parent).mkdir(parents=True, exist_ok=True)
        content = archive.extractfile(member)
        if content is not None:
            with content, target.open("wb") as file:
                shutil.copyfileobj(content, file)
