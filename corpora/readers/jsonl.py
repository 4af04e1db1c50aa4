"""Papers in JSON: one object per line, one array of objects, or one object of papers by id.

`corpora.aliases` lists the known shapes: Semantic Scholar's API, S2AG and S2ORC; SciRepEval's samples; SPECTER's and
SciDocs's `metadata.json`; OpenAlex's plain members; this project's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from io import BufferedReader
from pathlib import Path

from corpora.accounting import accounted
from corpora.aliases import ATTRIBUTES, EXTERNAL, check_columns, names_of, normal_name
from corpora.assembling import assemble
from corpora.custom import CustomField
from corpora.json_objects import JsonObject, read_items, read_lines
from corpora.opening import BUFFER_BYTES, PLAIN, Opening, open_binary
from corpora.paper import Record, Rejected
from corpora.sniffing import refuse_folder, refuse_other

_SUFFIXES = (".gz", ".jsonl", ".json", ".ndjson", ".zst", ".xz")
_FIRST_MEMBER = re.compile(r'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*(?=\{)')
_KNOWN_NAMES = frozenset((*EXTERNAL, *(name for attribute in ATTRIBUTES for name in names_of(attribute))))


def read(
    path: Path, columns: Mapping[str, str], custom: Sequence[CustomField] = (), opening: Opening = PLAIN
) -> Iterator[Record]:
    """Read JSON papers lazily; see `Reader`. Columns are keys, for attributes under unknown keys."""
    check_columns(columns)
    refuse_folder(path, "a JSON file")
    for item in read_file(path, "one JSON object a line", opening.encoding):
        if isinstance(item, Rejected):
            yield item
        else:
            yield accounted(item.members, partial(assemble, item.line, columns=columns, custom=custom))


def read_file(path: Path, wanted: str, encoding: str) -> Iterator[JsonObject | Rejected]:
    """Yield the objects of a file, as `read_objects` does; `InputError` if it is not the JSON that is `wanted`."""
    with open_binary(path, encoding) as stream:
        refuse_other(path, stream.peek(), wanted, ("jsonl",))
        yield from read_objects(stream)


def read_objects(stream: BufferedReader) -> Iterator[JsonObject | Rejected]:
    """Yield the objects of JSON lines, of an array, or of a mapping from ids; anything else as rejected."""
    head = stream.peek(BUFFER_BYTES).removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    if head.lstrip().startswith("["):
        return read_items(stream, "array")
    return read_items(stream, "mapping") if _holds_papers_by_id(head) else read_lines(stream)


def json_files(folder: Path) -> list[Path]:
    """Return the files below a folder that have a suffix of JSON, plain or compressed, in the order of their paths."""
    return sorted(file for file in folder.rglob("*") if file.name.endswith(_SUFFIXES) and file.is_file())


def _holds_papers_by_id(head: str) -> bool:
    """Distinguish `{"<id>": {"title": ...}, ...}` from the first line of JSON lines whose first member is an object."""
    first = _FIRST_MEMBER.match(head)
    if first is None or normal_name(first.group(1)) in _KNOWN_NAMES:
        return False
    try:
        value, _ = json.JSONDecoder().raw_decode(head, first.end())
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "title" in value
