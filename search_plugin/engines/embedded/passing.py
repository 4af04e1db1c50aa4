"""Filters over columns: which rows match, without reading a paper; `filters` does the same for tantivy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from search_plugin.contract.tree import (
    RELATIONS,
    Alike,
    And,
    Compare,
    Exists,
    Filter,
    Not,
    OneOf,
    Or,
    Says,
    Test,
    unresolved,
)
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.fields import number_of

if TYPE_CHECKING:
    import numpy as np

    from search_plugin.engines.embedded.columns import Columns, Postings


def passing(where: Filter, parts: Sequence[Columns], count: int, saying: Callable[[Filter], np.ndarray]) -> np.ndarray:  # noqa: C901 - one case for each kind of node
    """Return which rows match a filter.

    Args:
        where: The filter.
        parts: Columns of all rows; a field without a column has no values.
        count: Of rows.
        saying: Does the same for filters of words alone, which have no columns.

    Returns:
        bool (count,); undefined for rows without a paper.
    """
    import numpy as np

    match where:
        case Says():
            return saying(where)
        case Not() | And() | Or() if _of_words(where):
            return saying(where)
        case Not(part):
            return ~passing(part, parts, count, saying)
        case And(inner):
            return reduce(np.logical_and, (passing(part, parts, count, saying) for part in _together(And, inner)))
        case Or(inner):
            return reduce(np.logical_or, (passing(part, parts, count, saying) for part in _together(Or, inner)))
        case Alike():
            raise unresolved(where)
    mask = np.zeros(count, bool)
    for columns in parts:
        if (numbers := columns.numbers.get(where.field)) is not None:
            mask[columns.start : columns.stop] = _compared(where, numbers)
        elif (postings := columns.postings.get(where.field)) is not None:
            for rows in _listed(where, postings):
                _mark(mask, rows)
    return mask


@reads_stored
def _mark(mask: np.ndarray, rows: np.ndarray) -> None:
    mask[rows] = True


def _of_words(where: Filter) -> bool:
    """Return whether a filter asks for words alone."""
    match where:
        case Says():
            return True
        case Not(part):
            return _of_words(part)
        case And(parts) | Or(parts):
            return all(map(_of_words, parts))
    return False


def _together(kind: type[And | Or], parts: Sequence[Filter]) -> list[Filter]:
    """Return the parts with those of words as one: together they find fewer rows than each by itself."""
    words = tuple(part for part in parts if _of_words(part))
    if len(words) < 2:
        return list(parts)
    return [kind(words), *(part for part in parts if not _of_words(part))]


def _compared(test: Test, numbers: np.ndarray) -> np.ndarray:
    import numpy as np

    match test:
        case Exists():
            there: np.ndarray = ~np.isnan(numbers)
            return there
        case OneOf(_, values):
            within: np.ndarray = np.isin(numbers, np.array([number_of(value) for value in values]))
            return within
        case Compare(_, op, value):
            passed: np.ndarray = RELATIONS[op](numbers, number_of(value))
            return passed


def _listed(test: Test, postings: Postings) -> list[np.ndarray]:
    match test:
        case Exists():
            return [postings.rows]
        case OneOf(_, values):
            return [postings.of(value) for value in values]
        case Compare(_, _, value):
            return [postings.of(value)]
