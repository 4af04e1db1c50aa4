"""The parameters of requests, made from the one description of the options of a search (`search_options`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model, model_validator

from corpora.errors import InputError
from corpora.options import Option
from search_plugin.request import MAX_QUERY, search_options
from ses.argument_validation import nearest, options_of_function
from ses.service.service import Service


def _names(value: Any) -> Any:
    """Return names that are given one by one, or with commas between them, as a list."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        return value
    return [name.strip() for one in given for name in one.split(",") if name.strip()]


Names = Annotated[list[str], BeforeValidator(_names)]
"""A list of names, such as of fields: `a,b`, or the parameter repeated."""

FormatName = Literal["json", "jsonl", "csv", "bibtex", "ris", "csl"]
"""The formats of answers: `ses.service.negotiation.ANSWER_FORMATS`."""


class NoParameters(BaseModel):
    """No parameters; an unknown one is an error, and one without a value counts as not given if it may be left out."""

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
            name: value
            for name, value in values.items()
            if (known := cls.model_fields.get(name)) is None or known.is_required() or value not in ("", [""])
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
        "and `score`, `snippets`, `collapsed`, `known_by`, `weak`, `versions`, `sentence`, `link`, `doi`, `legs`; in "
        "JSON only. Everything but `legs` if none is named. Names can be given with commas between them.",
        examples=[["title", "year", "snippets"]],
    )
    explain: bool = Field(
        default=False,
        description="Also show each leg's rank, score and share of a hit's score, and the time and the requests to a "
        "cluster of each stage; in JSON only.",
    )
    format: FormatName | None = Field(
        None,
        description="Format of the answer; without it, the one that the header Accept prefers.",
        json_schema_extra=lambda schema: _replace(
            schema, type="string", enum=[*get_args(FormatName)], description=schema["description"]
        ),
    )


SOME_TEXT: Mapping[str, int | str] = {"minLength": 1, "pattern": r"\S"}
"""In a description: a text that is not empty."""

DEFAULT_MARK = "Without it:"
"""Before what is in force without an option, where its default does not say it."""
_NAMES = ("facets",)
"""Options that are lists of names."""


def _field(option: Option) -> tuple[Any, Any]:
    """Return the type and the description of a parameter."""
    several = Sequence in [get_origin(kind) for kind in get_args(option.type)]
    plain = option.type in (bool, int, float) or get_origin(option.type) is Literal
    kind: Any = Names if option.name in _NAMES else list[str] if several else option.type if plain else str
    described = option.help + (f": {option.choices_text}." if option.choices else ".")
    if option.default_help:
        described += f" {DEFAULT_MARK} {option.default_help}."
    extra: dict[str, Any] = option.schema  # for the description alone: the library checks it
    if option.choices and not option.others:
        extra["enum"] = list(option.values)
    if option.example is not None:
        extra["examples"] = [option.example]
    default = [] if several else "" if kind is str else option.default
    if option.required:
        extra |= SOME_TEXT
    return kind, Field(default, description=described, json_schema_extra=extra)


def _replace(schema: dict[str, Any], **values: Any) -> None:
    schema.clear()
    schema.update(values)


_OPTIONS: Mapping[str, Option] = {option.name: option for option in search_options() if option.typed}

_QUERY = Field(
    "",
    description="Words, phrases, fields and operators; without words, papers are listed.",
    json_schema_extra={"maxLength": MAX_QUERY},
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


def parameters_for(function: Callable[..., Any], *names: str, base: type[NoParameters] = Parameters) -> type[Any]:
    """Return the model of a route's parameters: the described arguments of the function that answers it.

    The function is a method of a library or an index, or a dataclass, whose arguments are annotated with an `Option`.
    The route takes those of the names, or all that are described, and those of `base`. `arguments_of` reads what a
    request gave.
    """
    taken = {one.name: _field(one) for one in options_of_function(function) if not names or one.name in names}
    model: type[Any] = create_model(f"{function.__name__.capitalize()}Parameters", __base__=base, **taken)  # type: ignore[call-overload]
    return model


def arguments_of(asked: NoParameters) -> dict[str, Any]:
    """Return the arguments that a request gave to a function."""
    return asked.model_dump(exclude={"index"}, exclude_unset=True)


class Read(BaseModel):
    """How far all results of a search were read."""

    cursor: str = Field(
        "",
        description="`*` begins to read all results of a search, also more than a window holds and while the index is "
        "updated. Then the `next_cursor` of each answer, with the same other parameters, until an answer has none. "
        "Only `size` and `facets` may change. `offset` can't be combined with it.",
        examples=["*"],
    )


class SearchInput(SearchParameters, Shown, Read):  # type: ignore[misc, valid-type]  # made by create_model
    """A search, and what to show of its hits."""


class SimilarInput(SimilarParameters, Shown):  # type: ignore[misc, valid-type]  # made by create_model
    """A search for papers like one, and what to show of its hits."""


class SimilarRead(SimilarInput, Read):
    """A search for papers like one of the index, and what to show of its hits."""


class PaperParameters(Parameters, Shown):
    """The parameters of a paper."""


def asks(model: type[NoParameters]) -> Any:
    """Return a dependency of routes, to be annotated: it reads the parameters of a request's query by a model.

    FastAPI reads a model of twenty parameters too (`Query`), but in 0.3 ms, and it takes the last of several values
    without a word. `parameters_of` describes them.
    """

    async def read(request: Request) -> NoParameters:
        return parameters_from(model, request.query_params.multi_items(), "query")

    return Depends(read)


def parameters_from(model: type[NoParameters], pairs: Iterable[tuple[str, str]], place: str) -> NoParameters:
    """Return the parameters that the query of an address or a form gives; `place` is which of them, for errors."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        field = model.model_fields.get(name)
        if field and get_origin(field.annotation) is list:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise InputError(f"The parameter {name[:80]} is given several times", "give it once")
        else:
            values[name] = value
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError([{**one, "loc": (place, *one["loc"])} for one in error.errors()]) from error


def parameters_of(model: type[NoParameters]) -> dict[str, Any]:
    """Return the description of the parameters that `asks` reads: the argument `openapi_extra` of a route."""
    properties = model.model_json_schema()["properties"]
    return {
        "parameters": [
            {
                "name": name,
                "in": "query",
                "required": "minLength" in schema,
                "description": schema.get("description", ""),
                "schema": schema,
            }
            for name, schema in properties.items()
        ]
    }


async def service_of(request: Request) -> Service:
    """Return the service that answers a request."""
    found: Service = request.app.state.service
    return found


ServiceOf = Annotated[Any, Depends(service_of)]
"""The type of a route's argument that receives the `Service`."""
