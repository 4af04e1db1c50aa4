"""The parser of filters, and the tree that it builds. It is imported late: few searches have a filter."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import resources
from typing import Literal, NamedTuple, cast

from lark import Lark, Token, Transformer

from corpora.errors import InputError
from search_plugin.contract.fields import IDENTIFIER_FIELDS, Field, find_field
from search_plugin.contract.tree import MAX_DEPTH, And, Exists, Filter, Not, Operator, Or, Says
from search_plugin.filters.comparisons import (
    Given,
    alike,
    alike_one_of,
    compared,
    exact,
    exactly_one_of,
    identified,
)
from search_plugin.filters.syntax import position, short, unreadable


@lru_cache(maxsize=16)
def parser_of(fields: tuple[Field, ...]) -> Lark:
    """Return the parser of filters over some fields; it returns `Parsed`."""
    grammar = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=_Builder(fields))


class Parsed(NamedTuple):
    """A filter, and how deep its brackets and nots are nested."""

    filter: Filter
    depth: int


class _Builder(Transformer[Token, Parsed]):
    """Called by the parser while it reads, so that deep nesting causes no recursion."""

    def __init__(self, fields: Sequence[Field]) -> None:
        super().__init__()
        self._fields = fields

    def any_of(self, parts: Sequence[Parsed]) -> Parsed:
        return Parsed(Or(tuple(part.filter for part in parts)), max(part.depth for part in parts))

    def all_of(self, parts: Sequence[Parsed]) -> Parsed:
        return Parsed(And(tuple(part.filter for part in parts)), max(part.depth for part in parts))

    def group(self, children: tuple[Token, Parsed]) -> Parsed:
        _, inner = children
        return Parsed(inner.filter, _deeper(inner.depth))

    def negated(self, children: tuple[Token, Parsed]) -> Parsed:
        _, inner = children
        return Parsed(Not(inner.filter), _deeper(inner.depth))

    def compare(self, children: tuple[Token, Token, Given]) -> Parsed:
        name, sign, given = children
        if sign in ("=", "!="):
            found = self._among(name, [given], alike)
            return Parsed(Not(found) if sign == "!=" else found, 0)
        field = self._field(name)
        if field.kind not in ("number", "date"):
            kind = "true or false" if field.kind == "boolean" else "text"
            raise unreadable(position(sign), f"expected = or != for {field.name}, which is {kind}, but found {sign}")
        return Parsed(compared(field, cast("Operator", str(sign)), given), 0)

    def one_of(self, children: Sequence[Token | Given]) -> Parsed:
        name, *values = children
        return Parsed(self._among(cast("Token", name), cast("Sequence[Given]", values), alike_one_of), 0)

    def exactly(self, children: tuple[Token, Given]) -> Parsed:
        name, given = children
        return Parsed(self._among(name, [given], exact), 0)

    def exactly_one_of(self, children: Sequence[Token | Given]) -> Parsed:
        name, *values = children
        return Parsed(self._among(cast("Token", name), cast("Sequence[Given]", values), exactly_one_of), 0)

    def exists(self, children: tuple[Token]) -> Parsed:
        name = children[0]
        if self._kind(name):
            raise unreadable(position(name), f"{name} is a kind of identifier, for which there is only =, != and in")
        return Parsed(Exists(self._field(name).name), 0)

    def _among(self, name: Token, values: Sequence[Given], read: Callable[[Field, Sequence[Given]], Filter]) -> Filter:
        kind = self._kind(name)
        return identified(kind, values) if kind else read(self._field(name), values)

    def _kind(self, name: Token) -> str:
        """Return the kind of identifier that a name stands for; none if the index has a field of that name."""
        lowered = str(name).lower()
        return "" if any(field.name == lowered for field in self._fields) else IDENTIFIER_FIELDS.get(lowered, "")

    def says(self, children: tuple[Token, Given]) -> Parsed:
        name, given = children
        field = name.lower()
        if field not in ("title", "text"):
            raise unreadable(position(name), f"expected title or text before says but found {short(name)}")
        if not given.text:
            raise unreadable(given.position, "expected words but found empty quotes")
        return Parsed(Says(cast("Literal['title', 'text']", field), given.text), 0)

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
