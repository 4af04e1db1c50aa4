"""From papers to what one commit appends to the files of a generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from corpora.errors import InputError
from search_plugin.engines.embedded.files import NOTHING, Appended

if TYPE_CHECKING:
    import numpy as np

    from corpora.paper import Paper
    from search_plugin.engines.base import Document
    from search_plugin.engines.embedded.files import Files
    from search_plugin.engines.embedded.snapshot import Snapshot
    from search_plugin.schema import IndexSchema


class Written(NamedTuple):
    """A paper to write.

    Attributes:
        paper: The paper.
        record: As it is stored.
        vectors: New ones by format, or the row that already holds them.
    """

    paper: Paper
    record: bytes
    vectors: Mapping[str, np.ndarray] | int


def batch_of(
    written: Sequence[Written], snapshot: Snapshot, schema: IndexSchema, files: Files
) -> tuple[Appended, list[str]]:
    """Return what to append for some papers, and the ids of those that replace an earlier version.

    Args:
        written: At least one.
        snapshot: Of the last commit.
        schema: Of the index.
        files: Of the generation.

    Returns:
        The batch, and the ids.
    """
    import numpy as np

    older = {snapshot.id_of(row): row for row in snapshot.find([one.paper.id for one in written])}
    rows = np.zeros(len(written), files.row_type)
    fresh: dict[str, list[np.ndarray]] = {name: [] for name in files.dimensions}
    lengths = dict(snapshot.lengths.vectors)
    offset = snapshot.lengths.papers
    for row, (paper, record, held) in zip(rows, written, strict=True):
        row["offset"], row["size"], row["replaces"] = offset, len(record), older.get(paper.id, NOTHING)
        offset += len(record)
        for field in schema.vectors:
            name = field.name
            if isinstance(held, int):
                given = tuple(snapshot.rows[held][[f"{name}.start", f"{name}.count"]])
            else:
                matrix = np.asarray(held[field.format], np.float32).reshape(-1, field.dimension)
                given = lengths[name], len(matrix)
                fresh[name].append(matrix)
                lengths[name] += len(matrix)
            row[f"{name}.start"], row[f"{name}.count"] = given
    records = b"".join(one.record for one in written)
    return Appended(rows, records, {name: np.concatenate(parts) for name, parts in fresh.items() if parts}), list(older)


def check_dimensions(document: Document, schema: IndexSchema) -> None:
    """Raise `InputError` if a vector is not as long as those of the index."""
    for field in schema.vectors:
        if (size := document.vectors[field.format].shape[-1]) != field.dimension:
            raise InputError(
                f"The model gives vectors of {size} numbers and the index holds {field.dimension}",
                "index again with <fresh>",
            )


def check_numbers(document: Document, schema: IndexSchema) -> None:
    """Raise `ValueError` if a vector holds values that are not finite numbers."""
    import numpy as np

    for field in schema.vectors:
        if not np.isfinite(document.vectors[field.format]).all():
            raise ValueError(f"its {field.format} vector holds values that are not numbers")
