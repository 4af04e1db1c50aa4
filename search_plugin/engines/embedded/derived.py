"""Files derived from those of a generation. They can be made again at any time; names say how much they cover."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corpora.writing import replacing


def newest(folder: Path, name: str, most: int) -> tuple[int, Path] | None:
    """Return the extent and path of the largest derived file that covers at most the limit; None if there is none."""
    found = [(covered, path) for covered, path in _all(folder, name) if covered <= most]
    return max(found, default=None)


@contextmanager
def deriving(folder: Path, name: str, covered: int) -> Iterator[Path]:
    """Make a derived file or folder at the path that is yielded, and remove those that cover less or are incomplete."""
    with replacing(folder / f"{name}-{covered}", locked=True) as part:
        yield part
    incomplete = folder.glob(f"{name}-*.part")
    for path in (*incomplete, *(path for less, path in _all(folder, name) if less < covered)):
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _all(folder: Path, name: str) -> list[tuple[int, Path]]:
    numbered = [(path.name.rpartition("-")[2], path) for path in folder.glob(f"{name}-*")]
    return [(int(number), path) for number, path in numbered if number.isdigit()]
