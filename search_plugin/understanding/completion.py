"""Suggestions while typing: titles, authors, subjects and venues that what was typed may become."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from search_plugin.contract.engine import Index
from search_plugin.contract.legs import NEWEST_FIRST, title_key
from search_plugin.contract.tree import Begun, Filter, Or, Says, all_of
from search_plugin.filters.containing import Typed, values_of
from search_plugin.words.terms import TOKEN, folded, term_of

MOST_TYPED = 200
"""Longer texts have no suggestions: they are pasted, and nothing is left to type."""

_READ = 50
"""Newest titles that are compared with what was typed."""

_MOST_WORDS = 20

_FIELDS = {"authors": "authors", "subjects": "fields", "venues": "venue"}
"""Fields by the group that their values are suggested in."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A suggestion: its text, how many papers have it, and the paper's id if it is a title."""

    text: str
    count: int = 1
    id: str = ""


@dataclass(frozen=True, slots=True)
class Completions:
    """Suggestions by kind; for values the most frequent first."""

    titles: tuple[Completion, ...] = ()
    authors: tuple[Completion, ...] = ()
    subjects: tuple[Completion, ...] = ()
    venues: tuple[Completion, ...] = ()

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Return plain values, ready for JSON: an id for titles, a count for all others."""
        values = {name: getattr(self, name) for name in _FIELDS}
        counted = {name: [{"text": one.text, "count": one.count} for one in ones] for name, ones in values.items()}
        return {"titles": [{"text": one.text, "id": one.id} for one in self.titles], **counted}


def complete(index: Index, text: str, size: int) -> Completions:
    """Return suggestions by kind for what somebody has typed so far, `size` of each kind at most.

    A value or title is suggested if every word that was typed begins one of its words; nothing is without a letter or
    digit, and for a text too long to be typed. The most frequent values come first. Of titles, the newest 50 are
    compared, and those that begin with the whole text come first.
    """
    typed = Typed(text[: MOST_TYPED + 1])
    if not typed.words or len(text) > MOST_TYPED:
        return Completions()
    held = {field.name for field in index.schema.fields if field.facet}
    fields = {name: field for name, field in _FIELDS.items() if field in held}
    listed = values_of(index, list(fields.values()))
    values = {
        name: tuple(Completion(value, count) for value, count in islice(typed.among(listed[field]), size))
        for name, field in fields.items()
    }
    return replace(Completions(**values), titles=tuple(_titles(index, typed, size)))


def _titles(index: Index, typed: Typed, size: int) -> Iterator[Completion]:
    """Yield titles that hold all words, each once."""
    where = _of_title(typed.text, index.schema.language)
    if where is None:
        return
    ids = index.listed(where, NEWEST_FIRST, _READ).ids
    titles = {id_: str(row.get("title", "")) for id_, row in index.values(ids, ["title"]).items()}
    start = title_key(typed.text)
    found: dict[str, Completion] = {}
    for id_ in ids:
        title = titles.get(id_, "")
        if title and typed.contains(title):
            found.setdefault(title_key(title), Completion(title, id=id_))
    ordered = sorted(found, key=lambda key: not key.startswith(start))
    yield from (found[key] for key in ordered[:size])


def _of_title(text: str, language: str) -> Filter | None:
    """Return the filter for titles with all words of a text; None if no title can be found by them."""
    *before, last = list(TOKEN.finditer(text))[:_MOST_WORDS]
    if not before and len(last[0]) == 1 and last[0].isascii():
        return None  # a large part of all titles
    # A stop word is in no index. One at the end may be the beginning of another word, if it is all that was typed.
    said = [token for token in (*before, last) if token[1] or term_of(token[0], language)] or [last]
    return all_of(*map(_begun, said))


def _begun(token: re.Match[str]) -> Filter:
    start = Begun(folded(token[0]))
    # Text without spaces is indexed as pairs of characters, as single ones or as a whole.
    return Or((Says("title", token[0]), start)) if token[1] else start
