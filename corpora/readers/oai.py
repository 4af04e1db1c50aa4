"""Answers of servers that speak OAI-PMH: those of a harvest, or saved ones, in Dublin Core or MARCXML.

A record that came several times is read several times, in the order of the answers: the index keeps the last.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from corpora.accounting import accounted
from corpora.assembling import assemble
from corpora.custom import CustomField
from corpora.documents import read_within
from corpora.dublin_core import ELEMENTS, elements_of, members_of
from corpora.errors import InputError, require
from corpora.fetching import LARGEST_REPLY
from corpora.oai import OaiRecord, name_of, page_of, parse_mended
from corpora.opening import COMPRESSED_SUFFIXES, PLAIN, Opening, open_binary
from corpora.paper import Deleted, Record, Rejected
from corpora.readers.marc import members_of as marc_members
from corpora.readers.marc import values_of
from corpora.reading import read_each
from corpora.sniffing import refuse_other
from corpora.xml_records import Elements


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read an answer, or a folder of them in the order of their names, lazily; see `Reader`.

    A paper's id is the record's identifier on the server. A rejected record's line is its number in the answer. Custom
    fields are the elements of Dublin Core, `datestamp` and `sets`, or for MARC those of `corpora.readers.marc`.
    """
    files = [path]
    if path.is_dir():
        files = sorted(file for suffix in COMPRESSED_SUFFIXES for file in path.glob(f"*.xml{suffix}"))
        require(files, f"{path} holds no .xml or .xml.gz file, as a harvest does: name another folder.")
    yield from read_each(path, files, lambda file: _read_file(file, custom, opening.encoding))


def _read_file(path: Path, custom: Sequence[CustomField], encoding: str) -> Iterator[Record]:
    with open_binary(path, encoding) as stream:
        refuse_other(path, stream.peek(), "answers of OAI-PMH", ("oai", "xml"))
        try:
            root, _ = parse_mended(read_within(stream, LARGEST_REPLY))
            page = page_of(root)
        except ValueError as error:
            raise InputError(f"{path} should be an answer of OAI-PMH, but {error}", "harvest it again") from None
    for record in page.records:
        yield _read_record(record, custom)


def _read_record(record: OaiRecord, custom: Sequence[CustomField]) -> Record:
    id_ = record.identifier
    if record.deleted:
        return Deleted(record.number, id_) if id_ else Rejected(record.number, "The record has no id.")
    if record.metadata is None:
        return Rejected(record.number, "The record has no metadata that can be read.", id_)
    if name_of(record.metadata) == "record":
        from corpora.readers.marc import Subfields, records_of_xml

        marc = records_of_xml(io.BytesIO(ET.tostring(record.metadata)))[0]
        return accounted(marc, partial(_marc, record, custom), Subfields(marc))
    return accounted(record.metadata, partial(_dublin_core, record, custom), Elements(record.metadata))


def _marc(record: OaiRecord, custom: Sequence[CustomField], marc: Any) -> Record:
    return _assembled(record, custom, marc_members(marc), values_of(marc, custom))


def _dublin_core(record: OaiRecord, custom: Sequence[CustomField], metadata: Element) -> Record:
    found = elements_of(metadata)
    return _assembled(record, custom, members_of(found), {name: found.get(name) for name in ELEMENTS})


def _assembled(
    record: OaiRecord, custom: Sequence[CustomField], members: Mapping[str, object], beside: Mapping[str, object]
) -> Record:
    header = {"datestamp": record.stamp, "sets": list(record.sets)}
    return assemble(record.number, {**members, "id": record.identifier}, {}, custom, {**header, **beside})
