"""Filters from the text users write: expressions, and words of a query; and as text again, for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, cast

from corpora.errors import InputError
from search_plugin.contract.schema import PAPER_FIELDS, Field
from search_plugin.contract.tree import (
    OPEN_END,
    Alike,
    And,
    Begun,
    Compare,
    Exists,
    Filter,
    Nearness,
    Not,
    OneOf,
    Or,
    Says,
    TermLike,
    Value,
    Wild,
    WildPhrase,
    all_of,
)
from search_plugin.words.terms import terms_of
from search_plugin.words.wildcards import is_pattern

if TYPE_CHECKING:
    from search_plugin.filters.grammar import Parsed


MAX_LENGTH = 10_000
"""Maximum characters in all the filters of one search."""


def parse_filter(text: str, fields: Sequence[Field] = PAPER_FIELDS) -> Filter:
    """Read one filter expression.

    Comparisons are `FIELD OP VALUE` (`=`, `!=`, and for numbers and dates `<`, `<=`, `>`, `>=`), `FIELD in (VALUE,
    ...)`, `FIELD exists`, and `title says VALUE` or `text says VALUE` (title or abstract); `not` binds tighter than
    `and`, `and` tighter than `or`. A value is quoted, with a backslash before a quote or backslash inside it, or bare:
    words up to the next `and`, `or`, `,` or `)`, joined by single spaces. Case does not count, and authors are found
    by any form of their names; `==` compares exactly. A star after a value stands for any end.

    A year or a month as a date means all its days: `published > 2020-03` starts in April.

    The filter names fields as the schema does. Raises `InputError` if the expression can't be read; the message says
    where, what was expected, and shows a right one.
    """
    from lark import UnexpectedInput

    from search_plugin.filters.grammar import parser_of, syntax_error

    _check_length(len(text))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"The filter's character {error.start + 1} is not valid Unicode; type it as UTF-8.") from None
    try:
        parsed = cast("Parsed", parser_of(tuple(fields)).parse(text))
    except UnexpectedInput as error:
        raise syntax_error(text, error) from None
    return parsed.filter


def parse_filters(texts: Iterable[str], fields: Sequence[Field] = PAPER_FIELDS) -> Filter | None:
    """Read several expressions that must all hold, as from an option that is repeated; None if there are none.

    Raises `InputError` if one can't be read, or all together are too long.
    """
    texts = list(texts)
    _check_length(sum(map(len, texts)))
    return all_of(*(parse_filter(text, fields) for text in texts))


def _check_length(length: int) -> None:
    if length > MAX_LENGTH:
        raise InputError(f"The filter has {length:,} characters; keep it within {MAX_LENGTH:,}.")


def comparison(field: str, value: str, sign: str = "=") -> str:
    """Return the expression that a field has a value, or a relation to it; a star at its end stands for any end."""
    star = "*" if sign == "=" and value.endswith("*") and value != "*" else ""
    return f"{field} {sign} {quoted(value.removesuffix(star))}{star}"


def quoted(text: str) -> str:
    """Return a text as a quoted value of a filter."""
    escaped = re.sub(r'(["\\])', r"\\\1", text)
    return f'"{escaped}"'


def as_query(where: Filter) -> str:  # noqa: C901 - one case for each kind of node
    """Return a filter as somebody would type it in a query."""
    match where:
        case Compare(field, op, value):
            return f"{field}:{'' if op == '=' else op}{_value(value)}"
        case OneOf(field, values) | Alike(field, _, values):
            star = "*" if isinstance(where, Alike) and where.manner in OPEN_END else ""
            tests = [f"{field}:{_value(f'{value}{star}' if star else value)}" for value in values]
            return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"
        case Exists(field):
            return f"{field}:*"
        case Says(field, words):
            return _in_field(field, words if words.isalnum() else f'"{words}"')
        case Begun(start):
            return f"title:{start}*"
        case TermLike(field, terms, expression):
            return _in_field(field, "/".join([*terms, expression]))
        case Wild(field, typed):
            return _in_field(field, typed)
        case WildPhrase(field, typed):
            return _in_field(field, f'"{typed}"')
        case Nearness(field, one, other, within):
            return f"{as_query(Says(field, one))} NEAR/{within} {as_query(Says(field, other))}"
        case Not(part):
            return f"NOT {_operand(part)}"
        case And(parts):
            return " AND ".join(map(_operand, parts))
        case Or(parts):
            return " OR ".join(map(_operand, parts))


def _operand(where: Filter) -> str:
    text = as_query(where)
    return f"({text})" if isinstance(where, And | Or | Nearness) else text


def _in_field(field: str, said: str) -> str:
    return said if field == "text" else f"{field}:{said}"


def _value(value: Value) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if text.isalnum() or isinstance(value, int | float) else f'"{text}"'


_BLANK = re.compile(r"[\s\-\u2010-\u2015/]+")

TextField = Literal["title", "text"]


def saying(field: TextField, words: str, language: str) -> Filter | None:
    """Return the condition that words stand side by side, of which some may be patterns; None for stop words alone."""
    parts = [part for part in _BLANK.split(words) if part]
    if not any(map(is_pattern, parts)):
        return Says(field, words) if any(terms_of(words, language)) else None
    read: list[str | Wild] = []
    for part in parts:
        if is_pattern(part):
            read.append(Wild(field, part))
        else:
            read += re.findall(r"\w+", part)
    if len(read) == 1:
        return read[0] if isinstance(read[0], Wild) else None
    return WildPhrase(field, words, tuple(read))


def saying_each(field: TextField, words: str, language: str) -> Filter | None:
    """Return the condition that a text says each of some words, which need not stand side by side."""
    return all_of(*dict.fromkeys(saying(field, word, language) for word in words.split()))
