"""The parts of a condition: what a reader sees of a search, and can take away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Literal

from search_plugin.contract.tree import And, Filter, Not, Or, joined
from search_plugin.filters.parse import as_query


@dataclass(frozen=True, slots=True)
class ConditionPart:
    """A part of a condition.

    Attributes:
        number: Its place in the condition, where each part comes before its own parts; the whole has 0.
        operator: What joins its parts; empty if it has none.
        text: The part in the syntax of queries.
        parts: Its parts.
    """

    number: int
    operator: Literal["", "and", "or", "not"]
    text: str
    parts: tuple[ConditionPart, ...] = ()


def parts_of(where: Filter) -> ConditionPart:
    """Return a condition with its parts."""
    return _part(where, count())


def _part(where: Filter, numbers: Iterator[int]) -> ConditionPart:
    number, text = next(numbers), as_query(where)
    match where:
        case Not(part):
            return ConditionPart(number, "not", text, (_part(part, numbers),))
        case And(parts) | Or(parts):
            operator: Literal["and", "or"] = "and" if isinstance(where, And) else "or"
            return ConditionPart(number, operator, text, tuple(_part(part, numbers) for part in parts))
    return ConditionPart(number, "", text)


def without_part(where: Filter, number: int) -> Filter | None:
    """Return a condition without the part of a number, or as it is if there is none; None if nothing is left."""
    return _without(where, number, count())


def _without(where: Filter, number: int, numbers: Iterator[int]) -> Filter | None:
    if next(numbers) == number:
        return None
    match where:
        case Not(part):
            left = _without(part, number, numbers)
            return left and Not(left)
        case And(parts) | Or(parts):
            return joined(type(where), [_without(part, number, numbers) for part in parts])
    return where
