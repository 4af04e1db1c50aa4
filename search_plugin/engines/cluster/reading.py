"""Read papers and vectors of an index in a cluster, by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from search_plugin.contract.engine import Document
from search_plugin.engines.cluster.documents import ATTRIBUTES, foreign, id_of, paper_of
from search_plugin.engines.cluster.passages import path_of, read_vectors

if TYPE_CHECKING:
    import numpy as np

    from corpora.paper import Paper
    from search_plugin.contract.schema import IndexSchema, VectorField


def papers_of(schema: IndexSchema) -> dict[str, list[str]]:
    """Return the options that make a search return whole papers."""
    return {"_source": [*ATTRIBUTES, *(field.name for field in schema.added)]}


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
    """Return a hit's float32 vectors by format, or raise `UnavailableError` if ses did not write the document."""
    found: dict[str, np.ndarray] = {}
    for field in fields:
        held = read_vectors(field, hit["fields"])
        if held is None:
            raise foreign(id_of(hit))
        found[field.format] = held
    return found
