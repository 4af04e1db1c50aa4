"""What the languages share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corpora.errors import require
from search_plugin.engines.cluster.frontends.http import HttpRequest, Parameter, replaced
from search_plugin.engines.cluster.frontends.script import MADE, VECTOR, WORDS, PageScript

NAMES_OF_SECRETS: Mapping[str, tuple[str, ...]] = {
    "ApiKey": ("SES_ENGINE_API_KEY",),
    "Bearer": ("SES_ENGINE_TOKEN",),
    "Basic": ("SES_ENGINE_USERNAME", "SES_ENGINE_PASSWORD"),
}
"""The environment variables that hold the credentials of each scheme."""


def lines_of(request: HttpRequest) -> tuple[Any, ...]:
    """Return the JSONs of a request's body: one, or the lines of a search of several."""
    return request.body if isinstance(request.body, tuple) else (request.body,)


def content_type(request: HttpRequest) -> str:
    """Return the type of a request's body."""
    return "application/x-ndjson" if isinstance(request.body, tuple) else "application/json"


def filled(body: Any, script: PageScript) -> Any:
    """Return a body with the present values of its parameters, except for those that its sender fills."""

    def value(part: Any) -> Any:
        if isinstance(part, Parameter) and part.name not in script.parameters:
            return script.values[part.name]
        return part

    return tuple(replaced(one, value) for one in body) if isinstance(body, tuple) else replaced(body, value)


def variables(script: PageScript) -> dict[str, Any]:
    """Return the values of the variables at the head of a program; None for what is read from a file."""
    held: dict[str, Any] = {}
    if VECTOR in script.values:
        held[VECTOR] = None if VECTOR in script.parameters else script.values[VECTOR]
    if WORDS in script.parameters:
        held[WORDS] = script.values[WORDS]
    return held


def check_reading(script: PageScript) -> None:
    """Raise `InputError` for a program that makes the vector of its words: requests alone can't calculate."""
    require(
        script.query_vector is None,
        "Plain requests can't make the vector of a query",
        "choose <as=curl> or the name of a programming language, or leave <vector> out",
    )


def explained(script: PageScript) -> list[str]:
    """Return sentences about what the program needs from outside."""
    said = [script.vector_from] if VECTOR in script.parameters else []
    if script.query_vector:
        said = [MADE[script.query_vector.way], "The words are the first argument of the command line."]
    if script.spelled:
        said.append("They are searched in other spellings too, as ses does.")
    if script.scheme:
        said.append(f"Credentials are in {' and '.join(NAMES_OF_SECRETS[script.scheme])} of the environment.")
    if script.certificates:
        said.append("SES_ENGINE_CA of the environment is the file of the certificates of the cluster.")
    return said
