"""`GET /v1/indexes`: what can be searched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Request, Response

from search_plugin.contract.schema import Bm25, Field, ForeignField, OwnField, Quantization, VectorField
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.negotiation import etag_of, unless_kept
from ses.service.parameters import NoParameters, ServiceOf, asks
from ses.service.schemas import listed

if TYPE_CHECKING:
    from ses.indexes.index_facts import IndexFacts

router = APIRouter(prefix="/v1", tags=["indexes"], dependencies=[Depends(needs("search"))])


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What clients may know of an index: nothing about the machine on which it is.

    Attributes:
        name: Name of the index.
        default: Whether it is searched where none is named.
        generation: Number of the version.
        published: When that version was published; null if it is not known.
        papers: Number of papers.
        vectors: Number of papers that have a vector, by format, or by field of an attached index's owner.
        origins: Number of papers by corpus.
        model: Name of the model that encodes queries.
        language: Language by which words are analysed.
        fields: Fields of the papers, for filters, facets and `fields`.
        fingerprint: Fingerprint of the model.
        vector_fields: How vectors are kept, by format.
        foreign_fields: Vectors of an attached index that are its owner's, each with its model.
        quantization: How the engine keeps all vectors in memory.
        bm25: The constants by which words are scored.
        disk_bytes: Size of all copies.
        publications: Whether the index keeps volume, issue, pages, publisher and ISSN of its papers.
    """

    name: str
    default: bool
    generation: int
    published: datetime | None
    papers: int
    vectors: dict[str, int]
    origins: dict[str, int]
    model: str
    language: str
    fields: tuple[Field, ...]
    fingerprint: str
    vector_fields: tuple[VectorField, ...]
    foreign_fields: tuple[ForeignField, ...]
    quantization: Quantization
    bm25: Bm25
    disk_bytes: int
    publications: bool


def entry_of(facts: IndexFacts) -> IndexEntry:
    """Return what clients may know of an index; a model in a folder is shown by the folder's name."""
    schema = facts.schema
    return IndexEntry(
        name=facts.name,
        default=facts.default,
        generation=facts.generation,
        published=facts.published,
        papers=facts.papers,
        vectors=dict(facts.vectors),
        origins=dict(facts.origins),
        model=_shown(schema.model),
        language=schema.language,
        fields=schema.fields,
        fingerprint=schema.fingerprint,
        vector_fields=tuple(
            replace(one, model=_shown(one.model)) if isinstance(one, OwnField) else one for one in schema.dense
        ),
        foreign_fields=tuple(replace(one, model=_shown(one.model)) for one in schema.foreign),
        quantization=schema.quantization,
        bm25=schema.bm25,
        disk_bytes=facts.disk_bytes,
        publications=schema.publications,
    )


def _shown(model: str) -> str:
    return PurePath(model).name if PurePath(model).is_absolute() else model


@router.get("/indexes", summary="The indexes, and what they hold", responses=listed("indexes", IndexEntry))
def indexes(request: Request, service: ServiceOf, _: Annotated[NoParameters, asks(NoParameters)]) -> Response:
    """List the indexes, the most recently published first: papers, model, language, fields."""
    library = service.library
    names = library.indexes()
    revision = " ".join(f"{name} {service.revision(name)}" for name in names)
    return unless_kept(
        request,
        etag_of(request, revision),
        lambda: json_response({"indexes": [entry_of(library.describe(name)) for name in names]}),
    )
