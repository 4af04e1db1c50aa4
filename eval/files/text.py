"""Line-based files: read with limits and line numbers, and written whole, so that nobody sees half a file."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

import orjson

from corpora.cleaning import text_of
from corpora.errors import InputError
from corpora.json_objects import JsonObject, read_lines
from corpora.opening import find_compressed, open_binary
from corpora.paper import Rejected
from corpora.writing import explaining, replacing
from eval.embedder import Text

Row = Mapping[str, object]
"""A record of JSON or of a table, by name of its members or columns."""

NamedRow = tuple[str, Row]
"""A record, and before it what an error calls it, such as `Reviewer 2` or `x.jsonl, line 2: the reviewer`."""

LONGEST_LINE = 1 << 20
"""Bytes. A file with a longer line is not one of judgments, rankings or queries."""


def bad_line(path: Path, number: int, reason: str) -> InputError:
    """Return the error for one line of a file; `reason` is the rest of the sentence without its full stop."""
    return InputError(f"{path}, line {number}: {reason}.")


def require_line(condition: object, path: Path, number: int, reason: str) -> None:
    """Raise the error for one line of a file unless the condition holds."""
    if not condition:
        raise bad_line(path, number, reason)


def file_in(folder: Path, name: str) -> Path:
    """Return the file of that name in a folder, plain or packed; if neither exists, the path it should have."""
    return find_compressed(folder, name) or folder / name


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a text file, plain or compressed, that aren't blank, without line ends, with numbers from 1.

    They stay bytes because `bytes.split` divides at ASCII blanks only, as trec_eval does, where `str.split` would also
    divide an identifier at a no-break space. Raises `InputError` if the file can't be read or isn't text.
    """
    with open_binary(path) as stream:
        yield from lines_of(stream, path)


def lines_of(stream: BufferedReader, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of an open file as `numbered_lines` does; `path` is for its errors."""
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), start=1):
        if len(line) >= LONGEST_LINE or b"\0" in line:
            raise bad_line(path, number, "this is no text file, or its line is far too long")
        content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        if content.strip():
            yield number, content.rstrip(b"\r\n")


def json_of(line: bytes, path: Path, number: int) -> Any:
    """Return the JSON value of a line, or raise `InputError` where it is none."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise bad_line(path, number, f"this is not JSON ({error})") from error


def json_objects(
    path: Path, read: Callable[[BufferedReader], Iterator[JsonObject | Rejected]] = read_lines
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON file, plain or compressed, with the numbers of their lines; JSON lines by default.

    Raises `InputError` if the file can't be read, or a line is no object.
    """
    with open_binary(path) as stream:
        for item in read(stream):
            if isinstance(item, Rejected):
                raise InputError(f"{path}, line {item.line}: {item.reason}")
            yield item.line, item.members


def paper_text(members: Row, *keys: str) -> Text:
    """Return a record's title and abstract, cleaned, under the first of its ids that isn't empty."""
    name = next((name for key in keys if (name := text_of(members.get(key)))), "")
    return Text(name, text_of(members.get("title")), text_of(members.get("abstract")))


def is_id(value: object) -> bool:
    """Whether a value can be a paper's id: text or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, such as a grade."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1


def decode(field: bytes, path: Path, number: int) -> str:
    """Return a field of a line as text, or raise `InputError` where it isn't UTF-8."""
    try:
        return field.decode()
    except UnicodeDecodeError as error:
        raise bad_line(path, number, "this isn't UTF-8 text") from error


def require_id(value: str) -> None:
    """Raise `InputError` for an identifier that pytrec_eval's C strings can't hold: it would misread it or crash."""
    if not value or "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise InputError(f"The identifier {value!r} is empty or not valid text: give the query or paper another one.")


def require_column(value: str) -> str:
    """Return an identifier or tag as it is, or raise `InputError` where it can't be a column of a TREC file."""
    if value.encode().split() != [value.encode()]:
        raise InputError(f"{value!r} is empty or holds a blank, which a TREC file can't hold: rename it first.")
    return value


def write_json_lines(path: Path, records: Iterable[Row]) -> None:
    """Write records as JSON lines, as `write_lines` writes lines."""
    write_lines(path, (orjson.dumps(record).decode() for record in records))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines into a text file, whole or not at all; if they raise an error, the older file stays as it was.

    Raises `UnavailableError` if the file can't be written there.
    """
    with explaining(path), replacing(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
