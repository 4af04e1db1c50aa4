"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import rich_click as click

import ses
from corpora.errors import InputError
from corpora.options import Option, options_of
from ses.argument_validation import options_of_function
from ses.settings import SETTINGS, Settings
from ses.terminal.messages import as_flag, with_flags

if TYPE_CHECKING:
    from ses.indexes.open_index import OpenIndex
    from ses.library import Library

F = TypeVar("F", bound=Callable[..., Any])


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds several options to a command."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


PATH = click.Path(path_type=Path)
"""The type of an option that takes a path, which may not exist yet."""

html_option = click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also write a page with plots."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


def described_options(described: Callable[..., Any], *names: str) -> Callable[[F], F]:
    """Return a decorator that adds the options that a class or the arguments of a function describe.

    They are those of the names, or all that are typed; of a function those that it takes by name. What the user gave is
    read by `given_of`. Options of a function have its defaults; those of a class have none here, since files and the
    environment may hold other ones.
    """
    chosen = [one for one in _described(described) if not names or one.name in names]
    if isinstance(described, type):
        return together(*map(option_from, chosen))
    return together(*(option_from(one, default=one.default) for one in chosen))


def own_options(function: F) -> F:
    """Add the options that the arguments of a command itself describe, each as `Annotated[type, Option(...)]`."""
    return described_options(function)(function)


def _described(described: Callable[..., Any]) -> list[Option]:
    """Return the options that a class or a function describes, and that can be written as text."""
    if isinstance(described, type):
        return [one for one in options_of(described) if one.typed]
    takes = signature(described).parameters
    by_name = [one for one in options_of_function(described) if takes[one.name].kind is Parameter.KEYWORD_ONLY]
    return [one for one in by_name if one.typed]


def option_from(option: Option, default: Any = None) -> Callable[[F], F]:
    """Return an option of the command line, with its value where the user gives none."""
    flag, help_ = as_flag(option.flag or option.name), with_flags(option.help)
    if option.choices:
        help_ += f": {option.choices_text}"
    several = not {Sequence, Mapping}.isdisjoint(_origins(option))
    if several:
        help_ += "; repeatable"
    has_default = default is not None and default is not False and default not in ("", ())  # then click shows it
    help_ += f" [default: {with_flags(option.default_text)}]." if option.default_text and not has_default else "."
    if option.type is bool:
        return click.option(flag, option.name, is_flag=True, help=help_)
    numbers = {int: "N", float: "NUMBER"}
    one = get_args(option.type)[0] if get_origin(option.type) is Sequence else option.type
    kind: Any = PATH if one is Path else one if one in numbers else str
    if get_origin(one) is Literal:
        kind = click.Choice(get_args(one))
    elif one in numbers and option.schema:
        low = option.least if option.above is None else option.above
        high = option.most if option.below is None else option.below
        ranges: Any = click.IntRange if one is int else click.FloatRange
        kind = ranges(low, high, min_open=option.above is not None, max_open=option.below is not None)
    return click.option(
        flag,
        option.name,
        multiple=several,
        type=kind,
        **({"required": True} if option.required else {"default": default, "show_default": has_default}),
        metavar=option.form or numbers.get(one),
        help=help_,
    )


def _origins(option: Option) -> list[Any]:
    """Return the kinds of values that an option takes, such as `Mapping` of `Mapping[str, str] | str`."""
    kinds = get_args(option.type) if get_origin(option.type) is UnionType else (option.type,)
    return [get_origin(kind) for kind in kinds]


engine_option = described_options(Settings, "engine")
engine_options = together(engine_option, json_option)
runtime_options = described_options(Settings, "runtime", "precision", "long_text")
model_options = together(described_options(Settings, "model"), runtime_options)
index_option = described_options(Settings, "index")
default_index_option = click.option(
    "--index",
    metavar="NAME",
    help="The index where a request names none [default: that of `ses indexes use`, or the first one].",
)


def given_of(described: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the user gave of the options that a class or a function describes, as Python takes it."""
    given = {}
    for one in _described(described):
        value = options.get(one.name)
        if value is None or value is False or value == ():
            continue
        if one.reader:
            value = one.reader(value)
        elif Mapping in (origins := _origins(one)) and Sequence not in origins:
            value = parse_pairs(value, one.flag or one.name, one.form)
        given[one.name] = value
    return given


def first_given(options: Mapping[str, Any]) -> str:
    """Return the name of the first option that the user gave; empty if none was given."""
    return next((name for name, value in options.items() if value), "")


def settings_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a command that are settings."""
    return {name: value for name, value in options.items() if name in SETTINGS and name != "index"}


def parse_pairs(texts: Sequence[str], option: str, form: str) -> dict[str, str]:
    """Read values by name, as an option that can be repeated takes them.

    Args:
        texts: Each as `NAME=VALUE`.
        option: Name of the option, for errors.
        form: What the option takes, such as `ATTRIBUTE=COLUMN`, for errors.

    Returns:
        Values by name.

    Raises:
        InputError: If one has another form, or a name is given twice.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        if not (name and value):
            raise InputError(f"{text!r} can't be read", f"write it as <{option}={form}>")
        if name in pairs:
            raise InputError(f"{name} is given twice, as {pairs[name]} and as {value}", "leave one of them out")
        pairs[name] = value
    return pairs


def open_library(options: Mapping[str, Any], index: str | None = None) -> Library:
    """Open the library that the options of a command name, with another default index if one is given."""
    return ses.open(**settings_of(options), **({"index": index} if index else {}))


def open_index(options: Mapping[str, Any], name: str | None) -> OpenIndex:
    """Open an index of the library that the options of a command name; the default index if no name is given."""
    library = open_library(options)
    return library[name] if name else library.default()
