"""Errors for filters that can't be read: where they stop making sense, and what was expected there."""

from __future__ import annotations

import re
from typing import cast

from lark import Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from corpora.errors import InputError

EXAMPLE = 'Write it like year >= 2015 and journal = "Science and Technology", with quotes around such values.'

_EXPECTATIONS = {
    "NAME": "a field name, not or an opening bracket",
    "OPERATOR": "=, !=, <, <=, >, >=, in, exists or says after a field name",
    "QUOTED": "a value",
    "_OPEN": "an opening bracket after in",
    "_COMMA": "a comma or a closing bracket",
    "_RIGHT": "'and', 'or' or a closing bracket",
}
"""What was expected, by the first of these terminals that could have come next."""


def unreadable(position: int, problem: str) -> InputError:
    """Return the error for a filter that can't be read, with the place and an example."""
    return InputError(f"The filter can't be read at character {position}: {problem}. {EXAMPLE}")


def short(text: str) -> str:
    """Return the beginning of a text in quotes, for messages."""
    return repr(text[:30])


def syntax_error(text: str, error: UnexpectedInput) -> InputError:
    """Return the error for a text that the grammar does not accept: where, what was expected, and what was found."""
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        start, found = len(text), "the end"
    else:
        start = cast("int", error.pos_in_stream)
        word = re.match(r"""[(),"'=<>!]|[^\s(),"'=<>!]+""", text[start:])
        found = short(word[0] if word else text[start])
    expected: set[str] = set()
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected)
    elif isinstance(error, UnexpectedCharacters):
        expected = set(error.allowed)
    if "QUOTED" in expected and text[start : start + 1] in ("'", '"'):
        return unreadable(start + 1, "expected a second quote to close the one here")
    return unreadable(start + 1, f"expected {_expectation(expected)} but found {found}")


def _expectation(expected: set[str]) -> str:
    for terminal, words in _EXPECTATIONS.items():
        if terminal in expected:
            return words
    return "'and', 'or' or the end"


def position(token: Token) -> int:
    """Return where a token begins, from 1."""
    return cast("int", token.start_pos) + 1
