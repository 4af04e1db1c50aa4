"""The languages in which requests are written, by name; a new one is a file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from corpora.errors import InputError
from search_plugin.engines.cluster.frontends.languages import console, curl, document, javascript, php, python, ruby
from search_plugin.engines.cluster.frontends.script import PageScript


@dataclass(frozen=True, slots=True)
class ScriptLanguage:
    """A language of requests to copy.

    Attributes:
        title: What it is, for people.
        write: Function that returns the text for a page.
    """

    title: str
    write: Callable[[PageScript], str]


LANGUAGES: Mapping[str, ScriptLanguage] = {
    "curl": ScriptLanguage("commands for a shell", curl.write),
    "http": ScriptLanguage("plain requests, as the consoles of both products take them", console.write),
    "json": ScriptLanguage("one JSON document, for programs", document.write),
    "javascript": ScriptLanguage("a script with fetch, for browsers and Node", javascript.write),
    "javascript-client": ScriptLanguage("a script with the product's own client", javascript.write_with_client),
    "php": ScriptLanguage("a script with Guzzle", php.write),
    "ruby": ScriptLanguage("a script with net/http", ruby.write),
    "python": ScriptLanguage("a script with the product's own client", python.write),
}


def get_language(name: str) -> ScriptLanguage:
    """Return the language of that name, or raise `InputError` that names the available ones."""
    if name not in LANGUAGES:
        raise InputError(f"Requests can't be written in {name!r}; choose one of {', '.join(LANGUAGES)}.")
    return LANGUAGES[name]
