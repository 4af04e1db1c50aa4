"""The texts to encode: papers, queries and bare texts, from JSON, plain lines or any corpus."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from corpora.aliases import check_columns, names_of, normal_name
from corpora.assembling import assemble
from corpora.cleaning import text_of
from corpora.json_objects import JsonObject
from corpora.opening import Line, bounded_lines, open_binary
from corpora.paper import Deleted, Record, Rejected
from corpora.readers.jsonl import read_objects
from corpora.sniffing import refuse_folder, refuse_other
from encoders.models.formats import Format

# SciRepEval's searches carry ids of papers too.
_TEXT_ID = ("queryid", "qid", *names_of("id"))
_TEXT = ("query", "querytext", *names_of("abstract"))


@dataclass(frozen=True, slots=True)
class TextRecord:
    """Something to encode.

    Attributes:
        line: Line on which its record begins.
        id: Identifier.
        title: A paper's title, or the whole of a query or bare text.
        abstract: A paper's abstract; None for a query or bare text.
        task_format: The format the record asks for itself, if it does.
    """

    line: int
    id: str
    title: str
    abstract: str | None = None
    task_format: Format | None = None


def papers_as_texts(records: Iterable[Record]) -> Iterator[TextRecord | Rejected]:
    """Yield the papers of a corpus as texts; what the corpus rejects stays rejected.

    A deletion is rejected too: what came before it is encoded by then.
    """
    for record in records:
        if isinstance(record, Rejected):
            yield record
        elif isinstance(record, Deleted):
            yield Rejected(record.line, "The corpus has deleted this paper.", record.id)
        else:
            yield TextRecord(record.line, record.paper.id, record.paper.title, record.paper.abstract)


def read_plain_texts(path: Path) -> Iterator[TextRecord | Rejected]:
    """Read a text per line, without blank lines; ids are line numbers. `InputError` if the file can't be read."""
    refuse_folder(path, "a file with one text per line")
    with open_binary(path) as stream:
        for line in bounded_lines(stream):
            if isinstance(line, Rejected):
                yield line
                continue
            try:
                yield _untitled(line.number, str(line.number), line.raw.decode())
            except UnicodeDecodeError:
                yield Rejected(line.number, "The line has bytes that aren't UTF-8.")


def read_json_texts(path: Path, columns: Mapping[str, str]) -> Iterator[TextRecord | Rejected]:
    """Yield the texts of JSON lines of papers, queries or both; also one array, one object of papers, or strings.

    An object with a title is a paper, under the names that `corpora.aliases` knows: SPECTER's, SciRepEval's and BEIR's
    among them. One without is a query or a bare text. Its member `format`, if any, says what its vector is for. Strings
    are named by the number of their line. `columns` gives the key of an attribute that isn't known. Raises `InputError`
    if the file, plain or compressed, isn't JSON, or `columns` names an attribute that papers don't have.
    """
    check_columns(columns)
    refuse_folder(path, "a JSON file")
    with open_binary(path) as stream:
        head = stream.peek().removeprefix(b"\xef\xbb\xbf").lstrip()
        if isinstance(_parsed(head.partition(b"\n")[0]), str):
            for line in bounded_lines(stream):
                yield line if isinstance(line, Rejected) else _of_string(line)
            return
        refuse_other(path, head, "JSON lines of papers or queries (or a .txt file, one text per line)", ("jsonl",))
        for item in read_objects(stream):
            yield item if isinstance(item, Rejected) else _of_object(item, columns)


def _parsed(raw: bytes) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _of_string(line: Line) -> TextRecord | Rejected:
    value = _parsed(line.raw)
    if isinstance(value, str):
        return _untitled(line.number, str(line.number), value)
    return Rejected(line.number, "The line isn't a JSON string, as the first line is.")


def _of_object(item: JsonObject, columns: Mapping[str, str]) -> TextRecord | Rejected:
    given = item.members.get("format")
    known = [task_format.value for task_format in Format]
    if given is not None and given not in known:
        return Rejected(
            item.line,
            f"The record's format is {str(given)[:40]!r}; it may be {', '.join(known)} "
            "(the corpus jsonl leaves that member alone).",
        )
    keys = {normal_name(key): key for key, value in item.members.items() if text_of(value)}

    def value_of(attribute: str, names: tuple[str, ...]) -> object:
        key = columns.get(attribute) or next((keys[name] for name in names if name in keys), None)
        return None if key is None else item.members.get(key)

    if text_of(value_of("title", names_of("title"))):
        text = next(papers_as_texts([assemble(item.line, item.members, columns)]))
    else:
        text = _untitled(item.line, value_of("id", _TEXT_ID), value_of("abstract", _TEXT))
    return text if given is None or isinstance(text, Rejected) else replace(text, task_format=Format(given))


def _untitled(line: int, name: object, text: object) -> TextRecord | Rejected:
    # As a paper's abstract, so that id and length are checked as any paper's; the title only has to be there.
    record = assemble(line, {"id": name, "title": "untitled", "abstract": text}, {})
    if isinstance(record, Rejected):
        return record
    if not record.paper.abstract:
        return Rejected(line, "The record has no title, no text and no query.", record.paper.id)
    return TextRecord(line, record.paper.id, record.paper.abstract)
