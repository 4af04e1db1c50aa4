"""Help for readers: `/help`, made from the fields and the papers of the index, and `/tags`, its tags with counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from gettext import NullTranslations
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from corpora.custom import FieldKind
from corpora.paper import Paper
from search_plugin.contract.schema import Field, IndexSchema
from ses.indexes.open_index import OpenIndex
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.parameters import ServiceOf
from ses.service.service import Service
from ses.service.web.address import PageOfIndex
from ses.service.web.render import html, texts_of
from ses.service.web.value_names import value_text

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])

OPERATORS: Mapping[FieldKind, tuple[str, ...]] = {
    "text": ("says",),
    "keyword": ("=", "!=", "==", "in", "exists"),
    "keywords": ("=", "!=", "==", "in", "exists"),
    "number": ("=", "!=", "<", "<=", ">", ">=", "in", "exists"),
    "date": ("=", "!=", "<", "<=", ">", ">=", "in", "exists"),
    "boolean": ("=", "!=", "exists"),
}
"""What a filter can say of a field of each kind."""

_VALUES = 3
_LABELS = 100
_SHORTEST = 4
"""Letters of a word that is an example."""


@dataclass(frozen=True, slots=True)
class FieldHelp:
    """A field of the index.

    Attributes:
        name: Its name.
        aliases: Its other names.
        kind: The kind of its values.
        origin: Source of its values.
        operators: What a filter can say of it.
        values: Some of its values, the most frequent first.
        example: A filter that some papers match; empty if no paper has a value.
    """

    name: str
    aliases: tuple[str, ...]
    kind: str
    origin: str
    operators: tuple[str, ...]
    values: tuple[str, ...]
    example: str


@dataclass(frozen=True, slots=True)
class QueryHelp:
    """A query to try, and what it finds."""

    query: str
    meaning: str


@dataclass(frozen=True, slots=True)
class TagHelp:
    """A field of tags: its labels with their counts, the most frequent first, and whether there are more."""

    name: str
    tagger: bool
    labels: Sequence[tuple[str, int]]
    more: bool


def fields_of(opened: OpenIndex) -> list[FieldHelp]:
    """Return what readers can filter by in an index, with values that its papers have."""
    return [_field(opened, field) for field in opened.index.schema.fields]


def _field(opened: OpenIndex, field: Field) -> FieldHelp:
    from search_plugin.contract.schema import ALIASES

    aliases = tuple(alias for alias, meant in ALIASES.items() if meant == field.name)
    values: tuple[str, ...] = ()
    if field.name == "id":  # all are different, so they are not counted
        values = tuple(one for one, _ in zip(opened.index.ids(), range(1), strict=False))
    elif field.facet:
        values = tuple(value_text(value) for value, _ in opened.index.value_counts(field.name, _VALUES))
    example = _filter(field, values[0]) if values else ""
    return FieldHelp(field.name, aliases, field.kind, field.origin, OPERATORS[field.kind], values, example)


def _filter(field: Field, value: str) -> str:
    from search_plugin.filters.parse import quoted

    if field.kind in ("number", "date"):
        return f"{field.name} >= {value}"
    return f"{field.name} = {value}" if field.kind == "boolean" else f"{field.name} = {quoted(value)}"


def queries_of(opened: OpenIndex, texts: NullTranslations) -> list[QueryHelp]:
    """Return queries to try, made of the words and values of a paper of the index; none if the index is empty."""
    page = opened.search(size=20)
    best = max((hit.paper for hit in page), key=lambda paper: len(_words(paper, opened.index.schema)), default=None)
    return _queries(best, opened.index.schema, texts) if best else []


def _words(paper: Paper, schema: IndexSchema) -> list[str]:
    from search_plugin.words.languages import get_language

    stop = get_language(schema.language).stop_words
    words = [word.strip(".,:;()[]?!\"'").lower() for word in paper.title.split()]
    return list(dict.fromkeys(one for one in words if len(one) >= _SHORTEST and one.isalpha() and one not in stop))


def _queries(paper: Paper, schema: IndexSchema, texts: NullTranslations) -> list[QueryHelp]:
    _ = texts.gettext
    found: list[QueryHelp] = []
    words = _words(paper, schema)
    if len(words) > 1:
        first, second = words[:2]
        found += [
            QueryHelp(f"{first} {second}", _("Papers about these words: words and meaning rank them.")),
            QueryHelp(f"{first} AND {second}", _("Only papers that say both words.")),
            QueryHelp(f"{first} OR {second}", _("Only papers that say at least one of them.")),
            QueryHelp(f"{first} -{second}", _("No paper that says the second word.")),
            QueryHelp(f"title:{first}", _("Only papers with this word in the title.")),
        ]
    title = paper.title.replace('"', "").rstrip(".")
    found.append(QueryHelp(f'"{title}"', _("Only papers that say these words side by side.")))
    if paper.authors and '"' not in paper.authors[0]:
        found.append(
            QueryHelp(f'author:"{paper.authors[0]}"', _("The papers of this author, in any form of the name."))
        )
    if paper.year:
        meaning = _("Only papers of these years.")
        found.append(QueryHelp(f"year:{paper.year - 2}..{paper.year}", meaning))
    if paper.venue and '"' not in paper.venue:
        found.append(QueryHelp(f'journal:"{paper.venue}"', _("Only papers of this journal or conference.")))
    name = next((one for one in paper.identifiers if one.startswith("doi:")), paper.id).removeprefix("doi:")
    found.append(QueryHelp(name, _("The paper with this identifier: a DOI, PMID, PMCID, arXiv id or id.")))
    return found


def tags_of(service: Service, opened: OpenIndex) -> list[TagHelp]:
    """Return the fields of tags and subjects of an index, with their labels."""
    taggers = set(service.library.tags)
    found = []
    for field in opened.index.schema.fields:
        if field.origin == "tag" or field.name == "fields":
            counted = [(str(value), count) for value, count in opened.index.value_counts(field.name, _LABELS + 1)]
            if counted:
                found.append(TagHelp(field.name, field.name in taggers, counted[:_LABELS], len(counted) > _LABELS))
    return found


@router.get("/help")
def show_help(request: Request, service: ServiceOf, asked: Annotated[PageOfIndex, Query()]) -> Response:
    """Explain how to search this index, with examples from it."""
    opened = service.opened(asked.index)
    queries = queries_of(opened, texts_of(request))
    return html(request, "help.html", fields=fields_of(opened), queries=queries, index=opened.name)


@router.get("/help.json")
def help_values(request: Request, service: ServiceOf, asked: Annotated[PageOfIndex, Query()]) -> Response:
    """Return the fields and examples as values."""
    opened = service.opened(asked.index)
    fields, queries = fields_of(opened), queries_of(opened, texts_of(request))
    return json_response(
        {"index": opened.name, "fields": list(map(asdict, fields)), "queries": list(map(asdict, queries))}
    )


@router.get("/tags")
def show_tags(request: Request, service: ServiceOf, asked: Annotated[PageOfIndex, Query()]) -> Response:
    """Show the tags of an index, each with a search for its papers."""
    opened = service.opened(asked.index)
    tags = tags_of(service, opened)
    return html(request, "tags.html", tags=tags, index=opened.name)


@router.get("/tags.json")
def tags_values(service: ServiceOf, asked: Annotated[PageOfIndex, Query()]) -> Response:
    """Return the tags of an index as values."""
    opened = service.opened(asked.index)
    return json_response({"index": opened.name, "fields": [asdict(one) for one in tags_of(service, opened)]})
