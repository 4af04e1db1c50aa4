"""`GET /v1/tags`: taggers, and the tags of an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from search_plugin.contract.engine import Index
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.negotiation import etag_of, unless_kept
from ses.service.parameters import Parameters, ServiceOf, asks, parameters_of
from ses.service.schemas import listed

router = APIRouter(prefix="/v1", tags=["indexes"], dependencies=[Depends(needs("search"))])

_MOST_LABELS = 1_000


@dataclass(frozen=True, slots=True)
class TaggerEntry:
    """A tagger.

    Attributes:
        name: Its name, and that of the field that holds its tags.
        labels: Number of its labels.
        method: How it was made: from labelled papers (`labels`), or from the names of labels alone (`names`).
        model: Model whose vectors it reads.
        format: Format of these vectors.
        applied: Whether the index has its field.
    """

    name: str
    labels: int
    method: str
    model: str
    format: str
    applied: bool


@dataclass(frozen=True, slots=True)
class TagField:
    """A field of tags of the index.

    Attributes:
        name: Its name in filters and facets.
        labels: Its labels with their numbers of papers, the most frequent first; 1,000 at most.
        complete: Whether these are all labels that papers have.
    """

    name: str
    labels: list[tuple[str, int]]
    complete: bool


@router.get(
    "/tags",
    summary="Taggers, and the tags of an index",
    responses=listed("taggers", TaggerEntry, fields=TagField),
    openapi_extra=parameters_of(Parameters),
)
def tags(request: Request, service: ServiceOf, asked: Annotated[Parameters, asks(Parameters)]) -> Response:
    """List the taggers of the library, and the fields of an index that hold tags, with their labels."""
    index, taggers = service.opened(asked.index).index, service.library.tags
    names = [field.name for field in index.schema.fields if field.origin == "tag"]
    found = [taggers[name] for name in taggers]
    entries = [
        TaggerEntry(one.name, len(one.labels), one.method, one.source.model, one.source.format.value, one.name in names)
        for one in found
    ]

    def answer() -> Response:
        return json_response({"taggers": entries, "fields": [_field(index, name) for name in names]})

    return unless_kept(request, etag_of(request, f"{service.revision(asked.index)} {entries!r}"), answer)


def _field(index: Index, name: str) -> TagField:
    counted = list(index.value_counts(name, _MOST_LABELS + 1))
    labels = [(str(label), count) for label, count in counted[:_MOST_LABELS]]
    return TagField(name, labels, complete=len(counted) <= _MOST_LABELS)
