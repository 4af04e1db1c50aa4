"""Filters from the text users write."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from lark import Lark, Token, Transformer, UnexpectedInput

from corpora.errors import InputError
from search_plugin.fields import IDENTIFIER_FIELDS, PAPER_FIELDS, Field, find_field
from search_plugin.filters.comparisons import (
    Given,
    alike,
    alike_one_of,
    compared,
    exact,
    exactly_one_of,
    identified,
)
from search_plugin.filters.syntax import position, short, syntax_error, unreadable
from search_plugin.filters.tree import And, Exists, Filter, Not, Operator, Or, Says

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LENGTH = 10_000
"""Maximum characters in all the filters of one search."""

MAX_DEPTH = 30
"""Maximum nesting of brackets and nots; deeper filters are refused, as each level is a recursive call."""


def parse_filter(text: str, fields: Sequence[Field] = PAPER_FIELDS) -> Filter:
    """Read one filter expression.

    Comparisons are `FIELD OP VALUE` (`=`, `!=`, and for numbers and dates `<`, `<=`, `>`, `>=`), `FIELD in (VALUE,
    ...)`, `FIELD exists`, and `title says VALUE` or `text says VALUE` (title or abstract); `not` binds tighter than
    `and`, `and` tighter than `or`. A value is quoted, with a backslash before a quote or backslash inside it, or bare:
    words up to the next `and`, `or`, `,` or `)`, joined by single spaces. Case does not count, and authors are found
    by any form of their names; `==` compares exactly. A star after a value stands for any end.

    A year or a month as a date means all its days: `published > 2020-03` starts in April.

    Args:
        text: The expression.
        fields: Those the index has.

    Returns:
        The filter, its fields under the schema's names.

    Raises:
        InputError: If it can't be read; the message says where, what was expected, and shows a right one.
    """
    _check_text(text)
    try:
        parsed = cast("_Parsed", _parser(tuple(fields)).parse(text))
    except UnexpectedInput as error:
        raise syntax_error(text, error) from None
    return parsed.filter


def parse_filters(texts: Iterable[str], fields: Sequence[Field] = PAPER_FIELDS) -> Filter | None:
    """Read several expressions that must all hold, as from an option that is repeated.

    Args:
        texts: The expressions.
        fields: Those the index has.

    Returns:
        One filter, or None where there are no expressions.

    Raises:
        InputError: If one can't be read, or all together are too long.
    """
    texts = list(texts)
    _check_length(sum(map(len, texts)))
    parts = tuple(parse_filter(text, fields) for text in texts)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(parts)


def _check_text(text: str) -> None:
    _check_length(len(text))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"The filter's character {error.start + 1} is not valid Unicode; type it as UTF-8.") from None


def _check_length(length: int) -> None:
    if length > MAX_LENGTH:
        raise InputError(f"The filter has {length:,} characters; keep it within {MAX_LENGTH:,}.")


@lru_cache(maxsize=16)
def _parser(fields: tuple[Field, ...]) -> Lark:
    grammar = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=_Builder(fields))


class _Parsed(NamedTuple):
    filter: Filter
    depth: int


class _Builder(Transformer[Token, _Parsed]):
    """Called by the parser while it reads, so that deep nesting causes no recursion."""

    def __init__(self, fields: Sequence[Field]) -> None:
        super().__init__()
        self._fields = fields

    def any_of(self, parts: Sequence[_Parsed]) -> _Parsed:
        return _Parsed(Or(tuple(part.filter for part in parts)), max(part.depth for part in parts))

    def all_of(self, parts: Sequence[_Parsed]) -> _Parsed:
        return _Parsed(And(tuple(part.filter for part in parts)), max(part.depth for part in parts))

    def group(self, children: tuple[Token, _Parsed]) -> _Parsed:
        _, inner = children
        return _Parsed(inner.filter, _deeper(inner.depth))

    def negated(self, children: tuple[Token, _Parsed]) -> _Parsed:
        _, inner = children
        return _Parsed(Not(inner.filter), _deeper(inner.depth))

    def compare(self, children: tuple[Token, Token, Given]) -> _Parsed:
        name, sign, given = children
        if sign in ("=", "!="):
            found = self._among(name, [given], alike)
            return _Parsed(Not(found) if sign == "!=" else found, 0)
        field = self._field(name)
        if field.kind not in ("number", "date"):
            kind = "true or false" if field.kind == "boolean" else "text"
            raise unreadable(position(sign), f"expected = or != for {field.name}, which is {kind}, but found {sign}")
        return _Parsed(compared(field, cast("Operator", str(sign)), given), 0)

    def one_of(self, children: Sequence[Token | Given]) -> _Parsed:
        name, *values = children
        return _Parsed(self._among(cast("Token", name), cast("Sequence[Given]", values), alike_one_of), 0)

    def exactly(self, children: tuple[Token, Given]) -> _Parsed:
        name, given = children
        return _Parsed(self._among(name, [given], exact), 0)

    def exactly_one_of(self, children: Sequence[Token | Given]) -> _Parsed:
        name, *values = children
        return _Parsed(self._among(cast("Token", name), cast("Sequence[Given]", values), exactly_one_of), 0)

    def exists(self, children: tuple[Token]) -> _Parsed:
        name = children[0]
        if self._kind(name):
            raise unreadable(position(name), f"{name} is a kind of identifier, for which there is only =, != and in")
        return _Parsed(Exists(self._field(name).name), 0)

    def _among(self, name: Token, values: Sequence[Given], read: Callable[[Field, Sequence[Given]], Filter]) -> Filter:
        kind = self._kind(name)
        return identified(kind, values) if kind else read(self._field(name), values)

    def _kind(self, name: Token) -> str:
        """Return the kind of identifier that a name stands for; none if the index has a field of that name."""
        lowered = str(name).lower()
        return "" if any(field.name == lowered for field in self._fields) else IDENTIFIER_FIELDS.get(lowered, "")

    def says(self, children: tuple[Token, Given]) -> _Parsed:
        name, given = children
        field = name.lower()
        if field not in ("title", "text"):
            raise unreadable(position(name), f"expected title or text before says but found {short(name)}")
        if not given.text:
            raise unreadable(given.position, "expected words but found empty quotes")
        return _Parsed(Says(cast("Literal['title', 'text']", field), given.text), 0)

    def _field(self, name: Token) -> Field:
        return find_field("identifiers" if self._kind(name) else str(name)[:60], self._fields)

    def value(self, tokens: Sequence[Token]) -> Given:
        first = tokens[0]
        if first.type == "QUOTED":
            text = re.sub(r"\\(.)", r"\1", first[1:-1], flags=re.DOTALL)
            return Given(text, position(first), open=len(tokens) > 1)
        text = " ".join(tokens)
        ended = text.removesuffix("*")
        return Given(ended, position(first), open=ended != text) if ended.strip() else Given(text, position(first))


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise InputError(f"The filter nests brackets and nots deeper than {MAX_DEPTH}; write it flatter.")
    return depth + 1


def equals(name: str, value: str, fields: Sequence[Field] = PAPER_FIELDS) -> Filter:
    """Return the filter `NAME = VALUE`, as the user's query asks for it by `author:` and the like.

    Args:
        name: Of a field, an alias, or a kind of identifier.
        value: As typed; a star at its end stands for any end.
        fields: Those the index has.

    Returns:
        The filter.

    Raises:
        InputError: If there is no such field, or it can't have such a value.
    """
    escaped = re.sub(r'(["\\])', r"\\\1", value.removesuffix("*"))
    return parse_filter(f'{name} = "{escaped}"{"*" * value.endswith("*")}', fields)
