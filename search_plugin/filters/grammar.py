"""The parser of filters: the tree that it builds, comparisons as users mean them, and what is said of syntax errors.

It is imported late: few searches have a filter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Literal, NamedTuple, cast

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from corpora.cleaning import first_day, last_day, normal_date
from corpora.custom import FieldKind
from corpora.errors import InputError
from search_plugin.contract.schema import IDENTIFIER_FIELDS, Field, find_field
from search_plugin.contract.tree import (
    MAX_DEPTH,
    Alike,
    And,
    Compare,
    Exists,
    Filter,
    Manner,
    Not,
    OneOf,
    Operator,
    Or,
    Says,
    Value,
)
from search_plugin.words.identifiers import identifier_of

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

# 9 digits fit the 32-bit columns of every engine.
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,17})?(e[+-]?[0-9]{1,2})?", re.ASCII | re.IGNORECASE)


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


class Given(NamedTuple):
    """A value as written, where, and whether a star stands for its end."""

    text: str
    position: int
    open: bool = False


def alike(field: Field, values: Sequence[Given]) -> Filter:
    """Return the filter for papers with a value: in any case, and authors by any form of their names."""
    return alike_one_of(field, values) if _is_loose(field) else exact(field, values)


def alike_one_of(field: Field, values: Sequence[Given]) -> Filter:
    """Return the filter for papers with one of some values: in any case, and authors by any form of their names."""
    if not _is_loose(field):
        return exactly_one_of(field, values)
    own: Manner = "name" if field.name == "authors" else "same"
    begun: Manner = "family" if field.name == "authors" else "prefix"
    by_manner: dict[Manner, dict[str, None]] = {}
    for given in values:
        by_manner.setdefault(begun if given.open else own, {})[str(_value(field, given))] = None
    return _any_of([Alike(field.name, manner, tuple(texts)) for manner, texts in by_manner.items()])


def _is_loose(field: Field) -> bool:
    # Ids are compared exactly: they are all different, and may differ in case alone.
    return field.kind in ("keyword", "keywords") and field.name != "id"


def exact(field: Field, values: Sequence[Given]) -> Filter:
    """Return the filter for papers with a value as it is written."""
    return _any_of([_equal(field, value) for value in dict.fromkeys(_read(field, values))])


def exactly_one_of(field: Field, values: Sequence[Given]) -> Filter:
    """Return the filter for papers with one of some values as they are written."""
    read = _read(field, values)
    parts = [_equal(field, value) for value in dict.fromkeys(read)]
    return OneOf(field.name, read) if all(isinstance(part, Compare) for part in parts) else _any_of(parts)


def _read(field: Field, values: Sequence[Given]) -> tuple[Value, ...]:
    whole = (Given(given.text + "*" * given.open, given.position) for given in values)
    return tuple(_value(field, given) for given in whole)


def compared(field: Field, op: Operator, given: Given) -> Filter:
    """Return the filter for a number or a date in some relation to a value."""
    value = _value(field, given)
    if field.kind == "date":
        value = first_day(str(value)) if op in ("<", ">=") else last_day(str(value))
    return Compare(field.name, op, value)


def identified(kind: str, values: Sequence[Given]) -> Filter:
    """Return the filter for papers with one of some identifiers of a kind, or with one that begins so."""
    parts: list[Filter] = []
    for given in values:
        if given.open:
            parts.append(Alike("identifiers", "prefix", (f"{kind}:{given.text}",)))
            continue
        identifier = identifier_of(kind, given.text)
        if not identifier.value:
            raise unreadable(given.position, f"expected a {kind} but found {short(given.text)}")
        parts.append(OneOf("identifiers", identifier.identifiers))
        if identifier.ids:
            parts.append(OneOf("id", identifier.ids))
    return _any_of(parts)


def _any_of(parts: Sequence[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _equal(field: Field, value: Value) -> Filter:
    if value is False:
        return Not(Compare(field.name, "=", value=True))
    if field.kind == "date" and (first := first_day(str(value))) != (last := last_day(str(value))):
        return And((Compare(field.name, ">=", first), Compare(field.name, "<=", last)))
    return Compare(field.name, "=", value)


def _value(field: Field, given: Given) -> Value:
    if not given.text:
        raise unreadable(
            given.position, f"expected a value but found empty quotes (papers without one: not {field.name} exists)"
        )
    read, expected = _WHOLE if field.whole else _READERS.get(field.kind, (str, "text"))
    value = read(given.text)
    if value is None:
        raise unreadable(given.position, f"expected {expected} for {field.name} but found {short(given.text)}")
    return value


def _number(text: str) -> Value | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return int(number) if number.is_integer() else number


_Reader = tuple[Callable[[str], Value | None], str]
"""Reads a value, or returns None if it is invalid, and says what was expected."""

_WHOLE: _Reader = (
    lambda text: int(text) if _WHOLE_NUMBER.fullmatch(text) else None,
    "a whole number of at most 9 digits",
)
_READERS: Mapping[FieldKind, _Reader] = {
    "boolean": (lambda text: {"true": True, "false": False}.get(text.lower()), "true or false"),
    "number": (_number, "a number"),
    "date": (normal_date, "a date such as 2020-03-16, 2020-03 or 2020"),
}


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
