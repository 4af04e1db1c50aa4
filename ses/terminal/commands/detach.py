"""`ses detach`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import rich_click as click

from ses.terminal.commands.attach import open_target
from ses.terminal.options import engine_options
from ses.terminal.progress import progress_on_stderr
from ses.terminal.results import say


@click.command()
@click.argument("target", metavar="[URL/]NAME")
@engine_options
def detach(*, target: str, as_json: bool, **options: Any) -> None:
    """Remove all that ses has written into an attached index, or beside it.

    Every document is again as its owner wrote it. A cluster can't drop a field from a mapping, so an unused field stays
    there. A run that was stopped resumes with the same command.
    """
    library, name = open_target(target, options)
    with progress_on_stderr() as progress:
        done = library.detach(name, progress=progress)
    restored = f"{done.restored:,} documents are as they were" if done.restored else "no document held vectors"
    lines = [f"{done.name} is detached from {done.target}: {restored}."]
    if done.left:
        lines.append(
            f"The unused field ses stays in the mapping of {', '.join(done.left)}: a cluster can't drop a field. Only "
            "indexing the documents into a new index would remove it."
        )
    if done.shared:
        lines.append(f"Documents that are also attached as {', '.join(done.shared)} keep the vectors of that.")
    say(asdict(done), lines, as_json=as_json)
