"""The builders there are: a new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from training.data.builders import labels, numbers
from training.data.builders.base import Builder

BUILDERS: Mapping[str, Builder] = {
    "labels": labels.BUILDER,
    "numbers": numbers.BUILDER,
}
