"""Papers as records of bytes, with a checksum, and back."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

import orjson

from corpora.custom import FieldValue
from corpora.paper import Paper, is_empty, paper_from
from search_plugin.values import UPDATABLE

_NAMES = tuple(field.name for field in fields(Paper))
_HEAD = struct.Struct("<III")
_QUICK = 1  # zlib's level: a third of the size for 20 microseconds a paper


class Stored(NamedTuple):
    """A paper as stored."""

    paper: Paper
    content_hash: str


class Encoded(NamedTuple):
    """A paper as a record will hold it, before compression: id, content hash, and all values as JSON."""

    id: bytes
    content_hash: bytes
    values: bytes


def encoded(stored: Stored) -> Encoded:
    """Encode a paper; raises `ValueError` if a text is not valid Unicode."""
    paper = stored.paper
    values = {name: value for name in _NAMES if not is_empty(value := getattr(paper, name))}
    try:
        return Encoded(paper.id.encode(), stored.content_hash.encode(), orjson.dumps(values))
    except TypeError as error:
        raise ValueError(str(error)) from error


def to_record(paper: Encoded) -> bytes:
    """Return a record: checksum, lengths of the id and the hash, both, and the values, compressed."""
    rest = paper.id + paper.content_hash + zlib.compress(paper.values, _QUICK)
    return _HEAD.pack(zlib.crc32(rest), len(paper.id), len(paper.content_hash)) + rest


def with_values(paper: Paper, values: Mapping[str, FieldValue | None]) -> Paper:
    """Return a paper with other values in some fields; None for no value."""
    own: dict[str, Any] = {name: value or () for name, value in values.items() if name in UPDATABLE}
    extra = {**paper.extra, **{name: value for name, value in values.items() if name not in UPDATABLE}}
    return replace(paper, **own, extra={name: value for name, value in extra.items() if value is not None})


def id_of(records: memoryview, at: int) -> str:
    """Return the id in the record that begins at a position."""
    start = at + _HEAD.size
    return str(records[start : start + _HEAD.unpack_from(records, at)[1]], "utf-8")


def from_record(record: bytes) -> Stored:
    """Return what a record holds; raises `ValueError` if it is damaged."""
    checksum, id_size, hash_size = _HEAD.unpack_from(record)
    start = _HEAD.size + id_size
    if zlib.crc32(record[_HEAD.size :]) != checksum:
        raise ValueError("a paper's checksum is wrong")
    paper = paper_from(orjson.loads(zlib.decompress(record[start + hash_size :])))
    return Stored(paper, record[start : start + hash_size].decode())
