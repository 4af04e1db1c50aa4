"""JSON as a literal of a programming language, in which parameters are the names of variables.

What a user typed is always inside a text of the language, escaped so that nothing in it can end the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from corpora.outgoing import json_text
from search_plugin.engines.cluster.frontends.http import Parameter, SpelledWords
from search_plugin.engines.cluster.frontends.script import SPELLED

WIDTH = 100
"""A list or an object that is no longer, in characters, has one line; so has every list of numbers."""

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def json_string(text: str) -> str:
    """Return a text as JSON, without characters that control a terminal."""
    return json_text(orjson.dumps(text))


def escaped(special: str) -> Callable[[str], str]:
    r"""Return a function that quotes a text by `"`, with a backslash before special characters, and `\u{...}`."""
    pattern = re.compile(f"[{re.escape(special)}]")

    def quoted(text: str) -> str:
        inside = pattern.sub(lambda found: f"\\{found[0]}", text)
        return '"' + _UNSEEN.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", inside) + '"'

    return quoted


@dataclass(frozen=True)
class Notation:
    """How a language writes JSON.

    Attributes:
        text: Function that quotes a text.
        parameter: Function that names the variable of a parameter.
        pair: What is between a key and its value.
        around: What begins and ends an object.
        constants: How None, True and False are written.
        empty: An object without keys.
        last_comma: What follows the last part where each has its line.
        matching: Function that writes the query for the words; None for a call of `matching` of `sources`.
    """

    text: Callable[[str], str] = json_string
    parameter: Callable[[Parameter], str] = lambda parameter: parameter.name
    pair: str = ": "
    around: tuple[str, str] = ("{", "}")
    constants: tuple[str, str, str] = ("null", "true", "false")
    empty: str = "{}"
    last_comma: str = ""
    matching: Callable[[SpelledWords], str] | None = None

    def write(self, value: Any, indent: str | None = "") -> str:
        """Return a value, of which all but the first line begin with `indent`; in one line if that is None."""
        if isinstance(value, Mapping) and not value:
            return self.empty
        if isinstance(value, Mapping):
            return self._several([(self.text(key) + self.pair, one) for key, one in value.items()], self.around, indent)
        if isinstance(value, list | tuple):
            numbers = all(isinstance(one, int | float) for one in value)
            return self._several([("", one) for one in value], ("[", "]"), None if numbers else indent)
        return self._single(value)

    def _several(self, parts: list[tuple[str, Any]], around: tuple[str, str], indent: str | None) -> str:
        line = ", ".join(key + self.write(one, None) for key, one in parts)
        if indent is None or len(indent) + len(line) <= WIDTH:
            return around[0] + line + around[1]
        inner = f"{indent}  "
        lines = f",\n{inner}".join(key + self.write(one, inner) for key, one in parts)
        return f"{around[0]}\n{inner}{lines}{self.last_comma}\n{indent}{around[1]}"

    def _single(self, value: Any) -> str:
        if isinstance(value, Parameter):
            return self.parameter(value)
        if isinstance(value, SpelledWords):
            fields = self.write(value.fields, None)
            called = f"matching({self.parameter(Parameter(SPELLED))}, {fields}, {value.boost})"
            return self.matching(value) if self.matching else called
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool):
            return self.constants[(None, True, False).index(value)]
        return orjson.dumps(value).decode()
