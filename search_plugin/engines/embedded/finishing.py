"""Adds new rows and vectors to the derived files of a generation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from search_plugin.engines.embedded import approximate, columns, titles
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.records import from_record

if TYPE_CHECKING:
    from corpora.paper import Paper
    from search_plugin.contract.schema import VectorField
    from search_plugin.engines.embedded.fields import Kinds
    from search_plugin.engines.embedded.files import Files
    from search_plugin.engines.embedded.snapshot import Snapshot

UNCOLUMNED = 2_000
"""Maximum rows after those that the files of columns and titles cover; searches that need these rows read them."""

_SAVED = 100_000
"""Rows that are added to the files at once, so that the values of no more are in memory."""

_READ = 5_000
"""Papers that are in memory at once."""


def cover_rows(files: Files, snapshot: Snapshot, kinds: Kinds) -> None:
    """Add new rows to columns and titles if there are many. Each paper is read once for both.

    Args:
        files: Of the generation.
        snapshot: Of its last commit.
        kinds: Of the fields.
    """
    folder, count = files.folder, len(snapshot.rows)
    covered = columns.load(folder, count).stop
    if covered != len(titles.load(folder, count)):  # a process was killed between the two
        covered = 0
    if count - covered <= UNCOLUMNED:
        return
    for saved in _ranges(covered, count, _SAVED):
        values, keys = [columns.load(folder, saved.start)], [titles.load(folder, saved.start)]
        for rows in _ranges(saved.start, saved.stop, _READ):
            papers = _papers(files, snapshot, rows)
            values.append(columns.gather(papers, rows.start, kinds))
            keys.append(titles.gather(papers))
        columns.save(folder, values)
        titles.save(folder, keys)


def cover_vectors(files: Files, snapshot: Snapshot, field: VectorField) -> None:
    """Add new vectors to a field's index if there are many.

    Args:
        files: Of the generation.
        snapshot: Of its last commit.
        field: Of the vectors.
    """
    mapped = partial(files.vectors, field.name, snapshot.lengths)
    approximate.extend(files.folder, field.name, mapped, field.similarity)


@reads_stored
def _papers(files: Files, snapshot: Snapshot, rows: range) -> list[Paper | None]:
    """Return the papers in some rows; None for a row that is not current."""
    # Mapped for each block, because what was read of a mapping stays in memory as long as the mapping.
    records, block = files.papers(snapshot.lengths), slice(rows.start, rows.stop)
    places = zip(*(snapshot.rows[what][block].tolist() for what in ("offset", "size")), strict=True)
    return [
        from_record(records[start : start + size].tobytes(), start).paper if live else None
        for (start, size), live in zip(places, snapshot.live[block].tolist(), strict=True)
    ]


def _ranges(start: int, stop: int, size: int) -> Iterator[range]:
    return (range(at, min(at + size, stop)) for at in range(start, stop, size))
