"""The files of a word index: which ones a commit of tantivy's has, whether they are whole, and how others read them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import orjson

from search_plugin.engines.embedded.checksums import cheap, checksum
from search_plugin.engines.embedded.errors import reads_stored

META = "meta.json"
_KINDS = ("store", "term", "idx", "pos", "fieldnorm", "fast")
_MAGIC = (1337).to_bytes(4, "little")
_FOOTER = 4_096
"""Bytes at the end of a file of tantivy's that hold its footer."""

Commit = Mapping[str, Any]
"""What `meta.json` says: the segments of the last commit, and its opstamp."""

T = TypeVar("T")


def last(folder: Path, use: Callable[[Commit], T]) -> tuple[T, int]:
    """Return what a function makes of the last commit, and its opstamp; it is called again if a writer was quicker."""
    while True:
        commit = newest(folder)
        try:
            made = use(commit)
        except (OSError, ValueError):
            if commit == newest(folder):
                raise
        else:
            if commit == newest(folder):
                return made, _opstamp(commit)


@reads_stored
def _opstamp(commit: Commit) -> int:
    return int(commit["opstamp"])


@reads_stored
def check(folder: Path, commit: Commit, sound: set[str]) -> None:
    """Raise if files of a commit are missing or, as far as it is cheap to find out, damaged; note the others."""
    sizes = {name: (folder / name).stat().st_size for name in files(commit) if name not in sound}
    # tantivy trusts the lengths in a store, and a wrong one aborts the whole process. Stores hold nothing, so they are
    # small.
    stores = [name for name in sizes if name.endswith(".store")]
    for name in {*stores, *cheap(sizes.items())}:
        if changed(folder / name):
            raise ValueError(f"{name} was changed after it was written")
    sound.update(sizes)


def links_to(folder: Path) -> Path:
    """Return a temporary folder of links to the files of another; it is removed when the process ends."""
    made = Path(tempfile.mkdtemp(prefix="ses-words-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    link(folder, made)
    return made


def link(folder: Path, links: Path) -> None:
    """Link to the files of a folder that have no link yet."""
    for path in folder.iterdir():
        if path.suffix != ".lock" and not (links / path.name).is_symlink():
            (links / path.name).symlink_to(path.resolve())


@reads_stored
def files(commit: Commit) -> list[str]:
    """Return the names of the files of a commit."""
    names = []
    for segment in commit["segments"]:
        name = segment["segment_id"].replace("-", "")
        deletes = segment["deletes"]
        kinds = [*_KINDS, *([f"{deletes['opstamp']}.del"] if deletes else [])]
        names += [f"{name}.{kind}" for kind in kinds]
    return names


@reads_stored
def changed(path: Path) -> bool:
    """Return whether a file of tantivy's differs from what was written.

    They end with a footer: JSON with the checksum of all before it, the length of the JSON, and a magic number, each of
    these two of 4 bytes (https://github.com/quickwit-oss/tantivy, src/directory/footer.rs).
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _FOOTER))
        end = file.read()
    length = int.from_bytes(end[-8:-4], "little")
    try:
        wanted = orjson.loads(end[-8 - length : -8])["crc"]
    except orjson.JSONDecodeError:
        return True
    return end[-4:] != _MAGIC or checksum(path, size - 8 - length) != wanted


def newest(folder: Path) -> Commit:
    """Read what the last commit is."""
    commit: Commit = orjson.loads((folder / META).read_bytes())
    return commit
