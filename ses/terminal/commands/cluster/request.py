"""`ses cluster request`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import rich_click as click

from corpora.errors import InputError
from corpora.options import Option
from ses.terminal.options import engine_option, model_options, open_library, own_options
from ses.terminal.page_options import given_options, query_options
from ses.terminal.results import pass_on, tell

RequestLanguage = Literal["curl", "http", "json", "javascript", "javascript-client", "php", "ruby", "python"]
"""The names of the registry, which is not imported for the help."""


@click.command()
@click.argument("words", nargs=-1)
@own_options
@query_options(search=True)
@model_options
@engine_option
def request(
    *,
    words: tuple[str, ...],
    similar: Annotated[str, Option("Find papers like this one instead", "ID")] = "",
    language: Annotated[RequestLanguage, Option("The language of the requests", flag="as")] = "curl",
    parameters: Annotated[
        Sequence[Literal["vector", "words"]],
        Option("Leave the vector or the words of the query to the program that sends the requests", flag="parameter"),
    ] = (),
    vector: Annotated[
        Literal["words", "table", "feedback", "service"] | None,
        Option(
            "Print a whole program for any words, with their vector from words in the cluster (ses cluster install "
            "--query-words), a table in a file (ses models table), the first papers by words, or ses serve"
        ),
    ] = None,
    index: str | None,
    **options: Any,
) -> None:
    """Print the HTTP requests of a page, for other programs to send to the cluster.

    These are the requests that `ses search` sends for the same words and options. Between them the legs of a hybrid
    search are joined, for which all languages but curl, http and json have the code. With --join engine, it is one
    request. Credentials are never printed.
    """
    if similar and words:
        raise InputError("Give either words or --similar.")
    library = open_library(options)
    found = library.cluster.request(
        " ".join(words),
        index=index or "",
        similar=similar,
        parameters=parameters,
        vector=vector,
        **given_options(options),
    )
    for note in found.notes:
        tell(note, err=True)
    pass_on(found.text(language))
