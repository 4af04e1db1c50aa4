"""`ses delete`."""

from __future__ import annotations

from typing import Any

import rich_click as click

from ses.terminal.options import engine_options, open_index
from ses.terminal.results import say


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--index", metavar="NAME", help="Their index [default: that of `ses indexes use`, or the only one].")
@engine_options
@click.pass_context
def delete(
    context: click.RichContext, /, *, ids: tuple[str, ...], index: str | None, as_json: bool, **options: Any
) -> None:
    """Delete papers from an index by their ids; - reads ids from standard input, one per line.

    The exit code is 1 if the index does not hold some of them. A deleted paper comes back when a corpus that holds it
    is indexed again.
    """
    opened = open_index(options, index)
    wanted = list(dict.fromkeys(line for id_ in ids for line in (_piped() if id_ == "-" else [id_])))
    missing = opened.delete(wanted)
    deleted = len(wanted) - len(missing)
    lines = [f"Papers deleted from the index {opened.name}: {deleted:,}."]
    if missing:
        shown = ", ".join(missing[:10]) + (", ..." if len(missing) > 10 else "")
        lines.append(f"Not in the index: {len(missing):,} ({shown}).")
    say({"index": opened.name, "deleted": deleted, "missing": missing}, lines, as_json=as_json)
    context.exit(1 if missing else 0)


def _piped() -> list[str]:
    with open(0, encoding="utf-8", errors="replace", closefd=False) as piped:
        return [line.strip() for line in piped if line.strip()]
