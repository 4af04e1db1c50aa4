"""Writes tags into an index: its vectors are read, nothing is encoded, and only what has changed is written."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from products.tags.labels import LabelJudgments, judged_yes
from products.tags.tagger import Tagger
from products.trained import check_vectors, write_values
from search_plugin.contract.fields import Field

if TYPE_CHECKING:
    import numpy as np

    from corpora.custom import FieldValue
    from corpora.progress import Progress
    from search_plugin.contract.engine import Index
    from search_plugin.contract.tree import Filter

BY_PERSON = "_by_person"
"""Ends the name of the field that holds the labels a person gave, beside the field of the tagger."""


@dataclass(frozen=True, slots=True)
class TaggingReport:
    """What was tagged.

    Attributes:
        tagger: Its name, and that of the field.
        index: Name of the index.
        papers: How many were read.
        tagged: How many of them have a tag now.
        written: How many changed.
        counts: Papers by tag, the most frequent first.
        seconds: It took.
    """

    tagger: str
    index: str
    papers: int
    tagged: int
    written: int
    counts: Mapping[str, int]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def apply_tagger(index: Index, tagger: Tagger, where: Filter | None, progress: Progress) -> TaggingReport:
    """Tag the papers of an index, in the field of the tagger's name and of the origin `tag`.

    Tags that the tagger gave before are replaced. Fields of corpora and people are not touched.

    Args:
        index: Open for writing.
        tagger: Of the index's model.
        where: Papers to tag; None for all.
        progress: Receives progress reports.

    Returns:
        What was done.

    Raises:
        InputError: If the tagger is of another model, or the index has a field of this name and another origin.
    """
    begun = time.perf_counter()
    check_vectors(f"The tagger {tagger.name}", tagger.source, index)
    counts: Counter[str] = Counter()
    tagged = 0

    def rows_of(vectors: np.ndarray) -> list[dict[str, FieldValue | None]]:
        nonlocal tagged
        given = tagger.tags(vectors)
        tagged += sum(map(bool, given))
        counts.update(tag for tags in given for tag in tags)
        return [{tagger.name: tags or None} for tags in given]

    fields = [Field(tagger.name, "keywords", origin="tag")]
    papers, written = write_values(index, tagger.source, where, fields, rows_of, progress)
    ranked = dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
    return TaggingReport(tagger.name, index.name, papers, tagged, written, ranked, time.perf_counter() - begun)


def record_labels(index: Index, name: str, judgments: LabelJudgments) -> list[str]:
    """Write the labels that a person gave into a field of their own, `NAME_by_person`.

    Args:
        index: Open for writing.
        name: Of the tagger.
        judgments: By paper and label; labels that are not true are left out.

    Returns:
        The ids that the index does not hold.
    """
    field = Field(f"{name}{BY_PERSON}", "keywords", origin="custom")
    index.add_fields([field])
    missing = list(index.update({id_: {field.name: judged_yes(judged)} for id_, judged in judgments.items()}))
    index.finish()
    return missing
