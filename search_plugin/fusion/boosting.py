"""A gentle boost: papers of a higher forecast move a little up in the ranking, and none is hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corpora.custom import FieldValue
from corpora.errors import InputError
from search_plugin.contract.schema import Field

STRENGTH = 0.2
"""Default: a rank changes by at most a tenth."""

MIDDLE = 50.0
"""Percentile of a paper without a forecast."""


@dataclass(frozen=True, slots=True)
class Boost:
    """A boost by a forecast.

    Attributes:
        field: Field of the forecast, a percentile from 0 to 100.
        strength: Between 0 and 1: a rank is multiplied by 1 + strength / 2 for the percentile 0, by 1 for 50, and by
            1 - strength / 2 for 100.
    """

    field: str
    strength: float = STRENGTH


def parse_boost(text: str, fields: Sequence[Field]) -> Boost:
    """Read a boost, `FIELD` or `FIELD=STRENGTH`.

    Raises `InputError` if the field is no forecast of the index, or the strength is out of bounds.
    """
    name, equals, number = (part.strip() for part in text.partition("="))
    forecasts = [field.name for field in fields if field.origin == "forecast"]
    if name not in forecasts:
        raise InputError(
            f"Papers can't be boosted by {name[:60]!r}, only by forecasts; this index has "
            f"{', '.join(forecasts) or 'none yet'}."
        )
    try:
        strength = float(number) if equals else STRENGTH
    except ValueError:
        strength = -1.0
    if not 0 <= strength <= 1:
        raise InputError(f"A boost can't have the strength {number[:40]!r}; give a number from 0 to 1.")
    return Boost(name, strength)


def boosted_ids(ids: Sequence[str], values: Mapping[str, FieldValue], strength: float) -> list[str]:
    """Return the ids, best first, each rank multiplied by a factor near 1; equal ranks stay in their order.

    `values` are percentiles by id; ids without one are absent.
    """

    def place(rank: int, id_: str) -> float:
        value = values.get(id_, MIDDLE)
        percentile = min(max(float(value), 0.0), 100.0) if isinstance(value, int | float) else MIDDLE
        return rank * (1 - strength * (percentile - MIDDLE) / 100)

    ranked = sorted(enumerate(ids, start=1), key=lambda one: (place(*one), one[0]))
    return [id_ for _, id_ in ranked]
