"""The description of an option, told once for every interface: Python, the command line, HTTP and the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from operator import or_
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Option:
    """The description of an option, beside its type in a `TypedDict` or a dataclass of options.

    Attributes:
        help: What it means; other options in angle brackets, as in the hints of errors.
        form: What a user writes, such as `FIELD`, where the type does not say it.
        default_help: What happens without it, where its default does not say it.
        choices: The names that can be chosen, as `module:attribute` of their registry; it is read when it is needed.
        others: What can be given beside these names.
        read: What reads a value that is written as text, as `module:attribute`, where the type does not say it: a
            function of the text, or of the list of texts if the option takes several values.
        least: The smallest number that is allowed, if there is one.
        typed: Whether its value can be written as text.
        search_only: Whether only a search takes it, and not the search for similar papers.
        name: Name of the option.
        type: Type of its values, as a user gives them.
        default: The value in force without it.
    """

    help: str
    form: str = ""
    default_help: str = ""
    choices: str = ""
    others: str = ""
    read: str = ""
    least: int | None = None
    typed: bool = True
    search_only: bool = False
    name: str = ""
    type: Any = None
    default: Any = None

    @property
    def values(self) -> tuple[str, ...]:
        """The values allowed, where they are few names."""
        if self.choices:
            return tuple(resolve_name(self.choices))
        return get_args(self.type) if get_origin(self.type) is Literal else ()

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
        return self.default_help or ("" if nothing else str(self.default))


def options_of(described: type, defaults: Mapping[str, Any] | None = None) -> tuple[Option, ...]:
    """Return the descriptions of all options of a `TypedDict` or a dataclass, whole: with name, type, default and help.

    Each is annotated as `Annotated[type, Option(...)]`. A type `X | None` is that of X: None means that nothing is
    given. The defaults of a dataclass are its own.
    """
    found = []
    if is_dataclass(described):
        defaults = {one.name: one.default for one in fields(described)}
    for name, annotated in get_type_hints(described, include_extras=True).items():
        kind, option = get_args(annotated)[:2]
        kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        whole = reduce(or_, (one for one in kinds if one is not NoneType))
        found.append(replace(option, name=name, type=whole, default=(defaults or {}).get(name)))
    return tuple(found)
