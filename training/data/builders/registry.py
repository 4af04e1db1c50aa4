"""All builders. A new one needs one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from training.data.builders import (
    citations,
    coupling,
    distilled,
    dpr,
    hybrid_queries,
    label_pairs,
    labels,
    mined,
    neighbours,
    numbers,
    pseudo_queries,
    teacher,
    topic_pairs,
    whitened,
)
from training.data.builders.base import Builder

BUILDERS: Mapping[str, Builder] = {
    "citations": citations.BUILDER,
    "coupling": coupling.BUILDER,
    "distilled": distilled.BUILDER,
    "dpr": dpr.BUILDER,
    "hybrid-queries": hybrid_queries.BUILDER,
    "label-pairs": label_pairs.BUILDER,
    "labels": labels.BUILDER,
    "mined": mined.BUILDER,
    "neighbours": neighbours.BUILDER,
    "numbers": numbers.BUILDER,
    "pseudo-queries": pseudo_queries.BUILDER,
    "teacher": teacher.BUILDER,
    "topic-pairs": topic_pairs.BUILDER,
    "whitened": whitened.BUILDER,
}
