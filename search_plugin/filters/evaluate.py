"""The plain meaning of a filter, which every engine's rendering must equal."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from search_plugin.filters.tree import And, Compare, Exists, Filter, Not, OneOf, Or, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from corpora.paper import Paper
    from search_plugin.filters.tree import Operator

_RELATIONS: dict[Operator, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matches(where: Filter, paper: Paper) -> bool:
    """Say whether a paper passes a filter.

    Args:
        where: The filter.
        paper: The paper.

    Returns:
        True if it does.
    """
    match where:
        case Compare(field, op, value):
            return any(_RELATIONS[op](held, value) for held in _held(paper, field))
        case OneOf(field, values):
            return any(held in values for held in _held(paper, field))
        case Exists(field):
            return bool(_held(paper, field))
        case Not(part):
            return not matches(part, paper)
        case And(parts):
            return all(matches(part, paper) for part in parts)
        case Or(parts):
            return any(matches(part, paper) for part in parts)


def _held(paper: Paper, field: str) -> tuple[Value, ...]:
    held: str | int | tuple[str, ...] | None = getattr(paper, field)
    if held is None or held == "" or held is False:
        return ()
    return held if isinstance(held, tuple) else (held,)
