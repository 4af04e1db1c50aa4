"""A paper as a document of a cluster, and back: written in bulk, read by id."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import orjson

from corpora.custom import FieldKind, FieldValue
from corpora.errors import UnavailableError
from corpora.lazy import np
from corpora.paper import Paper, is_empty
from corpora.publication import publication_from
from search_plugin.contract.engine import Document, Refused
from search_plugin.contract.legs import title_key
from search_plugin.contract.schema import PUBLICATION, ForeignField, IndexSchema, VectorField
from search_plugin.engines.cluster.dialect import as_json
from search_plugin.engines.cluster.mapping import TITLE_ORDER
from search_plugin.engines.cluster.passages import as_stored, path_of, read_vectors

ATTRIBUTES = tuple(field.name for field in fields(Paper) if field.name not in ("extra", "publication"))
_MAX_ID_BYTES = 512
_TYPES: dict[FieldKind, type | tuple[type, ...]] = {"number": (int, float), "keywords": list, "boolean": bool}


class BulkRequest(NamedTuple):
    """Lines of a bulk request: two for each paper that is written or updated, one for each that is deleted."""

    ids: tuple[str, ...]
    lines: tuple[bytes, ...]


def document_id(id_: str) -> str:
    """Return the cluster's id for a paper id: the same id, or a hash if it is too long for the cluster."""
    encoded = id_.encode()
    return id_ if len(encoded) <= _MAX_ID_BYTES else hashlib.blake2b(encoded, digest_size=32).hexdigest()


def batches(
    documents: Iterable[Document], schema: IndexSchema, limit: int, refused: list[Refused]
) -> Iterator[BulkRequest]:
    """Yield documents in batches of at most `limit` bytes, in order.

    `refused` receives the documents that can't be sent to a cluster, such as those with half a surrogate pair. Raises
    `InputError` if a vector has another length than the index's.
    """
    ids: list[str] = []
    lines: list[bytes] = []
    size = 0
    for document in documents:
        try:
            action = orjson.dumps({"index": {"_id": document_id(document.paper.id)}})
            source = as_json(_source(document, schema))
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


def updates(values: Mapping[str, Mapping[str, FieldValue | None]]) -> BulkRequest:
    """Render new values of some fields of papers, by id; all other fields stay as they are."""
    lines: list[bytes] = []
    for id_, row in values.items():
        # A partial update can't remove a field, but null counts as missing.
        lines += (orjson.dumps({"update": {"_id": document_id(id_)}}), orjson.dumps({"doc": row}))
    return BulkRequest(tuple(values), tuple(lines))


def paper_of(source: Mapping[str, Any], schema: IndexSchema) -> Paper:
    """Return the paper that a document holds, or raise `UnavailableError` if ses did not write it."""
    added = [field.name for field in schema.added]
    held = values_of(source, schema, [*ATTRIBUTES, *added, *(field.name for field in schema.kept)])
    if "id" not in held:
        raise foreign("")
    try:
        publication = publication_from(held.pop(PUBLICATION.name, None) if schema.publications else None)
    except ValueError:
        raise foreign(str(held["id"])) from None
    extra = {name: held.pop(name) for name in added if name in held}
    own: dict[str, Any] = {"title": "", **held, "extra": extra, "publication": publication}
    return Paper(**own)


def values_of(source: Mapping[str, Any], schema: IndexSchema, names: Iterable[str]) -> dict[str, FieldValue]:
    """Return the values of some fields that a document holds, or raise `UnavailableError` if ses did not write it."""
    kinds = {field.name: field.kind for field in (*schema.fields, *schema.kept)}
    # Missing values are left out of the document; null means that a value was removed later.
    held = {name: source[name] for name in names if source.get(name) is not None}
    if not all(isinstance(value, _TYPES.get(kinds.get(name, "keyword"), str)) for name, value in held.items()):
        raise foreign(str(source.get("id", "")))
    # Lists are tuples in a paper.
    return {name: tuple(value) if isinstance(value, list) else value for name, value in held.items()}


def id_of(hit: Mapping[str, Any]) -> str:
    """Return the paper's id from a hit's columns, or raise `UnavailableError` if ses did not write the document."""
    try:
        return str(hit["fields"]["id"][0])
    except KeyError:
        raise foreign(str(hit.get("_id", ""))) from None


