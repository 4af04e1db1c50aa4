"""`ses cluster install`, `ses cluster diff` and `ses cluster remove`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import rich_click as click

from ses.indexes.cluster_tools import ClusterTools
from ses.settings import Settings
from ses.terminal.options import described_options, engine_options, given_of, open_library, together
from ses.terminal.results import say, tell

if TYPE_CHECKING:
    from search_plugin.engines.cluster.frontends.installation import Installed

_wanted = together(
    click.argument("name", required=False, default=""),
    described_options(ClusterTools.install),
    described_options(Settings, "model"),
    engine_options,
)


@click.command()
@_wanted
def install(*, name: str, as_json: bool, **options: Any) -> None:
    """Keep search templates, a search pipeline and a component template for an index in its cluster.

    Their names begin with ses- and the name of the index [default: the default index]. What exists already is not
    written again, and nothing of others is touched. `ses cluster remove` deletes all of them.

    With --query-words, it also keeps the vector of each word of the papers and of the model's vocabulary, as far as
    there is a table of queries for the model: the one of ses, or a folder that is given as --model.

    With --connector, the cluster asks for vectors itself. Elasticsearch needs an Enterprise licence for that, from 8.18
    and 9.0 on, and OpenSearch its plugin ml-commons.
    """
    done = open_library(options).cluster.install(name, **given_of(ClusterTools.install, options))
    say({"artifacts": _documents(done)}, _summary(done), as_json=as_json)


@click.command()
@_wanted
@click.pass_context
def diff(context: click.RichContext, /, *, name: str, as_json: bool, **options: Any) -> None:
    """Show what `ses cluster install` with the same options would change in the cluster, and change nothing.

    With --connector, what the cluster can't hold is shown too. The exit code is 0 if there is nothing to change, and 1
    if there is something.
    """
    found = open_library(options).cluster.diff(name, **given_of(ClusterTools.install, options))
    shown = [one for one in found if one.lines and (options["connector"] or not one.why)]
    if as_json:
        say({"artifacts": _documents(found)}, "", as_json=True)
    else:
        tell("\n".join([line for one in shown for line in one.lines] or ["Nothing to change."]))
        tell("\n".join(_left_out(found)), err=True) if any(one.why for one in found) else None
    context.exit(1 if any(not one.why for one in shown) else 0)


@click.command()
@click.argument("name", required=False, default="")
@engine_options
def remove(*, name: str, as_json: bool, **options: Any) -> None:
    """Delete all that `ses cluster install` has made for an index, also by another version of ses.

    The index itself stays; it may be deleted already. Only what carries the mark of ses and of this index is deleted.
    """
    done = open_library(options).cluster.remove(name)
    say({"artifacts": _documents(done)}, _summary(done) or ["Nothing was there."], as_json=as_json)


def _documents(outcomes: Sequence[Installed]) -> list[dict[str, Any]]:
    return [asdict(one) for one in outcomes]


def _summary(outcomes: Sequence[Installed]) -> list[str]:
    shown = [
        f"{one.kind} {one.name}: {one.change}{f' ({one.note})' if one.note else ''}" for one in outcomes if not one.why
    ]
    return [*shown, *_left_out(outcomes)]


def _left_out(outcomes: Sequence[Installed]) -> Iterator[str]:
    """Yield a sentence for each reason for which something was left out."""
    for why in dict.fromkeys(one.why for one in outcomes if one.why):
        names = [f"{one.kind} {one.name}" for one in outcomes if one.why == why]
        yield f"{why}, so these are left out: {', '.join(names)}."
