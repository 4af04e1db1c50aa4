"""Values of a field that contain what a user has typed so far, and how many papers have each.

A value contains a text if every word of the text begins a word of the value, in any order, without case and accents.

A regular expression is compared with all values of a field, which takes too long for every key that is pressed. So the
values of an index are listed once, the most frequent first, and remembered as one text, which is searched as fast as
memory can be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import cast

from search_plugin.contract.engine import Index, too_many
from search_plugin.contract.legs import Facets
from search_plugin.contract.plan import Counting
from search_plugin.words.terms import SPACED, TOKEN, folded

MOST_PAPERS = 200_000
"""Papers of an index of which all values are listed; larger ones list only the most frequent ones."""

MOST_FREQUENT = 7_500
"""Values of a field of a large index: no engine has to list more than `MOST_VALUES` to find those of equal counts."""

_MOST_COUNTED = 10_000
"""Values that an engine is asked to count by name."""

_BLOCK = 1_000
_LEAST = 100

# They stand around the words of a value, the value itself and its count. No text of people holds them.
_RECORD, _PART = "\x1e", "\x1f"


@dataclass(frozen=True)
class Typed:
    """What a user has typed so far.

    Attributes:
        text: The text.
    """

    text: str

    @cached_property
    def words(self) -> tuple[tuple[str, bool], ...]:
        """The words, folded, each with whether it is of a script without spaces, where it may stand anywhere."""
        return tuple((folded(token[0]), bool(token[1])) for token in TOKEN.finditer(self.text))

    def contains(self, value: str) -> bool:
        """Return whether every word begins a word of a value."""
        held = _words(value)
        return all(any(one.startswith(word) or (inside and word in one) for one in held) for word, inside in self.words)

    def among(self, values: str) -> Iterator[tuple[str, int]]:
        """Yield the values of `values_of` that contain the text, with their counts, the most frequent first."""
        word, inside = max(self.words, key=lambda one: len(one[0]))
        needle, at = word if inside else f" {word}", 0
        while (found := values.find(needle, at)) >= 0:
            start, at = values.rfind(_RECORD, 0, found) + 1, values.find(_RECORD, found)
            _, value, count = values[start:at].split(_PART)
            if self.contains(value):
                yield value, int(count)


def _words(text: str) -> list[str]:
    if text.isascii():
        return text.translate(SPACED).split()
    return [folded(token[0]) for token in TOKEN.finditer(text)]


def values_of(index: Index, fields: Sequence[str]) -> Mapping[str, str]:
    """Return the values of keyword fields, each as one text for `Typed.among`; an index remembers them."""
    read: dict[str, str] = {}

    def look(field: str) -> str:
        if not read:
            read.update(_read(index, fields))
        return read[field]

    return {field: index.cached(f"all values of {field}", partial(look, field)) for field in fields}


def _read(index: Index, fields: Sequence[str]) -> dict[str, str]:
    if index.count() > MOST_PAPERS:
        return {field: _as_text(index.value_counts(field, MOST_FREQUENT)) for field in fields}
    counts: dict[str, Counter[str]] = {field: Counter() for field in fields}
    ids = index.ids()
    while block := list(islice(ids, _BLOCK)):
        for row in index.values(block, fields).values():
            for field, held in row.items():
                counts[field].update(held if isinstance(held, tuple) else (str(held),))
    return {field: _as_text(sorted(of.items(), key=lambda pair: (-pair[1], pair[0]))) for field, of in counts.items()}


def _as_text(counts: Iterable[tuple[object, int]]) -> str:
    pairs = ((str(value), count) for value, count in counts)
    lines = (
        f" {' '.join(_words(value))}{_PART}{value}{_PART}{count}{_RECORD}"
        for value, count in pairs
        if _PART not in value and _RECORD not in value
    )
    return _RECORD + "".join(lines)


def count_containing(index: Index, counting: Counting, typed: Typed) -> Facets:
    """Return the most frequent values of one field that contain a text, counted as `Index.fetch` counts all.

    Without a word in the text, all values are counted. Raises `InputError` if an engine would have to list more than
    `MOST_VALUES` values.
    """
    (field,) = counting.fields
    if not typed.words:
        return _fetched(index, counting)
    if index.schema.field(field).kind in ("keyword", "keywords") and index.count() <= MOST_PAPERS:
        named = [value for value, _ in islice(typed.among(values_of(index, [field])[field]), _MOST_COUNTED + 1)]
        if not named:
            return replace(_fetched(index, replace(counting, size=1)), counts={field: ()})
        if len(named) <= _MOST_COUNTED:
            return _fetched(index, replace(counting, include=tuple(named)))
    size = max(counting.size, _LEAST)
    while True:
        facets = _fetched(index, replace(counting, size=size))
        pairs = tuple(pair for pair in facets.counts[field] if typed.contains(str(pair[0])))
        if len(pairs) >= counting.size or len(facets.counts[field]) < size:
            return replace(facets, counts={field: pairs[: counting.size]})
        size *= 8
        if size > MOST_FREQUENT:
            raise too_many(field)


def _fetched(index: Index, counting: Counting) -> Facets:
    return cast("Facets", index.fetch([], counting)[1])
