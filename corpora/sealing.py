"""JSON objects with a checksum, as files that are read whole."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import orjson

_CHECKSUM = "checksum"


def sealed(content: Mapping[str, Any], *, indented: bool = False) -> bytes:
    """Return a JSON object with its checksum, which is that of the object without spaces."""
    option = orjson.OPT_INDENT_2 if indented else None
    return orjson.dumps({**content, _CHECKSUM: zlib.crc32(orjson.dumps(content))}, option=option)


def unsealed(file: bytes, *, optional: bool = False) -> dict[str, Any]:
    """Return what `sealed` was given; raises `ValueError` if the file was changed since.

    The checksum may be `optional`, for files that were written without one.
    """
    content = orjson.loads(file)
    if not isinstance(content, dict):
        raise ValueError("it holds no object")  # noqa: TRY004 - it is the file that is wrong
    if optional and _CHECKSUM not in content:
        return content
    if content.pop(_CHECKSUM, None) != zlib.crc32(orjson.dumps(content)):
        raise ValueError("its checksum is wrong")
    return content
