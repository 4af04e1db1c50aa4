"""`ses topics`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ses.library import Library
from ses.terminal.options import PATH, described_options, engine_options, given_of, open_library
from ses.terminal.results import say, write_csv

if TYPE_CHECKING:
    from products.topics.topics import Topics


@click.command()
@click.option("--index", "name", metavar="NAME", help="The index [default: as of a search].")
@described_options(Library.topics)
@click.option("--dry-run", is_flag=True, help="Write nothing into the index.")
@click.option("--out", type=PATH, metavar="FILE", help="Write id, topic, x and y as CSV too.")
@engine_options
def topics(*, name: str | None, dry_run: bool, out: Path | None, as_json: bool, **options: Any) -> None:
    """Cluster the papers of an index into topics, and label them by phrases of their titles.

    Each topic is shown with its number of papers and the title nearest to its middle.
    The labels and coordinates are written into the index, so that searches can filter, count and show them, as in
    --facet topic. Nothing is encoded again.
    """
    from ses.terminal.progress import progress_on_stderr

    library = open_library(options)
    field = "" if dry_run else options["field"]
    given = {**given_of(Library.topics, options), "field": field}
    index = name or library.default().name
    with progress_on_stderr() as progress:
        found = library.topics(index, progress=progress, **given)
    if out:
        write_csv(out, ("id", "topic", "x", "y"), _rows(found))
    rows = [
        {"topic": one.label, "papers": one.size, "terms": list(one.terms), "nearest": list(one.nearest)}
        for one in found.topics
    ]
    held = library[index].index.papers([one.nearest[0] for one in found.topics])
    titles = {id_: paper.title for id_, paper in held.items()}
    lines = [f"{one.size:6,}  {one.label}: {titles.get(one.nearest[0], '')}" for one in found.topics]
    where = f"in the fields {field}, {field}_x and {field}_y" if field else "not written"
    lines.append(f"{len(found.ids):,} papers in {len(found.topics):,} topics, {where}")
    say({"topics": rows, "papers": len(found.ids)}, lines, as_json=as_json)


def _rows(found: Topics) -> Iterator[tuple[str | float, ...]]:
    for row, name in enumerate(found.ids):
        yield name, found.topics[found.topic_of[row]].label, *(round(float(value), 6) for value in found.places[row])
