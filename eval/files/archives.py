"""Data sets in tar archives."""

from __future__ import annotations

import lzma
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

    Raises `InputError` if neither exists, or the archive is damaged, far too large, or reaches outside its folder.
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
                archive.extractall(folder, filter="data")
        except tarfile.ReadError as error:  # tarfile's message lists every compression that it tried
            raise InputError(f"{path} is neither a folder nor a sound tar archive: name another.") from error
        except (tarfile.TarError, OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise InputError(f"{path} is neither a folder nor a tar archive that can be unpacked ({error}).") from error
        yield Path(folder)