def source_id(hit: Mapping[str, Any]) -> str:
    """Return the paper's id from a hit's document, or raise `UnavailableError` if ses did not write it."""
    try:
        return str(hit["_source"]["id"])
    except KeyError:
        raise foreign(str(hit.get("_id", ""))) from None


def flat(columns: Mapping[str, Sequence[Any]], kinds: Mapping[str, FieldKind]) -> dict[str, Any]:
    """Return the columns of a hit, which are all lists, in the form of a document."""
    return {name: values if kinds[name] == "keywords" else values[0] for name, values in columns.items()}


def foreign(name: str) -> UnavailableError:
    """Return the error for a document that another program has written."""
    return UnavailableError(
        f"The index holds a document{f' {name[:100]}' if name else ''} that ses did not write, or not whole",
        "delete it, or index again with <fresh>",
    )


def _source(document: Document, schema: IndexSchema) -> dict[str, Any]:
    # Missing values are left out, so that `exists` means the same in every engine.
    held = ((name, getattr(document.paper, name)) for name in ATTRIBUTES)
    kept: dict[str, Any] = {name: value for name, value in held if not is_empty(value)}
    others = (*schema.added, *schema.kept)
    kept |= {field.name: value for field in others if (value := document.paper.value(field.name)) is not None}
    if key := title_key(document.paper.title):
        kept[TITLE_ORDER] = key
    for field in schema.written:
        kept[field.name] = as_stored(field, document.vectors[field.format])
    return {**kept, "content_hash": document.content_hash}


def papers_of(schema: IndexSchema) -> dict[str, list[str]]:
    """Return the options that make a search return whole papers."""
    return {"_source": [*ATTRIBUTES, *(field.name for field in (*schema.added, *schema.kept))]}


def among(ids: Sequence[str]) -> dict[str, Any]:
    """Return a search for papers by their ids; the caller adds what to return of them."""
    return {"query": {"terms": {"id": list(ids)}}, "size": len(ids), "sort": ["_doc"]}


MOST_NAMED = 1_000
"""Papers that some identifiers may name; a corpus in which more share one is in disorder."""


def having(ids: Sequence[str], identifiers: Sequence[str]) -> dict[str, Any]:
    """Return a search for papers with one of some ids or identifiers; the caller adds what to return of them."""
    either = [{"terms": {"id": list(ids)}}, {"terms": {"identifiers": list(identifiers)}}]
    return {"query": {"bool": {"should": either, "minimum_should_match": 1}}, "size": MOST_NAMED, "sort": ["_doc"]}


def read_papers(reply: Mapping[str, Any], schema: IndexSchema) -> dict[str, Paper]:
    """Return the papers of a reply by id."""
    return {paper.id: paper for paper in (paper_of(hit["_source"], schema) for hit in reply["hits"]["hits"])}


def document_bodies(
    ids: Sequence[str], schema: IndexSchema, fields: Sequence[VectorField]
) -> dict[str, dict[str, Any]]:
    """Return the searches for papers with their vectors in some fields.

    There are two: OpenSearch gives no vectors where the source is filtered, and Elasticsearch none in the source.
    """
    return {
        "papers": {**among(ids), "_source": [*papers_of(schema)["_source"], "content_hash"]},
        "vectors": {**among(ids), "_source": False, "fields": ["id", *map(path_of, fields)]},
    }


def read_documents(
    replies: Mapping[str, Any], schema: IndexSchema, fields: Sequence[VectorField]
) -> dict[str, Document]:
    """Return the papers of the replies to `document_bodies`, without those deleted between the two."""
    held = {id_of(hit): hit for hit in replies["vectors"]["hits"]["hits"]}
    sources = [hit["_source"] for hit in replies["papers"]["hits"]["hits"]]
    papers = ((paper_of(source, schema), source.get("content_hash", "")) for source in sources)
    return {
        paper.id: Document(paper, content_hash, vectors_of(held[paper.id], fields))
        for paper, content_hash in papers
        if paper.id in held
    }


def vectors_of(hit: Mapping[str, Any], fields: Sequence[VectorField]) -> dict[str, np.ndarray]:
    """Return a hit's float32 vectors by format, or raise `UnavailableError` if ses did not write the document.

    Vectors that are the owner's of an attached index may be missing.
    """
    found: dict[str, np.ndarray] = {}
    for field in fields:
        held = read_vectors(field, hit["fields"])
        if held is None and not isinstance(field, ForeignField):
            raise foreign(id_of(hit))
        if held is not None:
            found[field.format] = held
    return found
