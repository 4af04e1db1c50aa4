"""The reference meaning of a filter, which every engine's rendering must match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpora.dates import first_day
from search_plugin.contract.fields import PAPER_FIELDS, find_field
from search_plugin.contract.tree import RELATIONS, Alike, And, Compare, Exists, Filter, Not, OneOf, Or, Says, Value
from search_plugin.filters.alike import accepts
from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.terms import stand_together, terms_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpora.paper import Paper
    from search_plugin.contract.fields import Field


def matches(
    where: Filter, paper: Paper, fields: Sequence[Field] = PAPER_FIELDS, language: str = DEFAULT_LANGUAGE
) -> bool:
    """Return whether a paper matches a filter.

    Args:
        where: The filter.
        paper: The paper.
        fields: Of the index.
        language: Of the index.

    Returns:
        True if it does.
    """
    match where:
        case Compare(field, op, value):
            return any(RELATIONS[op](held, value) for held in _held(paper, field, fields))
        case OneOf(field, values):
            return any(held in values for held in _held(paper, field, fields))
        case Alike(field):
            return any(accepts(where, str(held)) for held in _held(paper, field, fields))
        case Exists(field):
            return bool(_held(paper, field, fields))
        case Says(field, words):
            asked = terms_of(words, language)
            texts = (paper.title,) if field == "title" else (paper.title, paper.abstract)
            return any(stand_together(asked, terms_of(text, language)) for text in texts)
        case Not(part):
            return not matches(part, paper, fields, language)
        case And(parts):
            return all(matches(part, paper, fields, language) for part in parts)
        case Or(parts):
            return any(matches(part, paper, fields, language) for part in parts)


def _held(paper: Paper, field: str, fields: Sequence[Field]) -> tuple[Value, ...]:
    held = paper.value(field)
    if held is None:
        return ()
    if isinstance(held, tuple):
        return held
    return (first_day(held),) if isinstance(held, str) and find_field(field, fields).kind == "date" else (held,)
