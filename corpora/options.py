"""The description of an option, told once for every interface: Python, the command line, HTTP and the documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache, reduce
from math import isfinite
from operator import or_
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from corpora.errors import InputError


@dataclass(frozen=True, slots=True)
class Option:
    """The description of an option, beside its type in a `TypedDict` or a dataclass of options.

    Attributes:
        help: What it means; other options in angle brackets, as in the hints of errors.
        form: What a user writes, such as `FIELD`, where the type does not say it.
        default_help: What happens without it, where its default does not say it.
        choices: The names that can be chosen, as `module:attribute` of their registry, or of a function that returns
            them; it is read when it is needed.
        others: What can be given beside these names.
        read: What reads a value that is written as text, also as `module:attribute`, where the type does not say it: a
            function of the text, or of the list of texts if the option takes several values.
        least: The smallest number that is allowed, if there is one.
        most: The largest one.
        above: The number that it must be larger than.
        below: The number that it must be smaller than.
        longest: Most characters of a text.
        example: A value for the documentation, as HTTP takes it.
        flag: Its name on the command line, where that is another one, such as `like` for `liked`.
        typed: Whether its value can be written as text.
        search_only: Whether only a search takes it, and not the search for similar papers.
        name: Name of the option.
        type: Type of its values, as a user gives them.
        secret: Whether its value is never shown.
        required: Whether it has no default.
        default: The value in force without it.
    """

    help: str
    form: str = ""
    default_help: str = ""
    choices: str = ""
    others: str = ""
    read: str | Callable[[Any], Any] = ""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    longest: int | None = None
    example: Any = None
    flag: str = ""
    typed: bool = True
    search_only: bool = False
    name: str = ""
    type: Any = None
    secret: bool = False
    required: bool = False
    default: Any = None

    @property
    def bounds_text(self) -> str:
        """The numbers that are allowed, for people; empty if all are."""
        if self.least is not None and self.most is not None:
            return f"from {self.least:,} to {self.most:,}"
        ends = ("of at least", self.least), ("above", self.above), ("at most", self.most), ("below", self.below)
        return " and ".join(f"{words} {end:,}" for words, end in ends if end is not None)

    @property
    def schema(self) -> dict[str, Any]:
        """The bounds, by their names in JSON Schema."""
        names = {"least": "minimum", "most": "maximum", "above": "exclusiveMinimum", "below": "exclusiveMaximum"}
        names["longest"] = "maxLength"
        return {word: end for name, word in names.items() if (end := getattr(self, name)) is not None}

    @property
    def number_text(self) -> str:
        """Which number to give, for messages: `a whole number from 1 to 9`."""
        return f"{'a whole number' if self.type is int else 'a number'} {self.bounds_text}"

    def allows(self, number: float) -> bool:
        """Whether a number is finite and within the bounds."""
        return (
            isfinite(number)
            and (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )

    def check(self, value: Any) -> None:
        """Raise `InputError` for a number out of bounds, or too long a text; the type is checked elsewhere."""
        if self.longest is not None and isinstance(value, str) and len(value) > self.longest:
            raise InputError(f"{self.name} has {len(value):,} characters", f"give at most {self.longest:,}")
        if isinstance(value, int | float) and not self.allows(value):
            raise InputError(f"{self.name} can't be {value:,}", f"give {self.number_text}")

    @property
    def values(self) -> tuple[str, ...]:
        """The values allowed, where they are few names."""
        if self.choices:
            found = resolve_name(self.choices)
            return tuple(found() if callable(found) else found)
        kind = get_args(self.type)[0] if get_origin(self.type) is tuple else self.type
        return get_args(kind) if get_origin(kind) is Literal else ()

    @property
    def choices_text(self) -> str:
        """What can be chosen, for people; empty where the type says it."""
        if not self.choices:
            return ""
        return ", ".join(self.values) + (f", or {self.others}" if self.others else "")

    @property
    def default_text(self) -> str:
        """What is in force without the option, for people; empty if nothing is."""
        nothing = self.default is None or self.default is False or self.default in ("", (), {})
        shown = ", ".join(map(str, self.default)) if isinstance(self.default, tuple) else str(self.default)
        return self.default_help or ("" if nothing else shown.lower() if self.default is True else shown)

    @property
    def reader(self) -> Callable[[Any], Any] | None:
        """What reads a value that is written as text; None where the type says it."""
        return resolve_name(self.read) if isinstance(self.read, str) and self.read else self.read or None


def options_of(described: type, defaults: Mapping[str, Any] | None = None) -> tuple[Option, ...]:
    """Return the descriptions of all options of a `TypedDict` or a dataclass, whole: with name, type, default and help.

    Each is annotated as `Annotated[type, Option(...)]`. A type `X | None` is that of X: None means that nothing is
    given. The defaults of a dataclass are its own, and what it does not show is secret; attributes that are no options
    are left out.
    """
    hidden: set[str] = set()
    if is_dataclass(described):
        defaults = {one.name: None if one.default is MISSING else one.default for one in fields(described)}
        hidden = {one.name for one in fields(described) if not one.repr}
    hints = get_type_hints(described, include_extras=True).items()
    found = (whole_option(name, annotated, (defaults or {}).get(name)) for name, annotated in hints)
    return tuple(replace(one, secret=one.name in hidden) for one in found if one)


def whole_option(name: str, annotated: Any, default: Any = None) -> Option | None:
    """Return the description that a type is annotated with, with name, type and default; None if it has none."""
    kind, *described = get_args(annotated) if get_origin(annotated) is Annotated else (annotated,)
    if not described or not isinstance(described[0], Option):
        return None
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    whole = reduce(or_, (one for one in kinds if one is not NoneType))
    return replace(described[0], name=name, type=whole, default=default)


def check_options(given: object, described: type | None = None) -> None:
    """Raise `InputError` if an attribute is out of the bounds of its option, which its class or another describes."""
    for option in _bounded(described or type(given)):
        option.check(getattr(given, option.name))


@cache
def _bounded(described: type) -> tuple[Option, ...]:
    return tuple(one for one in options_of(described) if one.schema)
