"""From papers to what one commit appends to the files of a generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from corpora.errors import InputError
from search_plugin.engines.embedded.files import NOTHING, Appended
from search_plugin.engines.embedded.records import to_record

if TYPE_CHECKING:
    import numpy as np

    from corpora.paper import Paper
    from search_plugin.contract.engine import Document
    from search_plugin.contract.schema import IndexSchema
    from search_plugin.engines.embedded.files import Files
    from search_plugin.engines.embedded.records import Encoded
    from search_plugin.engines.embedded.snapshot import Snapshot


class Written(NamedTuple):
    """A paper to write.

    Attributes:
        paper: The paper.
        encoded: As its record will hold it.
        vectors: New ones by format, or the row that already holds them.
    """

    paper: Paper
    encoded: Encoded
    vectors: Mapping[str, np.ndarray] | int


def batch_of(
    written: Sequence[Written], older: Mapping[str, int], snapshot: Snapshot, schema: IndexSchema, files: Files
) -> Appended:
    """Return what to append for some papers.

    Args:
        written: At least one.
        older: The rows of those that replace an earlier version, by id.
        snapshot: Of the last commit.
        schema: Of the index.
        files: Of the generation.

    Returns:
        The batch.
    """
    import numpy as np

    records = [to_record(one.encoded) for one in written]
    rows = np.zeros(len(written), files.row_type)
    sizes = np.array([len(record) for record in records], np.int64)
    rows["offset"], rows["size"] = snapshot.lengths.papers + np.cumsum(sizes) - sizes, sizes
    rows["replaces"] = [older.get(one.paper.id, NOTHING) for one in written]
    fresh: dict[str, np.ndarray] = {}
    for field in schema.vectors:
        name, length = field.name, snapshot.lengths.vectors[field.name]
        places, matrices = [], []
        for _, _, held in written:
            if isinstance(held, int):
                places.append(snapshot.rows[held][[f"{name}.start", f"{name}.count"]].item())
            else:
                matrix = np.asarray(held[field.format], np.float32).reshape(-1, field.dimension)
                places.append((length, len(matrix)))
                matrices.append(matrix)
                length += len(matrix)
        rows[f"{name}.start"], rows[f"{name}.count"] = zip(*places, strict=True)
        if matrices:
            fresh[name] = np.concatenate(matrices)
    return Appended(rows, b"".join(records), fresh)


def check_dimensions(document: Document, schema: IndexSchema) -> None:
    """Raise `InputError` if a vector is not as long as those of the index."""
    for field in schema.vectors:
        if (size := document.vectors[field.format].shape[-1]) != field.dimension:
            raise InputError(
                f"The model gives vectors of {size} numbers and the index holds {field.dimension}",
                "index again with <fresh>",
            )


def check_numbers(document: Document, schema: IndexSchema) -> None:
    """Raise `ValueError` if a vector holds values that are not finite numbers, or that have no finite length."""
    import numpy as np

    for field in schema.vectors:
        vectors = np.asarray(document.vectors[field.format], np.float32)
        if not np.isfinite(vectors).all():
            raise ValueError(f"its {field.format} vector holds values that are not numbers")
        with np.errstate(over="ignore"):
            lengths = np.square(vectors).sum(axis=-1)
        # faiss would abort the process when it computes the centres of lists.
        if not np.isfinite(lengths).all():
            raise ValueError(f"its {field.format} vector is too long for 32-bit numbers")
