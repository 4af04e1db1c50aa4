"""RIS, the form in which reference managers and databases export references (Wikipedia: RIS (file format)).

Records are cut out with their lines, and rispy reads each one, so that a broken record can't affect the others.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from corpora.assembling import assemble
from corpora.cleaning import text_of
from corpora.installed import extra, needing
from corpora.markup import plain_members
from corpora.opening import LONGEST_RECORD, NOT_UTF8, PLAIN, Line, Opening, bounded_lines, open_binary
from corpora.paper import Record, Rejected
from corpora.sniffing import refuse_folder, refuse_other

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from corpora.custom import CustomField

_TAG = re.compile(rb"([A-Z][A-Z0-9])  -(?: |$)")
_WITH_MARKUP = ("title", "abstract", "venue")


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read RIS lazily; see `Reader`.

    A paper's id is the tag ID, else AN, the DOI, or a hash of title, authors and year. Custom fields have rispy's names
    of tags: `publisher`, `issn`, `volume`, `number`, `start_page`, `place_published`, `notes`, `label` and the like.
    Raises `UnavailableError` if rispy isn't installed.
    """
    with needing("Reading RIS needs rispy", extra("references")):
        import rispy

    refuse_folder(path, "an RIS file")
    with open_binary(path, opening.encoding) as stream:
        refuse_other(path, stream.peek(), "RIS", ("ris",))
        for item in _cut(bounded_lines(stream)):
            yield item if isinstance(item, Rejected) else _reference(item, rispy, custom)


@dataclass(slots=True)
class _Cut:
    """One record: the line of its TY, and its lines from there."""

    line: int
    lines: list[bytes] = field(default_factory=list)
    size: int = 0


def _cut(lines: Iterator[Line | Rejected]) -> Iterator[_Cut | Rejected]:
    """Yield each record from TY to ER, or to the next TY, and a rejection for what is outside records or too long."""
    record: _Cut | None = None
    reported = False  # a rejection is enough for all tags up to the next TY
    for line in lines:
        if isinstance(line, Rejected):
            yield replace(line, line=record.line) if record else line
            record, reported = None, True
            continue
        tag = _TAG.match(line.raw)
        name = tag[1] if tag else b""
        if name == b"TY":
            if record:
                yield record
            record, reported = _Cut(line.number), False
        elif record is None:
            if name and not reported:
                yield Rejected(line.number, f"The tag {name.decode()} is outside a record, which begins with TY.")
                reported = True
            continue
        if name == b"ER":
            yield record
            record = None
            continue
        record.lines.append(line.raw)
        record.size += len(line.raw)
        if record.size > LONGEST_RECORD:
            yield Rejected(record.line, f"The record is longer than {LONGEST_RECORD >> 20} MiB.")
            record, reported = None, True
    if record:
        yield Rejected(record.line, "The record is cut off where the file ends: it has no ER.")


def _reference(record: _Cut, rispy: Any, custom: Sequence[CustomField]) -> Record:
    try:
        text = b"\n".join(record.lines).decode()
    except UnicodeDecodeError:
        return Rejected(record.line, f"The record has {NOT_UTF8}.")
    try:
        (found,) = rispy.loads(f"{text}\nER  - ", skip_unknown_tags=True, enforce_list_tags=False)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return Rejected(record.line, f"The record isn't RIS ({type(error).__name__} at {text_of(str(error))[:60]}).")
    kind = text_of(found.get("type_of_reference"))
    entry = {
        "title": _first(found, "primary_title", "title", "translated_title", "short_title"),
        "abstract": _first(found, "abstract", "notes_abstract"),
        "authors": [*_all(found, "first_authors"), *_all(found, "authors")],
        "year": _first(found, "year", "publication_year", "date"),
        "venue": _first(found, "secondary_title", "journal_name", *(f"alternate_title{n}" for n in (3, 2, 1))),
        "types": rispy.TYPE_OF_REFERENCE_MAPPING.get(kind, kind),
        "language": found.get("language"),
        "fields": _all(found, "keywords"),
        "doi": found.get("doi"),
        "url": _all(found, "urls"),
    }
    id_ = _first(found, "id", "accession_number", "doi") or _digest(entry)
    return assemble(record.line, {"id": id_, **plain_members(entry, _WITH_MARKUP)}, {}, custom, found)


def _all(found: Mapping[str, object], name: str) -> list[object]:
    value = found.get(name)
    return value if isinstance(value, list) else [value] if value else []


def _first(found: Mapping[str, object], *names: str) -> str:
    return next((text for name in names for value in _all(found, name) if (text := text_of(value))), "")


def _digest(entry: Mapping[str, object]) -> str:
    """Return an id that stays the same where the record moves in the file, empty without a title."""
    text = "\n".join(text_of(entry[name]) for name in ("title", "authors", "year"))
    return f"ris-{hashlib.blake2b(text.encode(errors='replace'), digest_size=8).hexdigest()}" if entry["title"] else ""
