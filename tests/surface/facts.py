"""The facts of the surface: each function yields them for one of its files."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import re
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from ses.products import LibraryProduct
from tests.corpora.test_errors import LOWER, sources
from tests.tiny import make_model, papers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD = "# Written by `python -m tests.surface`. A change is a line of CHANGELOG.md.\n"
MANY = 120
"""Papers of the library whose files are listed: enough to train a tagger and a forecaster."""

OPTIONS = (
    *(f"indexer.options:{name}Options" for name in ("Index", "Rebuild", "Attached", "Encoding")),
    "products.forecasts.training:ForecastOptions",
    "products.reviewers.matching:MatchingOptions",
    "products.tags.training:TaggerOptions",
)
PRODUCTS = (
    "ses.indexes.cluster_tools:ClusterTools",
    "products.feeds.api:Feeds",
    "products.forecasts.api:Forecasts",
    "ses.training:Formats",
    "products.reviewers.api:Reviewers",
    "products.screening.api:Screening",
    "products.tags.api:Tags",
)
"""What a library has as attributes, and what functions take as `**options`."""

VARYING = re.compile(r"[0-9a-f]{8,}")
"""Parts of names of files that differ from run to run. Locks of tantivy come and go, and are left out."""


def commands(_: Path) -> Iterator[str]:
    """Yield the arguments and options of every command: type, default, and whether it is required or repeated."""
    from ses.terminal.reference import commands as all_commands
    from ses.terminal.reference import parameters

    for context in all_commands():
        yield context.command_path
        for parameter in parameters(context):
            told = parameter.to_info_dict()
            notes = [name for name in ("required", "multiple") if told[name]]
            notes += [f"default {told['default']}"] if _is_given(told["default"]) else []
            name = " ".join([*told["opts"], *told["secondary_opts"]])
            yield " ".join([context.command_path, name, _click_type(told["type"]), *notes])


def _is_given(default: Any) -> bool:
    return default is not None and default is not False and default not in ("", (), []) and "UNSET" not in str(default)


def _click_type(told: dict[str, Any]) -> str:
    if "choices" in told:
        return "|".join(map(str, told["choices"]))
    low, high = told.get("min"), told.get("max")
    return told["name"].split()[0] + ("" if low is high is None else f"[{_text(low)}..{_text(high)}]")


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def python(_: Path) -> Iterator[str]:
    """Yield the public names of ses, with a line for every argument and attribute."""
    import ses
    from corpora.options import options_of
    from search_plugin.request import search_options

    for name in ses.__all__:
        yield from _named(f"ses.{name}", getattr(ses, name))
    for place in PRODUCTS:
        module, _, name = place.partition(":")
        yield from _named(name, getattr(importlib.import_module(module), name))
    described = {"PageOptions": search_options()}
    for place in OPTIONS:
        described[place.partition(":")[2]] = options_of(resolve_name(place))
    for name, options in described.items():
        for one in options:
            yield f"{name} {one.name}: {_plain(one.type)} = {one.default!r}"


def _plain(kind: Any) -> str:
    return kind.__name__ if inspect.isclass(kind) else re.sub(r"\b[a-z_]+\.(?:\w+\.)*", "", str(kind))


def _named(name: str, held: Any) -> Iterator[str]:
    if inspect.isfunction(held):
        yield from _function(name, held)
        return
    yield f"{name} ({', '.join(base.__name__ for base in held.__bases__)})"
    attributes = {one.name: one for one in dataclasses.fields(held)} if dataclasses.is_dataclass(held) else {}
    for one in attributes.values():
        if not one.name.startswith("_"):
            yield f"{name}.{one.name}: {one.type}" + _default(one.default)
    for attribute in dir(held):
        kept = inspect.getattr_static(held, attribute)
        if attribute.startswith("_") or attribute in attributes or _is_of_python(held, attribute):
            continue
        if isinstance(kept, LibraryProduct):
            room = importlib.import_module(f"products.{kept.name}.api").room
            yield f"{name}.{attribute}: {inspect.signature(room).return_annotation}"
        elif isinstance(kept, property | functools.cached_property):
            function = kept.fget if isinstance(kept, property) else kept.func
            yield f"{name}.{attribute}: {inspect.signature(function).return_annotation}"
        elif inspect.isfunction(function := getattr(kept, "__func__", kept)):
            yield from _function(f"{name}.{attribute}", function)


def _is_of_python(kind: type, attribute: str) -> bool:
    home = next(one for one in kind.__mro__ if attribute in vars(one))
    return home.__module__ in ("builtins", "collections.abc")


def _function(name: str, function: Callable[..., Any]) -> Iterator[str]:
    own = inspect.signature(inspect.unwrap(function))
    shown = inspect.signature(function).parameters
    parameters = [one.replace(annotation=shown.get(one.name, one).annotation) for one in own.parameters.values()]
    signature = own.replace(parameters=parameters)
    yield f"{name}() -> {signature.return_annotation}"
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    for one in signature.parameters.values():
        if one.name not in ("self", "cls"):
            by_name = ", by name" if one.kind is inspect.Parameter.KEYWORD_ONLY else ""
            yield f"{name}() {marks.get(one.kind, '')}{one.name}: {one.annotation}{_default(one.default)}{by_name}"


def _default(value: Any) -> str:
    if value is dataclasses.MISSING or value is inspect.Parameter.empty:
        return ""
    return f" = {value.__name__ if inspect.isfunction(value) or inspect.isclass(value) else repr(value)}"


def http(folder: Path) -> Iterator[str]:
    """Yield the operations of the service, their parameters and answers, and the attributes of the schemas."""
    import ses
    from ses.service.app import make_app
    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

    library = ses.open(data_dir=folder / "none", cache_dir=folder / "cache")
    described = make_app(Service(library, ServiceSettings())).openapi()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            place = f"{method.upper()} {path}"
            yield f"{place}: {operation['summary']}"
            for one in operation.get("parameters", ()):
                yield f"{place} {one['in']} {one['name']}: {_schema(one['schema'])}" + " required" * one["required"]
            for kind, one in operation.get("requestBody", {}).get("content", {}).items():
                yield f"{place} body {kind}: {_schema(one['schema'])}"
            for status, answer in operation["responses"].items():
                for kind, one in answer.get("content", {"": {}}).items():
                    yield f"{place} answers {status}{' ' * bool(kind)}{kind}: {_schema(one.get('schema', answer))}"
    for name, schema in described["components"]["schemas"].items():
        for attribute, one in schema.get("properties", {}).items():
            yield f"{name}.{attribute}: {_schema(one)}" + " required" * (attribute in schema.get("required", ()))


def _schema(schema: Any) -> str:
    """Return a schema in a few words, with its bounds and its default."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(map(_schema, schema["anyOf"]))
    kind = "|".join(map(str, schema["enum"])) if "enum" in schema else schema.get("type", "any")
    kind += f" of {_schema(schema['items'])}" if "items" in schema else ""
    bounds = "Length", "Items", "imum"
    ends = [_text(next((schema[end + one] for one in bounds if end + one in schema), None)) for end in ("min", "max")]
    default = f" = {schema['default']!r}" if "default" in schema else ""
    return kind + (f"[{'..'.join(ends)}]" if any(ends) else "") + default


