"""The builders there are: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from training.data.builders import citations, coupling, labels, neighbours, numbers
from training.data.builders.base import Builder

BUILDERS: Mapping[str, Builder] = {
    "citations": citations.BUILDER,
    "coupling": coupling.BUILDER,
    "labels": labels.BUILDER,
    "neighbours": neighbours.BUILDER,
    "numbers": numbers.BUILDER,
}
