"""Checksums (CRC-32) of the files of an index, and which of them are compared when files are opened.

A record is compared with its checksum whenever it is read. All other files are compared by a diagnosis. When files are
opened, they are compared as far as that is cheap: the smallest first, until `AT_ONCE` bytes are read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from search_plugin.engines.embedded.errors import reads_stored

AT_ONCE = 32 << 20
"""Bytes that are compared when files are opened; about 0.02 seconds."""

_BLOCK = 1 << 20
_CHECKSUM = "checksum"


def checksum(path: Path, size: int) -> int:
    """Return the checksum of a file's first bytes, or of all if it has fewer."""
    found = 0
    with path.open("rb") as file:
        while size > 0 and (block := file.read(min(_BLOCK, size))):
            found, size = zlib.crc32(block, found), size - len(block)
    return found


def cheap(sizes: Iterable[tuple[str, int]]) -> list[str]:
    """Return the names of the smallest files, which have at most `AT_ONCE` bytes together."""
    names, left = [], AT_ONCE
    for name, size in sorted(sizes, key=lambda pair: pair[1]):
        left -= size
        if left < 0:
            break
        names.append(name)
    return names


def sealed(content: Mapping[str, Any]) -> bytes:
    """Return a JSON object with its checksum, as a file that is read whole."""
    return orjson.dumps({**content, _CHECKSUM: zlib.crc32(orjson.dumps(content))})


@reads_stored
def unsealed(file: bytes) -> dict[str, Any]:
    """Return what `sealed` was given; raises `ValueError` if the file was changed since."""
    content: dict[str, Any] = orjson.loads(file)
    if content.pop(_CHECKSUM) != zlib.crc32(orjson.dumps(content)):
        raise ValueError("its checksum is wrong")
    return content
