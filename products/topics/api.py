"""Topics of an index: found, and written into its fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from corpora.custom import CustomField
from corpora.errors import require
from corpora.lazy import np
from products.topics.topics import clean_field, find_topics
from search_plugin.contract.schema import custom_fields
from search_plugin.words.languages import get_language

if TYPE_CHECKING:
    from corpora.progress import Progress
    from products.topics.topics import Projection, Topics
    from search_plugin.contract.engine import Index


def topics_of(
    index: Index, *, count: int | None, task_format: str, projection: Projection, seed: int, progress: Progress
) -> Topics:
    """Find the topics of an index; parameters and errors as of `Library.topics`."""
    from products.indexed import read_vectors

    index.schema.vector(task_format)
    ids = sorted(index.ids())
    require(ids, f"The index {index.name} is empty, so it has no topics.")
    progress.stage("reading vectors", len(ids))
    held: list[str] = []
    rows: list[np.ndarray] = []
    for found, vectors in read_vectors(index, ids, task_format):
        held += found
        rows.append(vectors)
        progress.advance(len(found))
    progress.stage("clustering", len(held))
    return find_topics(
        held,
        np.concatenate(rows),
        list(_titles(index, held)),
        stop_words=get_language(index.schema.language).stop_words,
        count=count,
        projection=projection,
        seed=seed,
    )


def write_topics(index: Index, topics: Topics, field: str, progress: Progress) -> None:
    """Write the topic and the coordinates of each paper into the fields `field`, `field_x` and `field_y`."""
    from products.indexed import in_blocks

    names = (clean_field(field), f"{field}_x", f"{field}_y")
    kinds = (CustomField(names[0], "keyword"), CustomField(names[1], "number"), CustomField(names[2], "number"))
    index.add_fields(custom_fields(kinds))
    progress.stage("writing", len(topics.ids))
    for rows in in_blocks(range(len(topics.ids))):
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


def _titles(index: Index, ids: list[str]) -> Iterator[str]:
    from products.indexed import read_documents

    for documents in read_documents(index, ids, []):
        yield from (one.paper.title for one in documents)
