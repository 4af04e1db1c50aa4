"""A paper as a document of a cluster, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, NamedTuple

import orjson

from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.engines.base import Document
from search_plugin.schema import IndexSchema

PAPER_FIELDS = tuple(field.name for field in fields(Paper))
_MAX_ID_BYTES = 512


class Batch(NamedTuple):
    """Lines of a bulk request.

    Attributes:
        ids: Of the papers, in order.
        lines: Two for each paper that is written, one for each that is deleted.
    """

    ids: tuple[str, ...]
    lines: tuple[bytes, ...]


def document_id(id_: str) -> str:
    """Return the cluster's id for a paper's: itself, or a hash where the cluster would find it too long."""
    encoded = id_.encode()
    return id_ if len(encoded) <= _MAX_ID_BYTES else hashlib.blake2b(encoded, digest_size=32).hexdigest()


def batches(documents: Iterable[Document], schema: IndexSchema, limit: int) -> Iterator[Batch]:
    """Render documents, some at a time.

    Args:
        documents: To write.
        schema: Of the index.
        limit: Bytes after which a batch is full.

    Yields:
        Batches in order.

    Raises:
        InputError: If a vector has another length than the index's.
    """
    ids: list[str] = []
    lines: list[bytes] = []
    size = 0
    for document in documents:
        action = orjson.dumps({"index": {"_id": document_id(document.paper.id)}})
        source = orjson.dumps(_source(document, schema), option=orjson.OPT_SERIALIZE_NUMPY)
        ids.append(document.paper.id)
        lines += (action, source)
        size += len(source)
        if size >= limit:
            yield Batch(tuple(ids), tuple(lines))
            ids, lines, size = [], [], 0
    if ids:
        yield Batch(tuple(ids), tuple(lines))


def deletions(ids: Sequence[str]) -> Batch:
    """Render the deletion of papers."""
    return Batch(tuple(ids), tuple(orjson.dumps({"delete": {"_id": document_id(id_)}}) for id_ in ids))


def paper_of(source: Mapping[str, Any]) -> Paper:
    """Return the paper that a document holds."""
    # Lists are tuples in a paper; what was missing was left out of the document.
    held = {name: source[name] for name in PAPER_FIELDS if name in source}
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in held.items()}
    return Paper(**values)


def _source(document: Document, schema: IndexSchema) -> dict[str, Any]:
    import numpy as np

    # Left out where missing, so that `exists` means the same in every engine.
    kept = {name: value for name, value in asdict(document.paper).items() if value not in ("", (), None)}
    for field in schema.vectors:
        vector = np.ascontiguousarray(document.vectors[field.name], dtype=np.float32)
        if vector.shape != (field.dimension,):
            raise InputError(
                f"The model gives vectors of {vector.size} numbers and the index holds {field.dimension}: "
                "index again with --fresh."
            )
        kept[field.name] = vector
    return {**kept, "content_hash": document.content_hash}
