"""A paper as a document of a cluster, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import orjson

from corpora.errors import InputError, UnavailableError
from corpora.paper import Paper
from search_plugin.engines.base import Document, Refused
from search_plugin.schema import FIELDS, FieldKind, IndexSchema

PAPER_FIELDS = tuple(field.name for field in fields(Paper))
_MAX_ID_BYTES = 512
_TYPES: dict[FieldKind, type] = {"number": int, "keyword": str, "keywords": list, "flag": bool}


class BulkRequest(NamedTuple):
    """Lines of a bulk request.

    Attributes:
        ids: Of the papers, in order.
        lines: Two for each paper that is written or relabelled, one for each that is deleted.
    """

    ids: tuple[str, ...]
    lines: tuple[bytes, ...]


def document_id(id_: str) -> str:
    """Return the cluster's id for a paper's: itself, or a hash where the cluster would find it too long."""
    encoded = id_.encode()
    return id_ if len(encoded) <= _MAX_ID_BYTES else hashlib.blake2b(encoded, digest_size=32).hexdigest()


def batches(
    documents: Iterable[Document], schema: IndexSchema, limit: int, refused: list[Refused]
) -> Iterator[BulkRequest]:
    """Render documents, some at a time.

    Args:
        documents: To write.
        schema: Of the index.
        limit: Bytes after which a batch is full.
        refused: Takes the documents that can't be told to a cluster, such as those with half a character.

    Yields:
        Batches in order.

    Raises:
        InputError: If a vector has another length than the index's.
    """
    ids: list[str] = []
    lines: list[bytes] = []
    size = 0
    for document in documents:
        try:
            action = orjson.dumps({"index": {"_id": document_id(document.paper.id)}})
            source = orjson.dumps(_source(document, schema), option=orjson.OPT_SERIALIZE_NUMPY)
        except (orjson.JSONEncodeError, UnicodeEncodeError) as error:
            refused.append(Refused(document.paper.id, f"It can't be written as JSON: {error}."))
            continue
        ids.append(document.paper.id)
        lines += (action, source)
        size += len(source)
        if size >= limit:
            yield BulkRequest(tuple(ids), tuple(lines))
            ids, lines, size = [], [], 0
    if ids:
        yield BulkRequest(tuple(ids), tuple(lines))


def deletions(ids: Sequence[str]) -> BulkRequest:
    """Render the deletion of papers."""
    return BulkRequest(tuple(ids), tuple(orjson.dumps({"delete": {"_id": document_id(id_)}}) for id_ in ids))


def relabelings(origins: Mapping[str, Sequence[str]]) -> BulkRequest:
    """Render new origins of papers, by id, beside which nothing of them changes."""
    lines: list[bytes] = []
    for id_, names in origins.items():
        lines += (orjson.dumps({"update": {"_id": document_id(id_)}}), orjson.dumps({"doc": {"origins": list(names)}}))
    return BulkRequest(tuple(origins), tuple(lines))


def paper_of(source: Mapping[str, Any]) -> Paper:
    """Return the paper that a document holds, or raise `UnavailableError` if ses did not write it."""
    # What was missing was left out of the document.
    held = {name: source[name] for name in PAPER_FIELDS if name in source}
    kinds: dict[str, type] = {name: _TYPES[FIELDS.get(name, "keyword")] for name in held}
    if "id" not in held or not all(isinstance(held[name], kind) for name, kind in kinds.items()):
        raise foreign(str(held.get("id", "")))
    # Lists are tuples in a paper.
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in held.items()}
    return Paper(**{"title": "", **values})


def id_of(hit: Mapping[str, Any]) -> str:
    """Return the paper's id from a hit's columns, or raise `UnavailableError` if ses did not write the document."""
    try:
        return str(hit["fields"]["id"][0])
    except KeyError:
        raise foreign(str(hit.get("_id", ""))) from None


def foreign(name: str) -> UnavailableError:
    """Return the error for a document that another program has written."""
    return UnavailableError(
        f"The index holds a document{f' {name[:100]}' if name else ''} that ses did not write, or not whole",
        "delete it, or index again with <fresh>",
    )


def _source(document: Document, schema: IndexSchema) -> dict[str, Any]:
    import numpy as np

    # Left out where missing, so that `exists` means the same in every engine.
    held = ((name, getattr(document.paper, name)) for name in PAPER_FIELDS)
    kept: dict[str, Any] = {name: value for name, value in held if value not in ("", (), None) and value is not False}
    for field in schema.vectors:
        vector = np.ascontiguousarray(document.vectors[field.name], dtype=np.float32)
        if vector.shape != (field.dimension,):
            raise InputError(
                f"The model gives vectors of {vector.size} numbers and the index holds {field.dimension}",
                "index again with <fresh>",
            )
        kept[field.name] = vector
    return {**kept, "content_hash": document.content_hash}
