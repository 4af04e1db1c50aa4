"""Filters from the text users write."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from corpora.custom import FieldKind, first_day, last_day, normal_date
from corpora.errors import InputError
from search_plugin.filters.tree import And, Compare, Exists, Filter, Not, OneOf, Operator, Or, Says, Value
from search_plugin.schema import PAPER_FIELDS, Field, find_field

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LENGTH = 10_000
"""Maximum characters in all the filters of one search."""

MAX_DEPTH = 30
"""Maximum nesting of brackets and nots; deeper filters are refused, as each level is a recursive call."""

EXAMPLE = 'Write it like year >= 2015 and journal = "Science and Technology", with quotes around such values.'

_EXPECTATIONS = {
    "NAME": "a field name, not or an opening bracket",
    "OPERATOR": "=, !=, <, <=, >, >=, in, exists or says after a field name",
    "QUOTED": "a value",
    "_OPEN": "an opening bracket after in",
    "_COMMA": "a comma or a closing bracket",
    "_RIGHT": "and, or or a closing bracket",
}
"""What was expected, by the first of these terminals that could have come next."""

# 9 digits fit the 32-bit columns of every engine.
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,17})?(e[+-]?[0-9]{1,2})?", re.ASCII | re.IGNORECASE)


def parse_filter(text: str, fields: Sequence[Field] = PAPER_FIELDS) -> Filter:
    """Read one filter expression.

    Comparisons are `FIELD OP VALUE` (`=`, `!=`, and for numbers and dates `<`, `<=`, `>`, `>=`), `FIELD in (VALUE,
    ...)`, `FIELD exists`, and `title says VALUE` or `text says VALUE` (title or abstract); `not` binds tighter than
    `and`, `and` tighter than `or`. A value is quoted, with a backslash before a quote or backslash inside it, or bare:
    words up to the next `and`, `or`, `,` or `)`, joined by single spaces.

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
        raise _syntax_error(text, error) from None
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


class _Given(NamedTuple):
    """A value as written, and where."""

    text: str
    position: int


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

    def compare(self, children: tuple[Token, Token, _Given]) -> _Parsed:
        name, sign, given = children
        field = self._field(name)
        if sign not in ("=", "!=") and field.kind not in ("number", "date"):
            kind = "true or false" if field.kind == "boolean" else "text"
            raise _error(_position(sign), f"expected = or != for {field.name}, which is {kind}, but found {sign}")
        value = _value(field, given)
        if sign == "!=":
            return _Parsed(Not(_equals(field, value)), 0)
        return _Parsed(
            _equals(field, value) if sign == "=" else _compared(field, cast("Operator", str(sign)), value), 0
        )

    def one_of(self, children: Sequence[Token | _Given]) -> _Parsed:
        name, *values = children
        field = self._field(cast("Token", name))
        given = tuple(_value(field, cast("_Given", value)) for value in values)
        parts = tuple(_equals(field, value) for value in dict.fromkeys(given))
        if all(isinstance(part, Compare) for part in parts):
            return _Parsed(OneOf(field.name, given), 0)
        return _Parsed(Or(parts) if len(parts) > 1 else parts[0], 0)

    def exists(self, children: tuple[Token]) -> _Parsed:
        return _Parsed(Exists(self._field(children[0]).name), 0)

    def says(self, children: tuple[Token, _Given]) -> _Parsed:
        name, given = children
        field = name.lower()
        if field not in ("title", "text"):
            raise _error(_position(name), f"expected title or text before says but found {_short(name)}")
        if not given.text:
            raise _error(given.position, "expected words but found empty quotes")
        return _Parsed(Says(cast("Literal['title', 'text']", field), given.text), 0)

    def _field(self, name: Token) -> Field:
        return find_field(str(name)[:60], self._fields)

    def value(self, tokens: Sequence[Token]) -> _Given:
        first = tokens[0]
        if first.type == "QUOTED":
            return _Given(re.sub(r"\\(.)", r"\1", first[1:-1], flags=re.DOTALL), _position(first))
        return _Given(" ".join(tokens), _position(first))


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise InputError(f"The filter nests brackets and nots deeper than {MAX_DEPTH}; write it flatter.")
    return depth + 1


def _equals(field: Field, value: Value) -> Filter:
    if value is False:
        return Not(Compare(field.name, "=", value=True))
    if field.kind == "date" and (first := first_day(str(value))) != (last := last_day(str(value))):
        return And((Compare(field.name, ">=", first), Compare(field.name, "<=", last)))
    return Compare(field.name, "=", value)


def _compared(field: Field, op: Operator, value: Value) -> Filter:
    if field.kind == "date":
        value = first_day(str(value)) if op in ("<", ">=") else last_day(str(value))
    return Compare(field.name, op, value)


def _value(field: Field, given: _Given) -> Value:
    if not given.text:
        raise _error(
            given.position, f"expected a value but found empty quotes (papers without one: not {field.name} exists)"
        )
    read, expected = _WHOLE if field.whole else _READERS.get(field.kind, (str, "text"))
    value = read(given.text)
    if value is None:
        raise _error(given.position, f"expected {expected} for {field.name} but found {_short(given.text)}")
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


def _syntax_error(text: str, error: UnexpectedInput) -> InputError:
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        start, found = len(text), "the end"
    else:
        start = cast("int", error.pos_in_stream)
        word = re.match(r"""[(),"'=<>!]|[^\s(),"'=<>!]+""", text[start:])
        found = _short(word[0] if word else text[start])
    expected: set[str] = set()
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected)
    elif isinstance(error, UnexpectedCharacters):
        expected = set(error.allowed)
    if "QUOTED" in expected and text[start : start + 1] in ("'", '"'):
        return _error(start + 1, "expected a second quote to close the one here")
    return _error(start + 1, f"expected {_expectation(expected)} but found {found}")


def _expectation(expected: set[str]) -> str:
    for terminal, words in _EXPECTATIONS.items():
        if terminal in expected:
            return words
    return "and, or or the end"


def _error(position: int, problem: str) -> InputError:
    return InputError(f"The filter can't be read at character {position}: {problem}. {EXAMPLE}")


def _position(token: Token) -> int:
    return cast("int", token.start_pos) + 1


def _short(text: str) -> str:
    return repr(text[:30])
