"""References as programs and databases export them: RIS, PubMed's text, Web of Science's, Refer, and EndNote's XML.

RIS is the form of reference managers (Wikipedia: RIS (file format)); its tags have rispy's names here, and so do those
of the other forms. Records are cut out one by one, so that a broken record can't affect the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from corpora.accounting import accounted
from corpora.aliases import WORLDWIDE
from corpora.assembling import assemble
from corpora.cleaning import text_of, year_of
from corpora.custom import CustomField
from corpora.identifiers import identifiers_in
from corpora.installed import extra, needing
from corpora.markup import plain_members
from corpora.oai import parse_xml
from corpora.opening import PLAIN, Opening, open_binary
from corpora.paper import Record, Rejected
from corpora.sniffing import guess_kind, refuse_folder, refuse_other
from corpora.tagged import FORMS, read_tagged, ris_form, tag_names
from corpora.xml_records import Elements, read_records

_WITH_MARKUP = ("title", "abstract", "venue")
_KINDS = ("ris", *FORMS, "endnote")
_TITLES = ("primary_title", "title", "translated_title", "bt", "short_title")
_YEARS = ("year", "publication_year", "date", "yr")
_JOURNALS = ("secondary_title", "journal_name", "alternate_title3", "alternate_title2", "alternate_title1", "so")
_MAY_IDENTIFY = (
    *("type_of_work", "notes", "l3", "file_attachments1", "file_attachments2", "di", "urls", "lk", "accession_number"),
    *("id", "research_notes", "note", *(f"custom{number}" for number in range(1, 9))),
)
"""Where databases put a DOI, a PMID or a number of theirs, besides its own tag."""

_PUBLICATION = {
    "volume": ("volume",),
    "issue": ("number", "cp"),
    "first_page": ("start_page",),
    "last_page": ("end_page",),
    "article_number": ("article_number", "custom7"),
    "publisher": ("publisher",),
}
_COPYRIGHT = re.compile(r"(?:copyright\b|\(c\)|©|all rights reserved)", re.IGNORECASE)
_MEDLINE = re.compile(r"pubmed|medline|\bnlm\b", re.IGNORECASE)
_ENDNOTE = tag_names(
    "author=authors title=title secondary-title=secondary_title full-title=journal_name year=year abstract=abstract "
    "keyword=keywords electronic-resource-num=doi url=urls accession-num=accession_number language=language "
    "rec-number=id notes=notes remote-database-name=name_of_database remote-database-provider=database_provider "
    "isbn=issn pages=start_page custom2=custom2 work-type=type_of_work alt-title=alternate_title1"
)


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read references lazily; see `Reader`.

    A paper's id is its DOI, PMID or another identifier that names one paper only, else a hash of title, authors and
    year; the number or key of the file (`ID`) is its identifier `key:ID`. Custom fields have rispy's names of tags:
    `publisher`, `issn`, `volume`, `number`, `start_page`, `place_published`, `notes`, `label` and the like. Raises
    `UnavailableError` if rispy isn't installed.
    """
    with needing("Reading RIS needs rispy", extra("references")):
        import rispy

    refuse_folder(path, "an RIS file")
    with open_binary(path, opening.encoding) as stream:
        kind = guess_kind(stream.peek())
        refuse_other(path, stream.peek(), "RIS", _KINDS)
        form = FORMS.get(kind) or ris_form(rispy.TAG_KEY_MAPPING)
        if kind == "endnote":
            yield from _endnote(stream, rispy, custom)
            return
        for record in read_tagged(stream, form):
            if isinstance(record, Rejected):
                yield record
            else:
                yield accounted(record, lambda one: _reference(one.line, one.values(), kind, rispy, custom), record)


def _endnote(stream: BufferedReader, rispy: Any, custom: Sequence[CustomField]) -> Iterator[Record]:
    def reference(line: int, root: Element) -> Record:
        return _reference(line, _endnote_values(root), "endnote", rispy, custom)

    for record in read_records(stream, ("record",)):
        if isinstance(record, Rejected):
            yield record
            continue
        try:
            root = parse_xml(record.body)
        except ValueError as error:
            yield Rejected(record.line, f"The record can't be read: {error}.")
            continue
        yield accounted(root, partial(reference, record.line), Elements(root, ("style",)))


