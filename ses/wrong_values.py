"""Sentences about values that pydantic refuses: parameters and bodies of requests, and arguments of tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_MOST = 5
"""Values that are named."""

_LONGEST = 80
"""Characters of a value or a name that are shown."""

_EXPECTED: Mapping[str, str] = {
    "int_parsing": "give a whole number",
    "int_type": "give a whole number",
    "int_from_float": "give a whole number",
    "int_parsing_size": "give a smaller number",
    "float_parsing": "give a number",
    "float_type": "give a number",
    "finite_number": "give a finite number",
    "bool_parsing": "give true or false",
    "bool_type": "give true or false",
    "string_type": "give a text",
    "string_unicode": "give a text of Unicode characters",
    "string_sub_type": "give a text",
    "list_type": "give a list",
    "dict_type": "give an object",
    "model_type": "give an object",
    "model_attributes_type": "give an object",
}
"""What to give instead, by pydantic's kinds of errors without further values."""


def sentences_of(errors: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence for each of the first wrong values of a request: what is wrong, and what to give instead.

    They have kind, place and input, as `ValidationError.errors` of pydantic describes them. The first part of a place
    says where the values were, such as in the body.
    """
    return " ".join(dict.fromkeys(map(_sentence_of, errors[:_MOST])))


def _sentence_of(error: Mapping[str, Any]) -> str:
    place: Sequence[Any] = [part for part in error["loc"][1:] if isinstance(part, int | str)]
    kind, context = error["type"], error.get("ctx", {})
    if kind == "json_invalid":
        return f"The body is not JSON: character {error['loc'][-1]} can't stand there, or is missing."
    name = ".".join(map(str, place))[:_LONGEST] or "The body"
    if kind == "missing":
        return f"{name} is missing."
    return f"{name} can't be {_shown_value(error.get('input'))}; {_expected(kind, context)}."


def _shown_value(value: object) -> str:
    """Return a value of a client for a sentence, cut if it is long."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _expected(kind: str, context: Mapping[str, Any]) -> str:
    if kind in _EXPECTED:
        return _EXPECTED[kind]
    if kind in ("literal_error", "enum"):
        return f"choose one of {context['expected'].replace(chr(39), '').replace(' or ', ', ')}"
    bounds = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    for bound, words in bounds.items():
        if bound in context:
            return f"give {words} {context[bound]}"
    if "min_length" in context:
        return f"give at least {context['min_length']} of them" if "list" in kind or "too" in kind else "give more"
    if "max_length" in context:
        return f"give at most {context['max_length']:,}"
    return "see the description"