def settings(_: Path) -> Iterator[str]:
    """Yield the settings, with their type, their bounds and their default."""
    from corpora.options import options_of
    from ses.service.settings import ServiceSettings, SiteSettings
    from ses.settings import Settings

    for table, kind in (("", Settings), ("serve.", ServiceSettings), ("serve.site.", SiteSettings)):
        for one in options_of(kind):
            allowed = f" {one.bounds_text}" if one.bounds_text else ""
            yield f"{table}{one.name}: {_plain(one.type)}{allowed} = {one.default!r}"


def files(folder: Path) -> Iterator[str]:
    """Yield the files of a data folder with an index and one of each product."""
    import ses

    model = make_model(folder / "model", layers=1)
    library = ses.open(data_dir=folder / "data", cache_dir=folder / "cache", model=str(model), precision="fp32")
    rows = [
        dataclasses.replace(one, year=2000, venue="A", extra={"kind": "ab"[i % 2], "cited": i})
        for i, one in enumerate(papers(MANY))
    ]
    library.index("papers", rows, fields={"kind": "keyword", "cited": "number"})
    library.use("papers")
    ids = [one.id for one in rows]
    library.feeds.create("feed", liked=ids[:2])
    library.screening.create("screening")
    library.screening.label("screening", include=ids[:1], exclude=ids[1:2])
    library.tags.train("tags", "papers", "kind")
    library.forecasts.train("forecast", "papers", "cited")
    library.close()
    for path in (folder / "data").rglob("*"):
        if path.is_file() and ".tantivy" not in path.name:
            yield VARYING.sub("*", path.relative_to(folder / "data").as_posix())


def messages(_: Path) -> Iterator[str]:
    """Yield the texts of errors and warnings: `{}` stands for a value, and what is behind ` | ` is the hint."""
    for tree in chain.from_iterable(sources(package).values() for package in (*LOWER, "ses")):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (kind := _kind_of(node)):
                given = node.args[1:] if kind == "require" else node.args
                given = [*given, *(one.value for one in node.keywords if one.arg in ("sentence", "hint"))]
                told = " | ".join(_template(one) for one in given if not isinstance(one, ast.Starred))
                if re.search(r"\w", told.replace("{}", "")):
                    yield f"{'InputError' if kind == 'require' else kind}: {told}"


def _kind_of(call: ast.Call) -> str:
    """Return which error a call makes, `warning` if it logs one, or an empty text."""
    name = getattr(call.func, "attr", "") or getattr(call.func, "id", "")
    foreign = name in ("TypeError", "ValueError", "AttributeError", "OSError") or name.startswith("_")
    return name if name in ("require", "warning") or (name.endswith("Error") and not foreign) else ""


def _template(node: ast.expr) -> str:
    """Return a text of the sources; `{}` stands for what is known only when it runs."""
    if isinstance(node, ast.Constant):
        return " ".join(str(node.value).split())
    if isinstance(node, ast.JoinedStr):
        return "".join(one.value if isinstance(one, ast.Constant) else "{}" for one in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + _template(node.right)
    return "{}"


FACTS: dict[str, Callable[[Path], Iterator[str]]] = {
    one.__name__: one for one in (commands, files, http, messages, python, settings)
}
"""What makes each file. A function takes an empty folder."""


def place_of(name: str) -> Path:
    """Return the file of a name."""
    return Path(__file__).with_name(f"{name}.txt")


def text_of(name: str, folder: Path) -> str:
    """Return what the file of a name should hold: its facts, sorted."""
    return HEAD + "".join(f"{line}\n" for line in sorted(set(FACTS[name](folder))))
