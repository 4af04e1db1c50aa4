"""`ses maps`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from products.maps.search import MapSettings
from ses.indexes.open_index import OpenIndex
from ses.terminal.options import (
    PATH,
    described_options,
    engine_options,
    given_of,
    index_option,
    model_options,
    open_index,
)
from ses.terminal.results import say, tell, write_csv

if TYPE_CHECKING:
    from products.maps.maps import PaperMap


@click.command()
@click.argument("words", nargs=-1)
@index_option
@described_options(MapSettings)
@described_options(OpenIndex.support, "filter", "mode")
@click.option("--out", type=PATH, metavar="FILE", help="Write id, title, topic, x and y of each paper as CSV.")
@model_options
@engine_options
def maps(words: tuple[str, ...], index: str | None, *, out: Path | None, as_json: bool, **options: Any) -> None:
    """Place the papers of a search by meaning, and name the topics among them.

    Without words, the papers that match --filter are placed, the newest first. Each topic is shown with its number of
    papers and the title nearest to its middle. The page of `ses serve` draws the same map.
    """
    given = given_of(MapSettings, options) | given_of(OpenIndex.support, options)
    made = open_index(options, index).map(" ".join(words), **given)
    if out:
        write_csv(out, ("id", "title", "topic", "x", "y"), _rows(made))
    for note in () if as_json else made.notes:
        tell(note, err=True)
    titles = {point.paper.id: point.paper.title for point in made.points}
    lines = [f"{one.size:6,}  {one.label}: {titles[one.nearest[0]]}" for one in made.topics]
    lines.append(f"{len(made.points):,} papers in {len(made.topics):,} topics, from index {made.index}")
    say(made.to_dict(), lines, as_json=as_json)


def _rows(made: PaperMap) -> Iterator[tuple[str | float, ...]]:
    for point in made.points:
        paper = point.paper
        yield paper.id, paper.title, made.topics[point.topic].label, point.x, point.y
