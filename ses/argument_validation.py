"""Arguments of the Python API, checked against the annotations of its functions: a wrong one is an `InputError`.

The bounds of an argument that is annotated with an `Option` are checked too.

Types that a module imports for type checkers alone are imported when an argument of such a type is given.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import re
import reprlib
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from corpora.errors import InputError
from corpora.options import Option, whole_option
from corpora.plain import plain

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

_ELSEWHERE = {
    "Bm25": "search_plugin.contract.schema",
    "FieldValue": "corpora.custom",
    "Harvest": "corpora.obtaining",
    "Hierarchy": "products.tags.hierarchy",
    "Hit": "search_plugin.pages.hit",
    "Join": "search_plugin.contract.legs",
    "Mode": "search_plugin.request",
    "Paper": "corpora.paper",
    "Passages": "search_plugin.contract.schema",
    "Progress": "corpora.progress",
    "Projection": "products.topics.topics",
    "Quantization": "search_plugin.contract.schema",
    "Venue": "products.reviewers.venue",
}
"""Where the types of arguments are that the API's modules import for type checkers alone."""

_SIMPLE = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", Path: "a path"}
"""What messages call the types of simple values."""

_PUBLIC = ("Harvest", "Hit", "Paper")
"""Classes of arguments that users have at hand."""

_DESCRIPTION = re.compile(r"^Annotated\[(.+?), (?:Option\(.*\)|\w+)\]$", re.DOTALL)

_CHECKED_MAGIC = ("__getitem__", "__contains__")


class _Wrong(Exception):  # noqa: N818 - it never leaves this module
    """A value is of no type that an annotation allows."""


@dataclass(frozen=True, slots=True)
class _Arguments:
    """What a function takes.

    Attributes:
        signature: The signature of the function.
        annotations: Annotation of each argument and option as text, and the module in which it holds.
        open: Whether the function itself checks the names of further options.
    """

    signature: inspect.Signature
    annotations: Mapping[str, tuple[str, str]]
    open: bool


def checked_methods(cls: C) -> C:
    """Check the arguments of all public methods of a class."""
    for name, held in list(vars(cls).items()):
        if inspect.isfunction(held) and (name in _CHECKED_MAGIC or not name.startswith("_")):
            setattr(cls, name, checked(held))
    return cls


def checked(function: F) -> F:
    """Check the arguments of a function or a dataclass, and make them plain: an `int` for an `np.int64`.

    Where a list of texts is expected, one text is a list of one.

    Args:
        function: Function with annotations.

    Returns:
        The same function. It raises `InputError` for a wrong argument, before it does anything.
    """

    @functools.wraps(function, updated=())  # a dataclass has what no function can hold
    def call(*given: Any, **named: Any) -> Any:
        takes = _arguments(function)
        taken = f"it takes {', '.join(takes.annotations) or 'no arguments'}."
        for name in named:
            if name not in takes.annotations and not takes.open:
                raise InputError(f"{function.__name__} takes no {name!r}{nearest(name, takes.annotations)}; {taken}")
        try:
            bound = takes.signature.bind(*given, **named)
        except TypeError as error:
            raise InputError(f"{function.__name__} can't be called so ({error}); {taken}") from None
        for name, value in bound.arguments.items():
            if takes.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = {option: _argument(takes, option, one) for option, one in value.items()}
            else:
                bound.arguments[name] = _argument(takes, name, value)
        return function(*bound.args, **bound.kwargs)

    call.__signature__ = _with_options(inspect.signature(function), function.__module__)  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]  # of the same signature


def nearest(name: str, known: Iterable[str], write: Callable[[str], str] = str) -> str:
    """Return `, the nearest is NAME` for a misspelt name, shown as `write` does, or nothing where none is near."""
    near = get_close_matches(name.lower(), known, 1, 0.7)
    return f", the nearest is {write(near[0])}" if near else ""


def options_of_function(function: Callable[..., Any]) -> tuple[Option, ...]:
    """Return the descriptions of the arguments of a function that are annotated with one, as `options_of` does."""
    takes = _arguments(inspect.unwrap(function))
    found = []
    for name, (annotation, module) in takes.annotations.items():
        described = _described(name, annotation, module)[1]
        if described and name in takes.signature.parameters:
            default = takes.signature.parameters[name].default
            required = default is inspect.Parameter.empty
            found.append(replace(described, required=required, default=None if required else default))
    return tuple(found)


def _with_options(signature: inspect.Signature, module: str) -> inspect.Signature:
    """Return a signature as help and notebooks show it: types without descriptions, and `**options` by their names."""
    parameters = [
        one.replace(annotation=_DESCRIPTION.sub(r"\1", one.annotation)) if isinstance(one.annotation, str) else one
        for one in signature.parameters.values()
    ]
    signature = signature.replace(parameters=parameters)
    if not parameters or not str(parameters[-1].annotation).startswith("Unpack["):
        return signature
    (options,) = get_args(_resolved(parameters[-1].annotation, module))
    shown = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in get_type_hints(options).items()
    ]
    return signature.replace(parameters=[*parameters[:-1], *shown])


@functools.cache
def _arguments(function: Callable[..., Any]) -> _Arguments:
    signature = inspect.signature(function)
    annotations: dict[str, tuple[str, str]] = {}
    is_open = False
    for name, one in signature.parameters.items():
        if one.kind is inspect.Parameter.VAR_KEYWORD:
            options = get_args(_resolved(one.annotation, function.__module__))
            is_open = not options
            for option in options:
                own = option.__annotations__.items()
                annotations |= {key: (value.__forward_arg__, option.__module__) for key, value in own}
        elif name != "self":
            annotations[name] = (one.annotation, function.__module__)
    return _Arguments(signature, annotations, is_open)


