"""Papers as records of bytes, with a checksum, and back."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import NamedTuple

import orjson

from corpora.lazy import np
from corpora.paper import Paper, is_empty, paper_from

_NAMES = tuple(field.name for field in fields(Paper))
_CHECKSUM = struct.Struct("<I")
_HEAD = struct.Struct("<III")
"""After the checksum of all that follows: that of the id, and the lengths of id and content hash."""

_START = _CHECKSUM.size + _HEAD.size
_QUICK = 1  # zlib's level: a third of the size for 20 microseconds a paper
_LONGEST = 64 << 20
"""Bytes of a paper's values; readers of corpora take a quarter of it."""


class Stored(NamedTuple):
    """A paper as stored."""

    paper: Paper
    content_hash: str


class Encoded(NamedTuple):
    """A paper as a record will hold it, before compression: id, content hash, and all values as JSON."""

    id: bytes
    content_hash: bytes
    values: bytes


class Written(NamedTuple):
    """A paper to write, as its record will hold it, with new vectors by format, or the row that already holds them."""

    paper: Paper
    encoded: Encoded
    vectors: Mapping[str, np.ndarray] | int


def encoded(stored: Stored) -> Encoded:
    """Encode a paper; raises `ValueError` if a text is not valid Unicode, or the paper is too long."""
    paper = stored.paper
    values = {name: value for name in _NAMES if not is_empty(value := getattr(paper, name))}
    try:
        content = orjson.dumps(values)
    except TypeError as error:
        raise ValueError(str(error)) from error
    if len(content) > _LONGEST:
        raise ValueError(f"it is longer than {_LONGEST >> 20} MiB")
    return Encoded(paper.id.encode(), stored.content_hash.encode(), content)


def to_record(paper: Encoded) -> bytes:
    """Return a record: its checksum, a head, the id, the content hash, and the values, compressed."""
    head = _HEAD.pack(zlib.crc32(paper.id), len(paper.id), len(paper.content_hash))
    rest = head + paper.id + paper.content_hash + zlib.compress(paper.values, _QUICK)
    return _CHECKSUM.pack(zlib.crc32(rest)) + rest


def id_of(records: memoryview, at: int) -> str:
    """Return the id in the record that begins at a position; raises `ValueError` if it is damaged."""
    return ids_of(records, (at,))[0]


def ids_of(records: memoryview, places: Iterable[int]) -> list[str]:
    """Return the ids in the records that begin at some positions; raises `ValueError` if one is damaged."""
    ids = []
    head, checksum_of = _HEAD.unpack_from, zlib.crc32  # a search reads hundreds of ids
    for at in places:
        checksum, size, _ = head(records, at + _CHECKSUM.size)
        id_ = bytes(records[at + _START : at + _START + size])
        if not size or checksum_of(id_) != checksum:  # the checksum of nothing is 0, and all zeros are no record
            raise ValueError("the checksum of an id is wrong")
        ids.append(id_.decode())
    return ids


def from_record(record: bytes, place: int) -> Stored:
    """Return what the record at a place, in bytes, holds; raises `ValueError` that names it if it is damaged."""
    if damage := damaged_record(record, place):
        raise ValueError(f"{damage} was changed after it was written")
    _, id_size, hash_size = _HEAD.unpack_from(record, _CHECKSUM.size)
    start = _START + id_size
    unpacking = zlib.decompressobj()
    values = unpacking.decompress(record[start + hash_size :], _LONGEST)
    if not unpacking.eof:
        raise ValueError(f"the record at byte {place:,} is longer than {_LONGEST >> 20} MiB, or has lost its end")
    paper = paper_from({"title": "", **orjson.loads(values)})  # empty values are not stored
    return Stored(paper, record[start : start + hash_size].decode())


def damaged_record(record: bytes, place: int) -> str:
    """Return the name of a damaged record, by the paper's id if that can be read, else by its place; empty if whole."""
    if len(record) > _START and _CHECKSUM.pack(zlib.crc32(record[_CHECKSUM.size :])) == record[: _CHECKSUM.size]:
        return ""
    try:
        return f"the record of the paper {id_of(memoryview(record), 0)}"
    except (ValueError, struct.error):
        return f"the record at byte {place:,}"
