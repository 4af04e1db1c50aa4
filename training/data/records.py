"""Records of JSON files as they are, with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora.json_objects import read_items, read_lines
from corpora.opening import BUFFER_BYTES, open_binary
from corpora.paper import Rejected

_OBJECT_OF_OBJECTS = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')


def read_records(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the records of a file, plain or compressed: the line, and the record or what is wrong with it.

    The file holds JSON lines; one array; or, if its name holds `.json` and not `.jsonl`, one object of objects by id,
    as SPECTER's files are, of which each gets its key as `id`.
    """
    with open_binary(path) as stream:
        begin = stream.peek(BUFFER_BYTES)
        if begin.lstrip().startswith(b"["):
            records = read_items(stream, "array")
        elif ".json" in path.suffixes and _OBJECT_OF_OBJECTS.match(begin):
            records = read_items(stream, "mapping")
        else:
            records = read_lines(stream)
        for record in records:
            yield record.line, record.reason if isinstance(record, Rejected) else record.members