def _endnote_values(root: Element) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for parent in root.iter():
        for element in parent:
            if any(child.tag != "style" for child in element):
                continue
            name = str(element.tag)
            if parent.tag in ("secondary-authors", "tertiary-authors", "subsidiary-authors"):
                name = str(parent.tag).replace("-", "_")
            elif element.tag == "ref-type":
                values["types"] = [element.get("name", "")]
            if text := text_of("".join(element.itertext())):
                values.setdefault(_ENDNOTE.get(name, name.replace("-", "_")), []).append(text)
    return values


def _reference(
    line: int, found: Mapping[str, Sequence[str]], kind: str, rispy: Any, custom: Sequence[CustomField]
) -> Record:
    ris_type = _first(found, ("type_of_reference",))
    authors = found.get("full_authors") or [*found.get("first_authors", []), *found.get("authors", [])]
    numbers = _medline_number(found)
    entry: dict[str, object] = {
        "title": _first(found, _TITLES),
        "abstract": _abstract(found),
        "authors": [*(authors or found.get("secondary_authors", [])), *found.get("groups", [])],
        "year": next((text for name in _YEARS for text in found.get(name, ()) if year_of(text)), ""),
        "venue": _first(found, _JOURNALS),
        "types": found.get("types") or rispy.TYPE_OF_REFERENCE_MAPPING.get(ris_type, ris_type),
        "language": _first(found, ("language",)),
        "fields": _keywords(found.get("keywords", []), kind),
        "doi": _dois(found.get("doi", [])),
        "pmid": found.get("pmid") or numbers,
        "pmc": found.get("pmc", []),
        "wos": found.get("wos", []),
        "url": [part for text in found.get("urls", ()) for part in text.replace(";", " ").split()],
        "retracted": "Retracted" in found.get("notes", ()),
        **{name: _first(found, tags) for name, tags in _PUBLICATION.items()},
        "issn": [text for name in ("issn", "electronic_issn") for text in found.get(name, ())],
    }
    entry["identifiers"] = list(identifiers_in((text for name in _MAY_IDENTIFY for text in found.get(name, ())), entry))
    key = _first(found, ("id",))
    # PubMed's own text has PubMed's ids, as its XML has.
    named = {"id": _first(found, ("pmid",))} if kind == "nbib" else {"key": key}
    beside = {name: values[0] if len(values) == 1 else values for name, values in found.items()}
    paper = assemble(line, {**named, **plain_members(entry, _WITH_MARKUP)}, {}, custom, beside, WORLDWIDE)
    return replace(paper, id=key) if isinstance(paper, Rejected) else paper


def _first(found: Mapping[str, Sequence[str]], names: Sequence[str]) -> str:
    return next((text for name in names for value in found.get(name, ()) if (text := text_of(value))), "")


def _abstract(found: Mapping[str, Sequence[str]]) -> str:
    """Return the abstract of the tag that says more; its parts are paragraphs, but no notice of copyright is one."""
    texts = []
    for name in ("abstract", "notes_abstract"):
        parts = [text for value in found.get(name, ()) if (text := text_of(value)) and not _COPYRIGHT.match(text)]
        # Some databases give the beginning of an abstract beside the whole one.
        texts.append(
            " ".join(one for one in dict.fromkeys(parts) if not any(one != two and one in two for two in parts))
        )
    return max(texts, key=len)


def _keywords(values: Sequence[str], kind: str) -> list[str]:
    if kind == "nbib":  # "*Bees/physiology": whether it is a main subject, and its qualifiers
        return [text_of(value).lstrip("*").partition("/")[0] for value in values]
    one_line = kind == "wos" or len(values) == 1
    return [part for value in values for part in (value.split(";") if one_line else [value])]


def _dois(values: Sequence[str]) -> list[str]:
    """Return DOIs, of which PubMed's text says what they are: `10.5555/1 [doi]`, `S1 [pii]`."""
    marked = [value.rpartition(" [") for value in values]
    return [text if mark else rest for text, mark, rest in marked if not mark or rest == "doi]"]


def _medline_number(found: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the accession number where the database is PubMed, in one of its names."""
    database = (*found.get("name_of_database", ()), *found.get("database_provider", ()))
    numbers = found.get("accession_number", ())
    return [number for number in numbers if number.isdecimal()] if any(map(_MEDLINE.search, database)) else []
