"""What a write appends to the files of a generation, and how the derived files are brought up to date after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from corpora.lazy import np
from corpora.paper import Paper
from search_plugin.contract.schema import IndexSchema, SparseField, VectorField
from search_plugin.engines.embedded import columns, sparse, titles, vectors
from search_plugin.engines.embedded.columns import Kinds
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.files import NOTHING, Appended, Files
from search_plugin.engines.embedded.records import Written, from_record, to_record
from search_plugin.engines.embedded.snapshot import Snapshot
from search_plugin.engines.embedded.vectors import Matrix, as_stored, read_stored


def batch_of(
    written: Sequence[Written], older: Mapping[str, int], snapshot: Snapshot, schema: IndexSchema, files: Files
) -> Appended:
    """Return what to append for some papers; `older` has the rows of those that replace an earlier version, by id."""
    records = [to_record(one.encoded) for one in written]
    rows = np.zeros(len(written), files.row_type)
    sizes = np.array([len(record) for record in records], np.int64)
    rows["offset"], rows["size"] = snapshot.lengths.papers + np.cumsum(sizes) - sizes, sizes
    rows["replaces"] = [older.get(one.paper.id, NOTHING) for one in written]
    fresh: dict[str, np.ndarray] = {}
    for field in schema.written:
        name, length = field.name, snapshot.lengths.vectors[field.name]
        places, matrices = [], []
        for _, _, held in written:
            if isinstance(held, int):
                places.append(snapshot.rows[held][[f"{name}.start", f"{name}.count"]].item())
            else:
                matrix = np.asarray(held[field.format], np.float32).reshape(-1, field.width)
                places.append((length, len(matrix)))
                matrices.append(matrix)
                length += len(matrix)
        rows[f"{name}.start"], rows[f"{name}.count"] = zip(*places, strict=True)
        if matrices:
            fresh[name] = as_stored(np.concatenate(matrices), field)
    return Appended(rows, b"".join(records), fresh)


UNCOLUMNED = 2_000
"""Maximum rows after those that the files of columns and titles cover; searches that need these rows read them."""

_SAVED = 100_000
"""Rows that are added to the files at once, so that the values of no more are in memory."""

_READ = 5_000
"""Papers that are in memory at once."""


def cover_rows(files: Files, snapshot: Snapshot, kinds: Kinds) -> None:
    """Add new rows to columns and titles if there are many. Each paper is read once for both."""
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
    """Add new vectors to a field's index if there are many."""
    if isinstance(field, SparseField):
        sparse.extend(files.folder, field, len(snapshot.rows), partial(snapshot.entries, field))
        return

    def mapped() -> Matrix:
        return read_stored(files.vectors(field.name, snapshot.lengths), field)

    vectors.extend(files.folder, field.name, mapped, field.similarity)


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
