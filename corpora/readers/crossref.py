"""Crossref's works (github.com/CrossRef/rest-api-doc): answers of its REST API, JSON lines, and the public data file.

Works that `corpora.crossref_works` looked up by DOI are in JSON lines of their own, each with the line of its DOI in
the list, and with the reason if there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from corpora.accounting import accounted
from corpora.assembling import assemble
from corpora.cleaning import text_of
from corpora.custom import CustomField
from corpora.errors import require
from corpora.json_objects import JsonObject, read_lists
from corpora.markup import plain_members
from corpora.names import whole_name
from corpora.opening import BUFFER_BYTES, PLAIN, Opening, open_binary
from corpora.paper import Record, Rejected
from corpora.readers.jsonl import json_files, read_objects
from corpora.reading import read_each
from corpora.sniffing import refuse_other

_LIST = re.compile(rb'\s*\{\s*"(?:items"\s*:\s*\[|(?:status|message[\w-]*)")')
_WORK = re.compile(rb'"message-type"\s*:\s*"work"')
_DATES = ("issued", "published", "published-print", "published-online", "posted", "created")
_RETRACTIONS = ("retraction", "withdrawal", "removal")


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read works lazily, from a file or a folder of them, such as the public data file; see `Reader`.

    A paper's id is its DOI in lower case. Custom fields can be any plain member of a work, such as
    `is-referenced-by-count` or `publisher`; also `license`, `issn`, `isbn`, `funders`, `container` and `published`.
    """
    files = [path]
    if path.is_dir():
        files = json_files(path)
        require(files, f"{path} holds no .json or .jsonl file, as Crossref's data does: name another folder.")
    yield from read_each(path, files, lambda file: _read_file(file, custom, opening.encoding))


def _read_file(path: Path, custom: Sequence[CustomField], encoding: str) -> Iterator[Record]:
    with open_binary(path, encoding) as stream:
        head = stream.peek(BUFFER_BYTES).removeprefix(b"\xef\xbb\xbf")
        refuse_other(path, head, "Crossref's works in JSON", ("jsonl",))
        lists = _LIST.match(head) and not _WORK.search(head[:4096])
        for item in read_lists(stream, ("message", "items")) if lists else read_objects(stream):
            yield item if isinstance(item, Rejected) else _read_item(item, custom)


def _read_item(item: JsonObject, custom: Sequence[CustomField]) -> Record:
    members = item.members
    if "looked_up" in members:
        line = members.get("line")
        line = line if isinstance(line, int) else item.line
        work = members.get("work")
        if isinstance(work, dict):
            return accounted(work, partial(read_work, line, custom=custom))
        return Rejected(line, text_of(members.get("reason")), text_of(members["looked_up"]))
    work = members.get("message")
    return accounted(work if isinstance(work, dict) else members, partial(read_work, item.line, custom=custom))


def read_work(line: int, work: Mapping[str, object], custom: Sequence[CustomField]) -> Record:
    """Return the paper of a work, or why it is none."""
    doi = text_of(work.get("DOI")).lower()
    subtitle = _first(work, "subtitle")
    title = _first(work, "title") or _first(work, "original-title")
    dates = [_date(work.get(name)) for name in _DATES]
    date = next(filter(None, dates), "")
    references = [text_of(cited.get("DOI")).lower() for cited in _objects(work, "reference")]
    updates = {text_of(update.get("type")).lower() for update in _objects(work, "updated-by")}
    record = {
        "id": doi,
        "title": f"{title}: {subtitle}" if title and subtitle and subtitle not in title else title,
        "abstract": work.get("abstract"),
        "authors": list(filter(None, map(_name, _objects(work, "author") or _objects(work, "editor")))),
        "year": date[:4],
        "venue": _first(work, "container-title") or _venue(work),
        "types": work.get("type"),
        "language": work.get("language"),
        "fields": work.get("subject"),
        "doi": doi,
        "references": [cited for cited in dict.fromkeys(references) if cited],
        "url": f"https://doi.org/{doi}",
        # The notice has `update-to`, the work itself `updated-by`.
        "retracted": not updates.isdisjoint(_RETRACTIONS),
        **{name: work.get(name) for name in ("volume", "issue", "publisher")},
        "pages": work.get("page"),
        "article_number": work.get("article-number"),
        "issn": work.get("ISSN"),
    }
    beside = {
        **work,
        "license": list(dict.fromkeys(text_of(one.get("URL")) for one in _objects(work, "license"))),
        "isbn": work.get("ISBN"),
        "funders": [text_of(one.get("name")) for one in _objects(work, "funder")],
        "container": work.get("container-title"),
        "published": date,
    }
    return assemble(line, plain_members(record, ("title", "abstract", "venue")), {}, custom, beside)


def _objects(work: Mapping[str, object], name: str) -> list[dict[str, object]]:
    value = work.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _first(work: Mapping[str, object], name: str) -> str:
    value = work.get(name)
    return text_of(next(iter(value), "")) if isinstance(value, list) else text_of(value)


def _venue(work: Mapping[str, object]) -> str:
    """Return the conference of a work, or the server of a preprint."""
    event = work.get("event")
    conference = text_of(event.get("name")) if isinstance(event, dict) else ""
    server = text_of(work.get("group-title")) or text_of(next(iter(_objects(work, "institution")), {}).get("name"))
    return conference or (server if work.get("type") == "posted-content" else "")


def _name(author: Mapping[str, object]) -> str:
    family, given, suffix = (text_of(author.get(part)) for part in ("family", "given", "suffix"))
    return whole_name(family, given, suffix) or text_of(author.get("name")) or text_of(author.get("literal"))


def _date(value: object) -> str:
    """Return `2020-03-16` of `{"date-parts": [[2020, 3, 16]]}`, as far as it is known."""
    parts = value.get("date-parts") if isinstance(value, dict) else None
    first = parts[0] if isinstance(parts, list) and parts else None
    numbers = [part for part in first if isinstance(part, int)] if isinstance(first, list) else []
    return "-".join(f"{number:04}" if at == 0 else f"{number:02}" for at, number in enumerate(numbers[:3]))
