"""HTTP requests to a cluster that other programs send, whole or with parameters that they fill."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from search_plugin.engines.cluster.dialect import Enclosed, as_json


@dataclass(frozen=True, slots=True)
class Parameter:
    """A place in the body of a request that its sender fills.

    Attributes:
        name: Name of the parameter, such as `words`.
        kind: What fills it: a text, or any JSON, such as the numbers of a vector.
    """

    name: str
    kind: Literal["text", "json"] = "json"


@dataclass(frozen=True, slots=True)
class SpelledWords:
    """A place in the body of a request that its sender fills with the query for its words, in all their spellings.

    Attributes:
        fields: The fields that are searched.
        boost: Weight of the query's score.
    """

    fields: tuple[str, ...]
    boost: float


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request to a cluster.

    Attributes:
        method: The HTTP method.
        path: Path and parameters of the URL, from `/` on, as they are sent.
        body: The JSON of the body, in which there may be `Parameter`s and arrays of numpy; None for no body. A tuple
            holds lines of JSON, as `_msearch` takes them.
        why: What it is for, in a few words.
    """

    method: str
    path: str
    body: Any = None
    why: str = ""


def as_text(body: Any, written: Callable[[Parameter], str], *, indented: bool = True) -> str:
    """Return a body as JSON, in which each parameter is the text that `written` returns for it, unquoted."""
    # No text of a user can equal a mark that is new in each call.
    mark = uuid.uuid4().hex
    held: dict[str, Parameter] = {}

    def default(value: object) -> Any:
        if isinstance(value, Parameter):
            held[f'"{mark}{value.name}"'] = value
            return f"{mark}{value.name}"
        if isinstance(value, Enclosed):
            return orjson.loads(as_json(value))
        raise TypeError

    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATACLASS | (orjson.OPT_INDENT_2 if indented else 0)
    text = orjson.dumps(body, default, options).decode()
    for quoted, parameter in held.items():
        text = text.replace(quoted, written(parameter))
    return text


def as_plain(body: Any) -> Any:
    """Return a body without arrays of numpy and enclosed queries; its `Parameter`s stay."""

    def plain(value: Any) -> Any:
        simple = value is None or isinstance(value, Parameter | str | bool | int | float | dict | list)
        return value if simple else orjson.loads(as_json(value))

    return replaced(body, plain)


def replaced(body: Any, change: Callable[[Any], Any]) -> Any:
    """Return a body in which `change` was applied to each value, from the inside to the outside."""
    if isinstance(body, Mapping):
        return change({name: replaced(value, change) for name, value in body.items()})
    if isinstance(body, list | tuple):
        return change([replaced(value, change) for value in body])
    return change(body)
