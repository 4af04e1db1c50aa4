"""The parameters of requests, made from the one description of the options of a search (`search_options`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from fastapi import Depends, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator

from corpora.errors import InputError
from search_plugin.request import MAX_WINDOW, Option, search_options
from ses.checked import nearest

if TYPE_CHECKING:
    from ses.service.service import Service


def _names(value: Any) -> Any:
    """Return names that are given one by one, or with commas between them, as a list."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        return value
    return [name.strip() for one in given for name in one.split(",") if name.strip()]


Names = Annotated[list[str], BeforeValidator(_names)]
"""A list of names, such as of fields: `a,b`, or the parameter repeated."""


class NoParameters(BaseModel):
    """No parameters; an unknown one is an error, and one without a value counts as not given."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _given(cls, values: Any) -> Any:
        """Refuse other names, and leave out what an HTML form sends for the fields that its user left empty."""
        if not isinstance(values, Mapping):
            return values
        if unknown := next((name for name in values if name not in cls.model_fields), None):
            raise InputError(f"There is no parameter {unknown[:80]}{nearest(unknown, cls.model_fields)}.")
        return {
            name: value for name, value in values.items() if name not in cls.model_fields or value not in ("", [""])
        }


class Parameters(NoParameters):
    """The parameters of a page of hits."""

    index: str = Field("", description="The index; the default one if none is named.")

    def options(self) -> dict[str, Any]:
        """Return what the client gave of the options of a search."""
        return {name: getattr(self, name) for name in self.model_fields_set if name in _OPTIONS}


class Shown(BaseModel):
    """What an answer shows of papers, and its format."""

    fields: Names = Field(
        [],
        description="What a hit holds beside `rank` and the paper's `id`: attributes of a paper, fields of the index, "
        "and `score`, `snippets`, `collapsed`, `known_by`, `weak`, `link`, `doi`, `legs`; in JSON only. Everything "
        "but `legs` if none is named. Names can be given with commas between them.",
        examples=[["title", "year", "snippets"]],
    )
    explain: bool = Field(
        default=False,
        description="Also show each leg's rank, score and share of a hit's score, and the time and the requests to a "
        "cluster of each stage; in JSON only.",
    )
    format: Literal["json", "jsonl", "csv", "bibtex", "ris"] | None = Field(
        None,
        description="Format of the answer; without it, the one that the header Accept prefers.",
        json_schema_extra=lambda schema: _replace(
            schema, type="string", enum=["json", "jsonl", "csv", "bibtex", "ris"], description=schema["description"]
        ),
    )


DEFAULT_MARK = "Without it:"
"""Before what is in force without an option, where its default does not say it."""
_EXAMPLES: Mapping[str, Any] = {
    "filter": ["year>=2020", "venue=Nature"],
    "facets": ["venue", "year"],
    "sort": "-year",
    "weights": ["lexical=0.7"],
    "boost": "impact=0.1",
    "collapse": "venue",
}
_BOUNDS: Mapping[str, Mapping[str, int]] = {
    "size": {"minimum": 0},
    "offset": {"minimum": 0},
    "window": {"minimum": 1, "maximum": MAX_WINDOW},
}
"""For the description alone: the library checks them."""
_NAMES = ("facets",)
"""Options that are lists of names."""
SEVERAL = frozenset(("filter", "weights", "fields", *_NAMES))
"""Parameters that can be repeated."""


def _field(option: Option) -> tuple[Any, Any]:
    several = Sequence in [get_origin(kind) for kind in get_args(option.type)]
    plain = option.type in (bool, int, float) or get_origin(option.type) is Literal
    kind: Any = Names if option.name in _NAMES else list[str] if several else option.type if plain else str
    described = option.help + (f": {', '.join(option.values)}." if option.choices else ".")
    if option.default_help:
        described += f" {DEFAULT_MARK} {option.default_help}."
    extra: dict[str, Any] = dict(_BOUNDS.get(option.name, {}))
    if option.choices:
        extra["enum"] = list(option.values)
    if option.name in _EXAMPLES:
        extra["examples"] = [_EXAMPLES[option.name]]
    default = [] if several else "" if kind is str else option.default

    return kind, Field(default, description=described, json_schema_extra=extra)


def _replace(schema: dict[str, Any], **values: Any) -> None:
    schema.clear()
    schema.update(values)


_OPTIONS: Mapping[str, Option] = {option.name: option for option in search_options() if option.typed}

_QUERY = Field(
    "",
    description="Words, phrases, fields and operators; without words, papers are listed.",
    examples=["aerosol transmission of SARS-CoV-2"],
)

SimilarParameters = create_model(
    "SimilarParameters",
    __base__=Parameters,
    **{name: _field(option) for name, option in _OPTIONS.items() if not option.search_only},  # type: ignore[call-overload]
)
SearchParameters = create_model(
    "SearchParameters",
    __base__=Parameters,
    query=(str, _QUERY),
    **{name: _field(option) for name, option in _OPTIONS.items()},  # type: ignore[call-overload]
)


class SearchAsked(SearchParameters, Shown):  # type: ignore[misc, valid-type]  # made by create_model
    """A search, and what to show of its hits."""


class SimilarAsked(SimilarParameters, Shown):  # type: ignore[misc, valid-type]  # made by create_model
    """A search for papers like one, and what to show of its hits."""


class PaperParameters(Parameters, Shown):
    """The parameters of a paper."""


def given_once(request: Request) -> None:
    """Refuse a parameter that a client gave several times where only one value counts; a dependency of routes.

    Args:
        request: The request.

    Raises:
        InputError: If there is one.
    """
    counts = Counter(name for name, _ in request.query_params.multi_items())
    for name, count in counts.items():
        if count > 1 and name not in SEVERAL:
            raise InputError(f"The parameter {name[:80]} is given {count} times", "give it once")


def service_of(request: Request) -> Service:
    """Return the service that answers a request."""
    found: Service = request.app.state.service
    return found


ServiceOf = Annotated[Any, Depends(service_of)]
"""The type of a route's argument that receives the `Service`."""
