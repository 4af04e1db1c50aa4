"""The reference of the command line in Markdown: `python -m ses.terminal.reference > docs/cli.md`.

`python -m ses.terminal.reference docs/python.md` writes the tables of options and settings into that page.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import rich_click as click

from corpora.errors import as_argument, written
from corpora.options import Option, options_of
from indexer.options import IndexOptions
from search_plugin.request import search_options
from ses.service.settings import ServiceSettings, SiteSettings
from ses.settings import Settings
from ses.terminal.cli import ses
from ses.terminal.lazy import LazyGroup

_HEAD = """\
# The command line

Made from the commands by `make docs`; a test fails where it is out of date. `--help` after any command shows the same.
"""


def commands(group: click.Group = ses, parent: click.Context | None = None) -> Iterator[click.Context]:
    """Yield a group and every command below it in the order of the help. Each context has the command's full name."""
    context = click.Context(group, parent=parent, info_name=group.name, show_default=True, **group.context_settings)
    yield context
    for name in group.list_commands(context):
        command = group.load(name) if isinstance(group, LazyGroup) else group.commands[name]
        if isinstance(command, click.Group):
            yield from commands(command, context)
        elif not command.hidden:
            yield click.Context(command, parent=context, info_name=name, show_default=True)


def parameters(context: click.Context) -> list[click.Parameter]:
    """Return a command's own arguments and options in their order, without `--help` and hidden ones."""
    return [param for param in context.command.params if not getattr(param, "hidden", False)]


def reference(group: click.Group = ses) -> str:
    """Return the reference of all commands, independent of the terminal."""
    return "\n".join([_HEAD, *(_section(context) for context in commands(group))])


def _section(context: click.Context) -> str:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    blocks = [f"## {context.command_path}", f"```\n{usage}\n```", *_paragraphs(command.help or "")]
    listed = parameters(context)
    if listed:
        blocks.append("\n".join(_item(param, context) for param in listed))
    if isinstance(command, click.Group):
        children = [f"{context.command_path} {name}" for name in command.list_commands(context)]
        blocks.append("Commands: " + ", ".join(f"[`{child}`](#{child.replace(' ', '-')})" for child in children))
    return "\n\n".join(blocks) + "\n"


def _paragraphs(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n") if paragraph.strip()]


def _item(param: click.Parameter, context: click.Context) -> str:
    name, notes = param.make_metavar(context), ["required"] if param.required else []
    if isinstance(param, click.Option):
        name = ", ".join([*param.opts, *param.secondary_opts]) + ("" if param.is_flag or param.count else f" {name}")
        extra = param.get_help_extra(context)
        notes += [f"default: {extra['default']}"] if "default" in extra else []
        notes += [extra["range"]] if "range" in extra else []
    help_ = " ".join((getattr(param, "help", None) or "").split())
    return f"- `{name}`" + (f": {help_}" if help_ else "") + (f" [{'; '.join(notes)}]" if notes else "")


_TABLES: Mapping[str, Callable[[], Sequence[Option]]] = {
    "Options of a page": search_options,
    "Options of indexing": partial(options_of, IndexOptions),
}
"""The options of each table, by its heading."""


_SETTINGS: Mapping[str, tuple[type, str]] = {
    "settings": (Settings, "SES_"),
    "service settings": (ServiceSettings, "SES_SERVE_"),
    "site settings": (SiteSettings, ""),
}
"""The table of each comment in a page, and the prefix of its variables; none if the environment can't set them."""


def settings_table(table: type, prefix: str) -> str:
    """Return the rows of a table of settings."""
    columns = ["in `ses.toml`", *(["in the environment"] if prefix else []), "meaning", "default"]
    rows = [" | ".join(columns), " | ".join(["---"] * len(columns))]
    for one in options_of(table):
        variable = [f"`{prefix}{one.name.upper()}`"] if prefix else []
        rows.append(" | ".join([f"`{one.name}`", *variable, *_meaning(one)]))
    return "".join(f"| {row} |\n" for row in rows)


def with_options(page: str) -> str:
    """Return a page of Markdown with the tables of options below their headings, and of settings at their comments."""
    for title, (table, prefix) in _SETTINGS.items():
        head, comment, rest = page.partition(f"<!-- {title} -->\n")
        _, end, after = rest.partition(f"<!-- end of {title} -->")
        page = f"{head}{comment}{settings_table(table, prefix)}{end}{after}" if comment else page
    for title, described in _TABLES.items():
        head, heading, rest = page.partition(f"### {title}\n\n")
        if not heading:
            continue
        _, next_heading, after = rest.partition("\n### ")
        rows = "".join(map(_row, described()))
        page = f"{head}{heading}| option | meaning | default |\n| --- | --- | --- |\n{rows}{next_heading}{after}"
    return page


def _row(one: Option) -> str:
    return f"| `{one.name}` | {' | '.join(_meaning(one))} |\n"


def _meaning(one: Option) -> tuple[str, str]:
    """Return what an option means, with the values that it takes, and its default."""
    values = f": {', '.join(f'`{value}`' for value in one.values)}" if one.values else ""
    values += f", or {one.others}" if one.others else ""
    return written(one.help, as_argument) + values, written(one.default_text, as_argument)


if __name__ == "__main__":
    for name in sys.argv[1:]:  # pages with a table of options
        Path(name).write_text(with_options(Path(name).read_text(encoding="utf-8")), encoding="utf-8")
    if not sys.argv[1:]:
        click.echo(reference(), nl=False)
