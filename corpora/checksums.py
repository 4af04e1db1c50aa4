"""Checksums of files and folders."""

from __future__ import annotations

import hashlib
from pathlib import Path

from corpora.errors import InputError


def sha256_of(path: Path) -> str:
    """Return the file's SHA-256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
