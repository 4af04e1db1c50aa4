"""Checksums of files and folders, and JSON objects that hold their own checksum."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from corpora.lazy import orjson


def sha256_of(path: Path) -> str:
    """Return the file's SHA-256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_text(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def data_hash(path: Path) -> str:
    """Return the SHA-256, 64 hex digits, of a file, or of the names and SHA-256s of all files of a folder.

    Raises `InputError` if it doesn't exist or can't be read.
    """
    try:
        if not path.is_dir():
            return sha256_of(path)
        files = sorted(file for file in path.rglob("*") if file.is_file())
        listed = "".join(f"{file.relative_to(path).as_posix()}\0{sha256_of(file)}\n" for file in files)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}.") from error
    return hashlib.sha256(listed.encode(errors="surrogateescape")).hexdigest()


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
