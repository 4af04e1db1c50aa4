"""The parameters of requests, made from the one description of the options of a search (`search_options`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field, create_model

from search_plugin.request import Option, search_options

if TYPE_CHECKING:
    from ses.service.service import Service


class Parameters(BaseModel):
    """The parameters of a page of hits; an unknown one is an error."""

    model_config = ConfigDict(extra="forbid")

    index: str = Field("", description="The index; the default one if none is named.")

    def options(self) -> dict[str, Any]:
        """Return what the client gave of the options of a search."""
        return {name: getattr(self, name) for name in self.model_fields_set if name in _OPTIONS}


def _field(option: Option) -> tuple[Any, Any]:
    several = Sequence in [get_origin(kind) for kind in get_args(option.type)]
    kind = list[str] if several else option.type if _is_plain(option.type) else str
    described = option.help + (f": {', '.join(option.values)}." if option.choices else ".")
    default = None if several or kind is str else option.default
    return (kind if default is not None else kind | None), Field(default, description=described)


def _is_plain(kind: Any) -> bool:
    return kind in (bool, int, float) or get_origin(kind) is Literal


_OPTIONS: Mapping[str, Option] = {option.name: option for option in search_options() if option.typed}

SimilarParameters = create_model(
    "SimilarParameters",
    __base__=Parameters,
    **{name: _field(option) for name, option in _OPTIONS.items() if not option.search_only},  # type: ignore[call-overload]
)
SearchParameters = create_model(
    "SearchParameters",
    __base__=Parameters,
    query=(str, Field("", description="Words, phrases, fields and operators; without words, papers are listed.")),
    **{name: _field(option) for name, option in _OPTIONS.items()},  # type: ignore[call-overload]
)


def service_of(request: Request) -> Service:
    """Return the service that answers a request."""
    found: Service = request.app.state.service
    return found


ServiceOf = Annotated[Any, Depends(service_of)]
"""The type of a route's argument that receives the `Service`."""
