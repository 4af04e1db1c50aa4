"""What an indexing run did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class IndexReport:
    """Counts of one run.

    `new + updated + unchanged + duplicates + deletions + rejected` is the number of records read.

    Attributes:
        index: Name of the index.
        origin: The corpus's name in it, empty if an index was rebuilt from its own papers.
        generation: The version that is searched now.
        model: The model of the vectors.
        new: Papers the index did not hold.
        updated: Papers whose content changed.
        unchanged: Papers whose content did not change.
        revalued: Unchanged papers whose custom fields were written.
        fields: Number of records that have a value, by custom field of the corpus.
        duplicates: Records with the id of a later one, which won.
        deletions: Records that mark a paper as deleted, whether the index held it or not.
        deleted_by_corpus: Papers deleted because of such a record.
        deleted: Papers deleted by pruning, because the corpus no longer holds them.
        kept: Papers that either would have deleted, and that stay because another corpus holds them.
        absent: Papers that only earlier versions of the corpus held, and that stay, since the run did not prune.
        rejected: Records that could not become papers, or that the engine refused.
        dead_letter: File that lists the rejected, where there are any.
        papers: Number of papers that the index holds now.
        seconds: Seconds of the whole run.
        encoding_seconds: Seconds spent in the encoder, while reading and writing went on.

    Example:
        >>> report = library.index("two", [ses.Paper("a", "A virus"), ses.Paper("b", "")])
        >>> report.new, report.rejected
        (1, 1)
    """

    index: str
    origin: str
    generation: int
    model: str
    new: int
    updated: int
    unchanged: int
    revalued: int
    fields: Mapping[str, int]
    duplicates: int
    deletions: int
    deleted_by_corpus: int
    deleted: int
    kept: int
    absent: int
    rejected: int
    dead_letter: Path | None
    papers: int
    seconds: float
    encoding_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "dead_letter": str(self.dead_letter) if self.dead_letter else None}
