"""Folders of files that are derived from those of a generation. They can be made again at any time.

The name of a folder says how many rows or vectors it covers. Its manifest, which is written last, has the length and
the checksum of each file, and the mark of the generation. A damaged folder is not used, as if there were none, and
`finish` makes it again.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from corpora.checksums import sealed, unsealed
from corpora.writing import replacing
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.files import cheap, checksum, read_small, size_of
from search_plugin.engines.embedded.generations import is_of_another, mark_of

_MANIFEST = "manifest.json"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Derived:
    """A derived folder, how many rows or vectors it covers, and the bytes of each of its files."""

    path: Path
    covered: int
    sizes: Mapping[str, int]


def newest(folder: Path, name: str, most: int, read: Callable[[Derived], T]) -> T | None:
    """Return what `read` makes of the derived folder that covers the most rows or vectors, up to `most` of them.

    None if there is no folder, or if it is damaged, which is logged in a sentence: then `read` raises `ValueError`,
    `OSError` or `RuntimeError`.
    """
    while found := max((one for one in _all(folder, name) if one[0] <= most), default=None):
        covered, path = found
        try:
            return read(_checked(path, covered, whole=False))
        except (ValueError, OSError, RuntimeError) as error:
            # If it is gone, an update has replaced it meanwhile.
            if path.exists():
                logging.getLogger("ses").warning(
                    "%s is damaged (%s): papers and vectors are read in its place, which takes longer, until an update "
                    "or diagnosis of the index makes it again.",
                    path,
                    error,
                )
                return None
    return None


@contextmanager
def deriving(folder: Path, name: str, covered: int) -> Iterator[Path]:
    """Make a derived folder, in which the block writes files, and remove those that cover less or are incomplete."""
    with replacing(folder / f"{name}-{covered}", locked=True) as part:
        part.mkdir()
        yield part
        files = {path.name: (size := path.stat().st_size, checksum(path, size)) for path in part.iterdir()}
        mark = mark_of(folder)
        (part / _MANIFEST).write_bytes(sealed({"covered": covered, "files": files, "mark": mark}))
    incomplete = folder.glob(f"{name}-*.part")
    for path in (*incomplete, *(path for less, path in _all(folder, name) if less < covered)):
        remove(path)


def remove(path: Path) -> None:
    """Delete a derived folder, or a file that is in the place of one."""
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def damaged(folder: Path) -> Mapping[Path, str]:
    """Return which derived folders of a generation are damaged, and why; reads all their files."""
    found = {}
    for path, covered in sorted((path, covered) for covered, path in _all(folder, "*")):
        try:
            _checked(path, covered, whole=True)
        except (ValueError, OSError) as error:
            found[path] = str(error)
    return found


@reads_stored
def _checked(path: Path, covered: int, *, whole: bool) -> Derived:
    """Return a derived folder; raises `ValueError` or `OSError` if it is damaged.

    Lengths are always compared, checksums where that is cheap, or all of them.
    """
    manifest = unsealed(read_small(path / _MANIFEST))
    if manifest["covered"] != covered:
        raise ValueError(f"it covers {manifest['covered']:,}")
    if is_of_another(path.parent, str(manifest.get("mark", ""))):
        raise ValueError("it is of another index")
    sizes = {name: size for name, (size, _) in manifest["files"].items()}
    for name, size in sizes.items():
        if size_of(path / name) != size:
            raise ValueError(f"{name} has not the length that it was written with")
    for name in sizes if whole else cheap(sizes.items()):
        if checksum(path / name, sizes[name]) != manifest["files"][name][1]:
            raise ValueError(f"{name} was changed after it was written")
    return Derived(path, covered, sizes)


def _all(folder: Path, name: str) -> list[tuple[int, Path]]:
    numbered = [(path.name.rpartition("-")[2], path) for path in folder.glob(f"{name}-*")]
    return [(int(number), path) for number, path in numbered if number.isdigit()]
