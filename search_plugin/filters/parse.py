"""Filters from the text users write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from corpora.errors import InputError
from search_plugin.contract.schema import PAPER_FIELDS, Field
from search_plugin.contract.tree import Filter, all_of

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
