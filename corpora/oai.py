"""Answers of a server that speaks OAI-PMH 2.0 (openarchives.org/OAI/openarchivesprotocol.html), read strictly.

Names are compared without namespaces, which some servers get wrong. A document type, and so an entity, is refused. Many
servers send characters that XML forbids, such as form feeds from PDFs: these are taken out, and the answer counts as
mended; so are entities of HTML, and records that can't be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from html.entities import html5
from typing import Any
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

DEEPEST = 200
"""Elements in one another."""

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_REFERENCE = re.compile(r"&#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,10}));")
_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d+|#[xX][0-9a-fA-F]+);)([A-Za-z][A-Za-z0-9]{0,31};)?")
_RECORD = re.compile(r"(?=<(?:[\w.-]+:)?record\b[^<>]*>\s*<(?:[\w.-]+:)?header\b)")
_HEADER = re.compile(r"<(?:[\w.-]+:)?(identifier|datestamp)\s*>([^<>&]*)</")
_LIST_END = re.compile(r"<(?:[\w.-]+:)?resumptionToken\b|</(?:[\w.-]+:)?(?:ListRecords|GetRecord)\s*>")
_DECLARATION = re.compile(r"^\ufeff?\s*<\?xml[^>]*\?>")


@dataclass(frozen=True, slots=True)
class OaiRecord:
    """A record of an answer.

    Attributes:
        number: Its place in the answer, from 1.
        identifier: Its name on the server.
        stamp: When it was last changed there, as the server writes it.
        sets: The sets it belongs to.
        deleted: Whether the server says that it is deleted.
        metadata: The element within `metadata`; None without one.
    """

    number: int
    identifier: str
    stamp: str
    sets: tuple[str, ...]
    deleted: bool
    metadata: Element | None


@dataclass(frozen=True, slots=True)
class OaiPage:
    """An answer to ListRecords.

    Attributes:
        stamp: The server's time.
        records: Its records.
        token: With which the next answer is asked for; empty at the end of the list.
        announced: Number of records of the whole list, if the server says it.
        error: Code and message of an error in place of records; both empty if there is none.
    """

    stamp: str
    records: tuple[OaiRecord, ...]
    token: str
    announced: int | None
    error: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server says about itself.

    Attributes:
        granularity: `days` or `seconds`: how exact its date stamps are.
        deletions: `persistent`, `transient` or `no`: whether it tells what was deleted: always, for a while, or never.
    """

    granularity: str
    deletions: str


class _Builder(ET.TreeBuilder):
    """Builds a tree of limited depth, of a document without a document type."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: Any, attrs: Any) -> Element:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError("its elements are nested too deep")
        return super().start(tag, attrs)

    def end(self, tag: Any) -> Element:
        self._depth -= 1
        return super().end(tag)

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:  # noqa: ARG002 - expat gives them
        raise ValueError("it has a document type")


def parse_xml(body: bytes) -> Element:
    """Return the outermost element of a document, or raise `ValueError` with the reason."""
    try:
        return ET.fromstring(body, ET.XMLParser(target=_Builder()))  # noqa: S314 - without document type or depth
    except ET.ParseError as error:
        raise ValueError(f"it isn't XML ({error})") from None
    except LookupError:
        raise ValueError("it names an unknown encoding") from None


def parse_mended(body: bytes, *, without_broken: bool = True) -> tuple[Element, bool]:
    """Return the outermost element, and whether something had to be mended for it.

    Forbidden characters and wrong bytes are taken out; entities that XML does not know, and a bare `&`, are characters.
    A record that can't be read even so is there without its metadata, if `without_broken`. Raises `ValueError` if the
    rest can't be read; the reason is that of the document as it is.
    """
    try:
        return parse_xml(body), False
    except ValueError as error:
        text = _DECLARATION.sub("", body.decode("utf-8", "replace"), count=1)
        mended = _AMPERSAND.sub(_entity, _FORBIDDEN.sub("", _REFERENCE.sub(_allowed, text)))
        for form in (mended, _without_broken(mended) if without_broken else mended):
            if (content := form.encode()) != body:
                with suppress(ValueError):
                    return parse_xml(content), True
        raise error from None


def _entity(found: re.Match[str]) -> str:
    """Return an entity of HTML as its characters, and any other `&` as one."""
    return escape(html5[found[1]]) if found[1] in html5 else f"&amp;{found[1] or ''}"


def _without_broken(text: str) -> str:
    """Return an answer in which records that can't be read have headers alone."""
    head, *records = _RECORD.split(text)
    if not records:
        return text
    end = _LIST_END.search(records[-1])
    tail = records[-1][end.start() :] if end else ""
    records[-1] = records[-1].removesuffix(tail)
    return "".join([head, *(one if _is_whole(head, one, tail) else _header_of(one) for one in records), tail])


