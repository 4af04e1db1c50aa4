"""The documents of an index in OpenSearch or Elasticsearch that something other than ses may have written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from corpora.accounting import accounted
from corpora.aliases import check_columns
from corpora.assembling import assemble
from corpora.custom import CustomField
from corpora.errors import InputError, require
from corpora.opening import PLAIN, Opening
from corpora.paper import Record

ID = "_id"
"""Where a document has its id in the index."""


def read(
    path: Path, columns: Mapping[str, str], custom: Sequence[CustomField] = (), opening: Opening = PLAIN
) -> Iterator[Record]:
    """Read the documents of `opening` lazily; the path is not read; see `Reader`. A record's line is its number.

    Columns name fields with dots into objects (`journal.name`); others are found by their usual names. The id is the
    document's id unless another field is named.
    """
    check_columns(columns)
    if opening.documents is None:
        raise InputError(f"{path} can't be read here: index it first, and search it then.")
    require(not opening.encoding, "An index has no encoding", "leave <encoding> out")
    chosen = {"id": ID, **columns}
    sources = [*chosen.values(), *(field.source for field in custom)]
    for number, document in enumerate(opening.documents(), start=1):
        yield accounted(document, partial(_document, number, sources, chosen, custom))


def _document(
    number: int,
    sources: Sequence[str],
    columns: Mapping[str, str],
    custom: Sequence[CustomField],
    document: Mapping[str, Any],
) -> Record:
    record = {**document, **{source: value_at(document, source) for source in sources}}
    return assemble(number, record, columns, custom)


def value_at(document: object, field: str) -> Any:
    """Return the value of a field, or None, found as search engines do: by its whole name or its parts between dots.

    A list of objects gives the values of all of them (`authors.name`).
    """
    if isinstance(document, list):
        found = [value_at(item, field) for item in document]
        values = [value for item in found for value in (item if isinstance(item, list) else [item])]
        return [value for value in values if value is not None] or None
    if not isinstance(document, dict):
        return None
    if field in document:
        return document[field]
    for dot in (at for at, char in enumerate(field) if char == "."):
        if field[:dot] in document and (value := value_at(document[field[:dot]], field[dot + 1 :])) is not None:
            return value
    return None
