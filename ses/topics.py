"""Topics of an index: found, and written into its fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from corpora.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from indexer.report import Progress
    from products.topics.clusters import Projection, Topics
    from search_plugin.engines.base import Index

_BLOCK = 1_000


def topics_of(
    index: Index, *, count: int | None, task_format: str, projection: Projection, seed: int, progress: Progress
) -> Topics:
    """Find the topics of an index; parameters and errors as of `Library.topics`."""
    import numpy as np

    from products.topics.clusters import find_topics

    index.schema.vector(task_format)
    ids = sorted(index.ids())
    if not ids:
        raise InputError(f"The index {index.name} is empty, so it has no topics.")
    progress.stage("reading vectors", len(ids))
    held: list[str] = []
    rows: list[np.ndarray] = []
    for block in _blocks(ids):
        found = index.vectors(block, task_format)
        held += [name for name in block if name in found]
        rows += [found[name] for name in block if name in found]
        progress.advance(len(block))
    progress.stage("clustering", len(held))
    return find_topics(held, np.stack(rows), _texts(index, held), count=count, projection=projection, seed=seed)


def write_topics(index: Index, topics: Topics, field: str, progress: Progress) -> None:
    """Write the topic and the coordinates of each paper into the fields `field`, `field_x` and `field_y`."""
    from corpora.custom import CustomField
    from products.topics.clusters import clean_field
    from search_plugin.fields import custom_fields

    names = (clean_field(field), f"{field}_x", f"{field}_y")
    kinds = (CustomField(names[0], "keyword"), CustomField(names[1], "number"), CustomField(names[2], "number"))
    index.add_fields(custom_fields(kinds))
    progress.stage("writing", len(topics.ids))
    for start in range(0, len(topics.ids), _BLOCK):
        rows = range(start, min(start + _BLOCK, len(topics.ids)))
        index.update(
            {
                topics.ids[row]: {
                    names[0]: topics.topics[topics.topic_of[row]].label,
                    names[1]: round(float(topics.places[row, 0]), 6),
                    names[2]: round(float(topics.places[row, 1]), 6),
                }
                for row in rows
            }
        )
        progress.advance(len(rows))
    index.finish()


def _texts(index: Index, ids: list[str]) -> Iterator[str]:
    for block in _blocks(ids):
        papers = index.papers(block)
        for name in block:
            yield f"{papers[name].title}\n{papers[name].abstract}"


def _blocks(ids: list[str]) -> Iterator[list[str]]:
    return (ids[start : start + _BLOCK] for start in range(0, len(ids), _BLOCK))
