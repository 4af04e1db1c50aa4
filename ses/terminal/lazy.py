"""Groups whose commands are imported when they run: the help of a group needs only names and first lines."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

import rich_click as click


class LazyGroup(click.RichGroup):
    """A group whose commands are imported when they are run, or when their own help is shown.

    Args:
        *args: Arguments of a group.
        lazy: Place of each command by its name, as `module:attribute`, and the beginning of its help.
        **kwargs: Options of a group.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy
        for name, (_, summary) in lazy.items():
            self.add_command(click.RichCommand(name=name, short_help=summary))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is to run, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, self.load(name) if name else command, rest

    def load(self, name: str) -> click.Command:
        """Return a command by its name, imported."""
        command: click.Command = resolve_name(self.lazy[name][0])
        return command
