"""A filter is a small tree, which every engine renders in its own terms.

Logic is two-valued. A comparison with a missing value (None, an empty string, an empty list) is false, so its negation
is true; a comparison on a list is true when any element matches. Comparisons are exact, except `Alike`. A boolean that
is not true is a missing value, so its only value is True, and "= false" is the negation of that. A date of a paper
stands for its first day.
`search_plugin.filters.matching.matches` is the reference.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Operator = Literal["=", "<", "<=", ">", ">="]
"""Only `=` is for all kinds; the others are for numbers and dates. `!=` is the negation of `=`."""

RELATIONS: Mapping[Operator, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""What the operators mean, for values and for arrays of them."""

Value = str | int | float
"""A number for numbers (a whole one for `year`), True for booleans, a day (`YYYY-MM-DD`) for dates, a string for all
others."""


@dataclass(frozen=True, slots=True)
class Compare:
    """The field stands in this relation to the value."""

    field: str
    op: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field equals one of the values."""

    field: str
    values: tuple[Value, ...]


Manner = Literal["same", "prefix", "name", "family"]
"""How a typed text may differ from a stored value: in case; in case and all that follows; as two forms of the name of
one author do (`search_plugin.words.names`); as those do, or in all that follows in the family name."""

OPEN_END: tuple[Manner, ...] = ("prefix", "family")
"""Manners in which a star stands for what follows."""


@dataclass(frozen=True, slots=True)
class Alike:
    """The field has a value like one of these; engines get the values that the index holds instead (`resolve`)."""

    field: str
    manner: Manner
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """The field has a value."""

    field: str


@dataclass(frozen=True, slots=True)
class Begun:
    """The title holds a word that may begin like this, as somebody is typing it.

    Words are compared by their terms, which may be shorter than the words: a term begins with `start`, or `start`
    begins with the term (of three letters or more), or has it. So papers may be found whose word begins otherwise.

    Attributes:
        start: Letters and digits in lower case without accents, at least one.
    """

    start: str


@dataclass(frozen=True, slots=True)
class TermLike:
    """The title, or the title or the abstract (`text`), holds a term of the index like these.

    Attributes:
        field: Where the term stands.
        terms: Terms.
        expression: An expression for other terms as a whole; empty if there are no others.
    """

    field: Literal["title", "text"]
    terms: tuple[str, ...]
    expression: str = ""


@dataclass(frozen=True, slots=True)
class Wild:
    """The title, or the title or the abstract (`text`), holds a word like a pattern (`search_plugin.words.wildcards`).

    The word is compared as it is written; engines, which hold stems, get a `TermLike` without some papers (`resolve`).
    """

    field: Literal["title", "text"]
    typed: str


@dataclass(frozen=True, slots=True)
class WildPhrase:
    """Words stand side by side, of which some are patterns; engines get the phrases of the index instead (`resolve`).

    Attributes:
        field: Where they stand.
        typed: The phrase as it was typed.
        words: Its words: a text for a word, a pattern otherwise.
    """

    field: Literal["title", "text"]
    typed: str
    words: tuple[str | Wild, ...]


@dataclass(frozen=True, slots=True)
class Nearness:
    """Two phrases stand near to each other, in any order, with at most `within` words between them.

    Each is one word or some side by side, none of them a stop word, and they have no term in common.
    """

    field: Literal["title", "text"]
    one: str
    other: str
    within: int


MOST_BETWEEN = 7
"""Words between two phrases that are near: the embedded engine keeps title and abstract hardly further apart."""


@dataclass(frozen=True, slots=True)
class And:
    """All of two or more parts hold."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of two or more parts holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Filter


@dataclass(frozen=True, slots=True)
class Says:
    """The terms of these words stand side by side in the title, or in the title or the abstract (`text`).

    Where the words have a stop word between others, any word may stand in its place. Words without a term are said by
    no paper.
    """

    field: Literal["title", "text"]
    words: str


MAX_DEPTH = 30
"""Maximum nesting of brackets and nots; deeper filters are refused, as each level is a recursive call."""


def unresolved(like: Alike | Wild | WildPhrase) -> TypeError:
    """Return the error for an engine that is given what only `resolve` can read."""
    return TypeError(f"{like} must be resolved before an engine compares")


Test = Compare | OneOf | Exists
"""The leaves of the tree that ask one thing of the values of one field."""

Filter = Test | Says | Begun | TermLike | Wild | WildPhrase | Nearness | Alike | And | Or | Not


def all_of(*parts: Filter | None) -> Filter | None:
    """Return the filter of all parts that there are; None if there are none."""
    given = tuple(part for part in parts if part is not None)
    return And(given) if len(given) > 1 else next(iter(given), None)


def any_of(*parts: Filter | None) -> Filter | None:
    """Return the filter of at least one of the parts that there are; None if there are none."""
    given = tuple(part for part in parts if part is not None)
    return Or(given) if len(given) > 1 else next(iter(given), None)


def joined(kind: type[And | Or], parts: Iterable[Filter | None]) -> Filter | None:
    """Return those parts that there are as one condition, each once and without brackets; None if there are none."""
    flat = (inner for part in parts if part for inner in (part.parts if isinstance(part, kind) else (part,)))
    once = tuple(dict.fromkeys(flat))
    return kind(once) if len(once) > 1 else next(iter(once), None)