def _is_whole(head: str, record: str, tail: str) -> bool:
    with suppress(ValueError):
        parse_xml(f"{head}{record}{tail}".encode())
        return True
    return False


def _header_of(record: str) -> str:
    mended = ET.Element("record")
    header = ET.SubElement(mended, "header")
    for name, text in _HEADER.findall(record):
        ET.SubElement(header, name).text = text
    return ET.tostring(mended, encoding="unicode")


def _allowed(reference: re.Match[str]) -> str:
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    legal = code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000
    return reference[0] if legal else ""


def name_of(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def children(element: Element | None, name: str) -> Iterator[Element]:
    """Yield the elements of a name directly within another one."""
    return (child for child in (() if element is None else element) if name_of(child) == name)


def text_at(element: Element | None, name: str) -> str:
    """Return the text of the first element of a name within another one, without the blanks around it."""
    return next(((child.text or "").strip() for child in children(element, name)), "")


def page_of(root: Element) -> OaiPage:
    """Return an answer to ListRecords, or raise `ValueError` if it is none."""
    if name_of(root) != "OAI-PMH":
        raise ValueError("it isn't an answer of OAI-PMH")
    error = next(children(root, "error"), None)
    failed = ("", "") if error is None else (error.get("code", "unknown"), " ".join((error.text or "").split())[:300])
    # A file may hold one record, as GetRecord sends it.
    listed = next((child for name in ("ListRecords", "GetRecord") for child in children(root, name)), None)
    if error is None and listed is None:
        raise ValueError("it has neither records nor an error")
    token = next(children(listed, "resumptionToken"), None)
    size = "" if token is None else token.get("completeListSize", "")
    return OaiPage(
        text_at(root, "responseDate"),
        tuple(_record(number, record) for number, record in enumerate(children(listed, "record"), start=1)),
        "" if token is None else (token.text or "").strip(),
        int(size) if size.isdecimal() and len(size) < 12 else None,
        failed,
    )


def _record(number: int, record: Element) -> OaiRecord:
    header = next(children(record, "header"), None)
    metadata = next(children(record, "metadata"), None)
    return OaiRecord(
        number,
        text_at(header, "identifier"),
        text_at(header, "datestamp"),
        tuple((child.text or "").strip() for child in children(header, "setSpec")),
        header is not None and header.get("status", "").strip().lower() == "deleted",
        next(iter(metadata), None) if metadata is not None else None,
    )


def identity_of(root: Element) -> Identity:
    """Return what an answer to Identify says, or raise `ValueError` if it is none."""
    found = next(children(root, "Identify"), None)
    if name_of(root) != "OAI-PMH" or found is None:
        raise ValueError("it isn't an answer of OAI-PMH")
    deletions = text_at(found, "deletedRecord").lower()
    return Identity(
        "seconds" if "hh" in text_at(found, "granularity").lower() else "days",
        deletions if deletions in ("persistent", "transient") else "no",
    )


def formats_of(root: Element) -> dict[str, str]:
    """Return the namespaces of an answer to ListMetadataFormats by prefix."""
    listed = next(children(root, "ListMetadataFormats"), None)
    return {
        text_at(form, "metadataPrefix"): text_at(form, "metadataNamespace")
        for form in children(listed, "metadataFormat")
    }
