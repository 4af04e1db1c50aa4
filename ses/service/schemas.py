"""The schemas of answers, made from the dataclasses of the library and their docstrings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields as attributes_of
from inspect import cleandoc
from typing import Annotated, Any, get_type_hints

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, create_model

from corpora.custom import FieldValue
from corpora.paper import Paper
from search_plugin.contract.legs import Contribution, Facets
from search_plugin.pages.highlights import Snippet
from search_plugin.pages.hit import Hit, NearSentence
from search_plugin.pages.page import Page
from ses.service.negotiation import ANSWER_FORMATS, JSON

_ATTRIBUTES = re.compile(r"^Attributes:\n(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |\Z)", re.MULTILINE | re.DOTALL)

_PAPER_EXAMPLE: Mapping[str, Any] = {
    "id": "32015507",
    "title": "A pneumonia outbreak associated with a new coronavirus of probable bat origin",
    "year": 2020,
    "venue": "Nature",
    "identifiers": ["doi:10.1038/s41586-020-2012-7"],
}

PAPER_ID = Path(
    description="Id of the paper in the index, or its DOI, PMID, PMCID or arXiv id in any form people type; slashes "
    "can be written as they are. Escape an id twice if it has `%` or `//` in it, or `.` or `..` between slashes: "
    "proxies change these.",
    examples=["10.1038/s41586-020-2012-7"],
)


def described_attributes(kind: type) -> dict[str, str]:
    """Return what the docstring of a dataclass says of its attributes, by name."""
    block = _ATTRIBUTES.search(cleandoc(kind.__doc__ or ""))
    return {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(block[1])} if block else {}


def schema_of(
    kind: type, *, required: tuple[str, ...] = (), example: Mapping[str, Any] | None = None, **other: Any
) -> type[BaseModel]:
    """Return a model with the schema of a dataclass, for the description of the API alone.

    The dataclass's docstring describes the attributes. `required` are those that every answer has; all if none is
    named. `other` are types of attributes that differ from the dataclass, or that it has not.
    """
    described = described_attributes(kind)
    types = get_type_hints(kind, localns={"FieldValue": FieldValue}) | other
    names = [*(one.name for one in attributes_of(kind)), *(name for name in other if name not in described)]
    shown: dict[str, Any] = {
        name: (types[name], Field(... if not required or name in required else None, description=described.get(name)))
        for name in names
    }
    summary = cleandoc(kind.__doc__ or "").partition("\n")[0]
    extra: dict[str, Any] = {"examples": [dict(example)]} if example else {}
    return create_model(
        kind.__name__,
        __config__=ConfigDict(extra="forbid", json_schema_extra=lambda schema: _clean(schema, summary, extra)),
        **shown,
    )


def _clean(schema: dict[str, Any], summary: str, extra: Mapping[str, Any]) -> None:
    schema.update(extra, description=summary)
    for one in schema["properties"].values():
        one.pop("title", None)
        if one.get("default", 0) is None:
            del one["default"]


PaperSchema = schema_of(Paper, required=("id",), example=_PAPER_EXAMPLE)
HitSchema = schema_of(
    Hit,
    required=("rank", "paper"),
    paper=PaperSchema,
    legs=Mapping[str, schema_of(Contribution)],  # type: ignore[misc]  # a model made here
    snippets=tuple[schema_of(Snippet), ...],  # type: ignore[misc]
    sentence=schema_of(NearSentence) | None,
    link=Annotated[str, Field(description="Where to read the paper; empty where the index does not say.")],
    doi=Annotated[str, Field(description="The paper's DOI; empty where it has none.")],
)
PageSchema = schema_of(
    Page,
    required=tuple(one.name for one in attributes_of(Page) if one.name not in ("milliseconds", "requests")),
    hits=tuple[HitSchema, ...],  # type: ignore[valid-type]
    facets=schema_of(Facets) | None,
    next_cursor=Annotated[str, Field(description="Where the next page begins; only with `cursor`, but on the last.")],
)


class PaperAnswer(BaseModel):
    """A paper, and where to read it."""

    model_config = ConfigDict(extra="forbid")

    paper: PaperSchema  # type: ignore[valid-type]
    link: str = Field(description="Where to read it; empty where the index does not say.")
    doi: str = Field(description="Its DOI; empty where it has none.")
    others: list[PaperSchema] = Field(description="Other papers that share the identifier.")  # type: ignore[valid-type]


def _in_all_formats(model: type[BaseModel], description: str) -> dict[int | str, dict[str, Any]]:
    text = {"schema": {"type": "string"}}
    others = {one.plain_type: text for one in ANSWER_FORMATS if one is not JSON}
    return {200: {"model": model, "description": description, "content": others}}


PAGE = _in_all_formats(PageSchema, "A page of hits.")
PAPER = _in_all_formats(PaperAnswer, "The paper.")
ATOM: dict[int | str, dict[str, Any]] = {
    200: {"description": "The feed.", "content": {"application/atom+xml": {"schema": {"type": "string"}}}}
}


def listed(name: str, kind: type, **others: type) -> dict[int | str, dict[str, Any]]:
    """Return the argument `responses` of a route whose answer holds lists of dataclasses, by the names of the lists."""
    lists: dict[str, Any] = {key: (list[schema_of(one)], ...) for key, one in {name: kind, **others}.items()}  # type: ignore[misc]
    model = create_model(f"{name.title()}Answer", __config__=ConfigDict(extra="forbid"), **lists)
    return {200: {"model": model, "description": f"The {name}."}}