def _argument(takes: _Arguments, name: str, value: Any) -> Any:
    """Return the value of an argument, or raise `InputError` if it is of another type."""
    if name not in takes.annotations:
        return value
    kind, option = _described(name, *takes.annotations[name])
    parameter = takes.signature.parameters.get(name)
    if value is None and (parameter is None or parameter.default is None):
        return value  # of options, it means that none is given
    with suppress(_Wrong):
        if not (isinstance(value, str) and "\0" in value and Path in get_args(kind)):  # no system has such a path
            found = _fitting(kind, value)
            if option:
                option.check(found)
            return found
    raise InputError(f"{name} can't be {_shown(value)}", f"give {_expected(kind)}")


@functools.cache
def _described(name: str, annotation: str, module: str) -> tuple[Any, Option | None]:
    """Return the type of an argument, and its description if it is an option."""
    annotated = _resolved(annotation, module)
    kind = get_args(annotated)[0] if get_origin(annotated) is Annotated else annotated
    return kind, whole_option(name, annotated)


@functools.cache
def _resolved(annotation: str, module: str) -> Any:
    """Return what an annotation says; a name that is not known here may be anything."""
    names = dict(vars(sys.modules[module]))
    code = compile(annotation, "an annotation", "eval")
    for name in code.co_names:
        if name not in names and name in _ELSEWHERE:
            names[name] = getattr(import_module(_ELSEWHERE[name]), name)
        elif name not in names and not hasattr(builtins, name):
            names[name] = Any
    return eval(code, names)  # noqa: S307 - an annotation of ses


def _fitting(kind: Any, value: Any) -> Any:
    """Return a value as its type has it, or raise `_Wrong`."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        return _first(inner, value)
    if origin is Literal:
        return _plain_one(value, lambda found: found in inner)
    if origin is None:
        return _single(kind, value)
    if issubclass(origin, Mapping) and isinstance(value, Mapping):
        return {_fitting(inner[0], key): _fitting(inner[1], one) for key, one in value.items()}
    if issubclass(origin, Iterable) and not issubclass(origin, Mapping):
        return _several(origin, inner[0], value)
    if not issubclass(origin, Iterable) and callable(value):
        return value
    raise _Wrong


def _first(kinds: Iterable[Any], value: Any) -> Any:
    for kind in kinds:
        try:
            return _fitting(kind, value)
        except _Wrong:
            continue
    raise _Wrong


def _several(origin: type, kind: Any, value: Any) -> Any:
    if isinstance(value, str) and kind is str:
        value = [value]
    if isinstance(value, str | bytes | Mapping):
        raise _Wrong
    try:
        found = [_fitting(kind, one) for one in value]
    except TypeError:
        raise _Wrong from None
    return tuple(found) if issubclass(origin, Sequence) else found


def _single(kind: Any, value: Any) -> Any:
    """Return a value of a class, or raise `_Wrong`."""
    if kind is str:
        return _plain_one(value, lambda found: isinstance(value, str) and type(found) is str)
    if kind is bool:
        return _plain_one(value, lambda found: type(found) is bool)
    if kind in (int, float):
        # A text is no number, although that of an enum may be.
        return _plain_one(value, lambda found: type(found) is int or (kind is float and type(found) is float))
    if kind is Path and isinstance(value, str | PathLike):
        return Path(value)
    if kind is types.NoneType and value is None:
        return None
    if isinstance(kind, type) and isinstance(value, kind):
        return value
    raise _Wrong


def _plain_one(value: Any, fits: Callable[[Any], bool]) -> Any:
    try:
        found = plain(value)
    except ValueError:
        raise _Wrong from None
    if isinstance(found, list | dict) or not fits(found):
        raise _Wrong
    return found


def _shown(value: object) -> str:
    known = value is None or isinstance(value, str | int | float | list | tuple | dict | set)
    return reprlib.repr(value) if known else f"of the type {type(value).__name__}"


def _expected(kind: Any) -> str:
    """Say what to give for a type."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_expected, _simplest(inner))))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin is not None and issubclass(origin, Mapping):
        return f"a dictionary of {_plural(inner[1])}"
    if origin is not None and issubclass(origin, Iterable):
        return f"a list of {_plural(inner[0])}"
    if origin is not None:
        return "a function"
    if getattr(kind, "_is_protocol", False):
        methods = [name for name in vars(kind) if not name.startswith("_")]
        return f"an object with the methods {' and '.join(methods)}"
    return f"a {kind.__name__}"


def _plural(kind: Any) -> str:
    """Return what several of a type are called: `texts`, `dictionaries of texts`, `values`."""
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_plural, _simplest(get_args(kind)))))
    one = "a value" if kind is Any else _expected(kind)
    first, *rest = one.removeprefix("a ").split(" of ", 1)
    plural = first if kind is bool else f"{first.removesuffix('y')}ies" if first.endswith("y") else f"{first}s"
    return " of ".join([plural, *rest])


def _simplest(kinds: Iterable[Any]) -> list[Any]:
    """Return the types of a union that messages name: other classes only where there is nothing simpler."""
    given = [one for one in kinds if one is not types.NoneType]
    simple = [one for one in given if one in _SIMPLE or get_origin(one) or one.__name__ in _PUBLIC]
    return simple or given
