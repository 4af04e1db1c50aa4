"""From what a user typed to the values that an index holds: afterwards every engine compares exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from corpora.errors import InputError
from search_plugin.contract.engine import Index
from search_plugin.contract.tree import OPEN_END, Alike, And, Compare, Filter, Not, OneOf, Or, Wild, WildPhrase
from search_plugin.filters.matching import accepts, beginnings, closeness, patterns
from search_plugin.filters.parse import parse_filters

MOST_VALUES = 10_000
"""Values of one field that a condition may stand for."""

MOST_PATTERNS = 8
"""Patterns of a query of which words are looked up to rank by; the others only restrict."""

_SUGGESTED = 3
_CLOSE = 0.6


@dataclass(frozen=True, slots=True)
class Resolved:
    """A filter of exact comparisons, a sentence for each value that no paper has, and words that patterns stand for."""

    filter: Filter | None
    notes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def read_filter(given: str | Iterable[str], index: Index) -> Filter | None:
    """Read one expression or several that must all hold, and replace their texts by the values that an index holds.

    Empty expressions are left out. Returns a filter of exact comparisons, or None; errors as of `parse_filters`.
    """
    texts = [text for text in ([given] if isinstance(given, str) else given) if text]
    return resolve(parse_filters(texts, index.schema.fields), index, suggest=False).filter


def resolve(where: Filter | None, index: Index, *, suggest: bool = True) -> Resolved:
    """Replace texts that may differ from stored values by the values that an index holds.

    With `suggest`, a note names the values that are nearest to one that no paper has. Raises `InputError` if a
    condition stands for more than `MOST_VALUES` values.
    """
    if not where:
        return Resolved(where)
    whole = _values(where, index, suggest=suggest)
    phrases_typed = list(dict.fromkeys(_leaves(where, WildPhrase)))
    if not phrases_typed and not any(_leaves(where, Wild)):
        return whole
    from search_plugin.filters.patterns import AsWritten, phrases_like, wilds_of, words_like

    phrases = {one: phrases_like(index, one) for one in phrases_typed}
    wilds = list(dict.fromkeys(wilds_of(where)))[:MOST_PATTERNS]
    words = {wild: words_like(index, wild) for wild in wilds}
    notes = [note for _, note in phrases.values() if note]
    notes += [f"No paper says a word like {wild.typed}." for wild, found in words.items() if found is None]
    ranking = dict.fromkeys(word for found in words.values() for word in found or ())
    written, said = AsWritten(index, {one: found for one, (found, _) in phrases.items()}).whole(whole.filter or where)
    return Resolved(written, (*whole.notes, *notes, *said), tuple(ranking))


def _values(where: Filter, index: Index, *, suggest: bool) -> Resolved:
    alike = list(dict.fromkeys(_leaves(where, Alike)))
    if not alike:
        return Resolved(where)
    wanted: dict[str, list[str]] = {}
    for like in alike:
        wanted.setdefault(like.field, []).extend(patterns(like))
    held = index.matching_values(wanted)
    found = {like: [value for value in held[like.field] if accepts(like, value)] for like in alike}
    for like, values in found.items():
        if len(values) > MOST_VALUES:
            raise InputError(
                f"More than {MOST_VALUES:,} values of {like.field} are like {like.values[0]!r}; give more of it."
            )
    lacking = [like for like, values in found.items() if suggest and not values]
    compared: dict[Alike, Filter] = {
        like: Compare(like.field, "=", values[0]) if len(values) == 1 else OneOf(like.field, tuple(values))
        for like, values in found.items()
    }
    return Resolved(_replaced(where, compared), tuple(_notes(lacking, index)))


L = TypeVar("L", Alike, Wild, WildPhrase)


def _leaves(where: Filter, kind: type[L]) -> Iterator[L]:
    match where:
        case Not(part):
            yield from _leaves(part, kind)
        case And(parts) | Or(parts):
            for part in parts:
                yield from _leaves(part, kind)
        case _ if isinstance(where, kind):
            yield where


def _replaced(where: Filter, found: Mapping[Alike, Filter]) -> Filter:
    match where:
        case Alike():
            return found.get(where, where)
        case Not(part):
            return Not(_replaced(part, found))
        case And(parts):
            return And(tuple(_replaced(part, found) for part in parts))
        case Or(parts):
            return Or(tuple(_replaced(part, found) for part in parts))
        case _:
            return where


def _notes(lacking: Sequence[Alike], index: Index) -> Iterator[str]:
    """Yield a sentence for each value that no paper has, with the values that are nearest to it."""
    if not lacking:
        return
    wanted: dict[str, list[str]] = {}
    for like in lacking:
        wanted.setdefault(like.field, []).extend(beginnings(like.values))
    try:
        held = index.matching_values(wanted)
    except InputError:  # too many to choose from
        held = {}
    for like in lacking:
        shown = " or ".join(f"{value}{'*' * (like.manner in OPEN_END)}" for value in like.values[:_SUGGESTED])
        near = nearest(like, held.get(like.field, ()))
        hint = f"; the nearest {'is' if len(near) == 1 else 'are'} {_listed(near)}" if near else ""
        yield f"No paper of the index {index.name} has {like.field} = {shown}{hint}."


def nearest(like: Alike, held: Sequence[str]) -> list[str]:
    """Return up to three of some values that are closest to those of a condition."""
    scored = ((max(closeness(like.manner, value, one) for value in like.values), one) for one in held)
    near = sorted((pair for pair in scored if pair[0] >= _CLOSE), key=lambda pair: (-pair[0], pair[1]))
    return [one for _, one in near[:_SUGGESTED]]


def _listed(values: Sequence[str]) -> str:
    return ", ".join(f'"{value}"' for value in values)
