"""Zotero: a library whose answers are in a spool, or an export in CSL JSON.

Items have the fields of Zotero's schema (api.zotero.org/schema), and exports those of CSL JSON
(citeproc-js, docs.citationstyles.org), also as Better BibTeX writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from corpora.accounting import accounted
from corpora.aliases import WORLDWIDE
from corpora.assembling import assemble
from corpora.cleaning import text_of
from corpora.custom import CustomField
from corpora.documents import json_of, read_json, read_within
from corpora.errors import InputError
from corpora.fetching import LARGEST_REPLY
from corpora.json_objects import read_items
from corpora.markup import plain_members
from corpora.opening import BUFFER_BYTES, PLAIN, Opening, open_binary
from corpora.paper import Deleted, Record, Rejected
from corpora.sniffing import refuse_folder
from corpora.zotero_library import COLLECTIONS, NOT_PAPERS, items_of

_WITH_MARKUP = ("title", "abstract", "venue")
_TITLES = ("title", "caseName", "nameOfAct", "subject")
_VENUES = ("publicationTitle", "bookTitle", "proceedingsTitle", "encyclopediaTitle", "dictionaryTitle", "websiteTitle")
_OTHER_VENUES = ("blogTitle", "forumTitle", "conferenceName", "repository", "university", "institution", "publisher")
_IDS = ("DOI", "PMID", "PMCID")
_EXTRA = re.compile(r"^[ \t]*(doi|pmid|pmcid|arxiv)[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
_KEY = re.compile(r"(?:https?://zotero\.org/|\d+/)(?:.*/)?([A-Z0-9]{8})")
_SEPARATORS = re.compile(r"[;,]")


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read the items of a spool, or those of a file; see `Reader`. A record's line is an item's number, or its line.

    A paper's id is the item's key; in an export of another program its DOI or another identifier, or a hash. Custom
    fields are `collections` (with those around them: `Bats > Caves`) and `tags` of a library, and all fields of an
    item: `publisher`, `dateAdded` ...
    """
    if path.is_dir():
        for number, item in enumerate(_spooled(path), start=1):
            yield _item(number, item, custom)
        return
    with open_binary(path, opening.encoding) as stream:
        if not stream.peek(BUFFER_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
            raise InputError(
                f"{path} should be an export of Zotero in CSL JSON, which begins with [",
                "choose the format CSL JSON when you export, or use <corpus=bibtex> or <corpus=ris>",
            )
        for found in read_items(stream, "array"):
            if isinstance(found, Rejected):
                yield found
            elif isinstance(data := found.members.get("data"), dict):
                if data.get("itemType") not in NOT_PAPERS:
                    yield _item(found.line, found.members, custom)
            else:
                yield accounted(found.members, partial(_cited, found.line, custom=custom))


def _spooled(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the papers of a spool, each with the names of its collections; an item that has changed comes again."""
    if not (path / COLLECTIONS).is_file():
        refuse_folder(path, "an export of Zotero")
    try:
        names = read_json(path / COLLECTIONS, LARGEST_REPLY)
        for file in sorted(path.glob("answer-*.json.gz")):
            with open_binary(file) as stream:
                page = items_of(json_of(read_within(stream, LARGEST_REPLY)))
            for item in page:
                data = item["data"]
                if data.get("itemType") not in NOT_PAPERS:
                    within = _texts(data.get("collections"))
                    yield {**item, "collections": [names[key] for key in within if key in names]}
    except (ValueError, OSError) as error:
        raise InputError(f"The library in {path} can't be read: {error}", "ask for it <again>") from None


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _flat(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an item as the API gives it, with what is beside them."""
    data = dict(item["data"])
    # Only a library says what the collections of these keys are called.
    keys = data.pop("collections", [])
    beside = {name: item[name] for name in ("key", "meta", "collections") if item.get(name)}
    return {**data, **({} if "collections" in item else {"data.collections": keys}), **beside}


def _item(line: int, item: Mapping[str, Any], custom: Sequence[CustomField]) -> Record:
    """Return the record of an item as the API gives it."""
    return accounted(_flat(item), partial(_fields, line, custom))


def _fields(line: int, custom: Sequence[CustomField], data: Mapping[str, Any]) -> Record:
    key = text_of(data.get("key"))
    if data.get("deleted"):
        return Deleted(line, key)
    meta = data.get("meta")
    tags = [text_of(tag.get("tag")) for tag in _objects(data, "tags")]
    record = {
        "id": key,
        "title": _first(data, _TITLES),
        "abstract": data.get("abstractNote"),
        "authors": _people(_objects(data, "creators")),
        "year": (meta.get("parsedDate") if isinstance(meta, dict) else "") or data.get("date"),
        "venue": _first(data, (*_VENUES, *_OTHER_VENUES)),
        "types": data.get("itemType"),
        "language": data.get("language"),
        "fields": tags,
        "ids": _identifiers(data, "extra"),
        "url": data.get("url"),
        **{name: data.get(name) for name in ("volume", "issue", "pages", "publisher")},
        "issn": data.get("ISSN"),
    }
    beside = {**data, "tags": tags, "collections": data.get("collections", [])}
    return assemble(line, plain_members(record, _WITH_MARKUP), {}, custom, beside)


def _cited(line: int, item: Mapping[str, Any], custom: Sequence[CustomField]) -> Record:
    """Return the record of an item in CSL JSON."""
    id_ = text_of(item.get("id"))
    named = _KEY.fullmatch(id_)
    authors = _objects(item, "author") or _objects(item, "editor")
    record = {
        # Only Zotero's keys name one paper; the keys of other programs are local.
        **({"id": named[1]} if named else {"key": id_}),
        "title": item.get("title"),
        "abstract": item.get("abstract"),
        "authors": list(map(_csl_name, authors)),
        "year": _issued(item.get("issued")),
        "venue": _first(item, ("container-title", "collection-title", "event-title", "publisher")),
        "types": item.get("type"),
        "language": item.get("language"),
        "fields": [part for part in _SEPARATORS.split(text_of(item.get("keyword"))) if part.strip()],
        "ids": _identifiers(item, "note"),
        "url": item.get("URL"),
        **{name: item.get(name) for name in ("volume", "issue", "publisher")},
        "pages": item.get("page"),
        "article_number": item.get("number"),
        "issn": item.get("ISSN"),
    }
    found = assemble(line, plain_members(record, _WITH_MARKUP), {}, custom, {"key": id_, **item}, WORLDWIDE)
    return replace(found, id=id_) if isinstance(found, Rejected) and not named else found


def _objects(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = data.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _first(data: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((text for name in names if (text := text_of(data.get(name)))), "")


def _people(creators: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the authors; if there are none, those of the first other kind, such as editors or inventors."""
    kinds = [one.get("creatorType") for one in creators]
    kind = "author" if "author" in kinds else next(iter(kinds), "")
    chosen = [one for one in creators if one.get("creatorType") == kind]
    return [_name(one.get("lastName"), one.get("firstName"), one.get("name")) for one in chosen]


def _name(last: object, first: object, whole: object) -> str:
    return ", ".join(filter(None, (text_of(last), text_of(first)))) or text_of(whole)


def _csl_name(one: Mapping[str, Any]) -> str:
    """Return a name of CSL with its particles: `van den Berg, Ludwig`, `La Fontaine, Jean de`, `Toth, Eric, Jr.`."""
    particle, dropping = (text_of(one.get(f"{kind}dropping-particle")) for kind in ("non-", ""))
    family = " ".join(filter(None, (particle, text_of(one.get("family")))))
    given = " ".join(filter(None, (text_of(one.get("given")), dropping)))
    return ", ".join(filter(None, (family, given, text_of(one.get("suffix"))))) or text_of(one.get("literal"))


def _identifiers(data: Mapping[str, Any], lines: str) -> dict[str, str]:
    """Return identifiers by kind: fields of their own, and lines such as `PMID: 123` among other remarks."""
    remarks = data.get(lines)
    # The first line of a kind counts, so it is the last one here.
    found = {
        kind.lower(): value for kind, value in reversed(_EXTRA.findall(remarks if isinstance(remarks, str) else ""))
    }
    if (archive := text_of(data.get("archiveID"))).lower().startswith("arxiv:"):
        found["arxiv"] = archive
    return found | {name.lower(): text for name in _IDS if (text := text_of(data.get(name)))}


def _issued(date: object) -> object:
    """Return the year of a date of CSL, `{"date-parts": [[2020, 3]]}`, or its text."""
    if not isinstance(date, dict):
        return date
    parts = date.get("date-parts")
    while isinstance(parts, list) and parts:
        parts = parts[0]
    return parts or date.get("raw") or date.get("literal")
