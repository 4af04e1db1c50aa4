"""What a query means, as far as it can be known before papers are ranked; and the papers that its identifiers name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from corpora.errors import InputError, NotFoundError
from corpora.paper import Paper
from search_plugin.contract.engine import Index
from search_plugin.contract.tree import Filter
from search_plugin.filters.matching import matches
from search_plugin.words.identifiers import KEY, Identifier, read_identifiers


@dataclass(frozen=True, slots=True)
class Preference:
    """What a query names beside its topic: papers that have it come first.

    Attributes:
        kind: The kind of what is named; `compared` is two things that the query compares.
        filter: A filter that these papers match; it compares exactly.
        description: How a note names it after "Papers": `by Toth, E.`, `in Nature`, `from 2020`, `of the type Review`.
    """

    kind: Literal["author", "venue", "number", "year", "type", "compared"]
    filter: Filter
    description: str


@dataclass(frozen=True, slots=True)
class QueryChange:
    """A way in which a search went beyond the words of its query, or took them for more than words.

    Attributes:
        kind: `corrected` for a misspelled word, `expanded` for other spellings that were searched too, `preferred` for
            something named in the query whose papers come first, `operators` for a query with phrases, fields or
            operators.
        typed: The part of the query; empty if it is not known.
        taken: What was searched instead, or also; for `preferred`, a description such as `by Toth, E.`.
        undo: The option that undoes it: `verbatim` or `literal`.
    """

    kind: Literal["corrected", "expanded", "preferred", "operators"]
    typed: str
    taken: tuple[str, ...]
    undo: Literal["verbatim", "literal"] = "verbatim"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a query means.

    Attributes:
        topic: The words to rank by; empty if the papers here are the whole answer, or all that match the preferences.
        papers: The papers that the query names, by id, in the order to show them.
        known_by: What names each of them, by id.
        preferences: Preferences for the papers to rank before all others, the most specific one first.
        notes: Sentences for the user.
        changes: How this goes beyond the words as typed.
    """

    topic: str
    papers: Mapping[str, Paper] = field(default_factory=dict)
    known_by: Mapping[str, str] = field(default_factory=dict)
    preferences: tuple[Preference, ...] = ()
    notes: tuple[str, ...] = ()
    changes: tuple[QueryChange, ...] = ()


def described(preferences: Sequence[Preference]) -> str:
    """Return how a note names preferences together, after "Papers"."""
    return " ".join(preference.description for preference in preferences)


def look_up(index: Index, query: str, where: Filter | None = None) -> Meaning:
    """Look up the identifiers of a query, all in one request.

    Returns the papers that match the filter, in the order of the query, and the rest of the query as topic.
    """
    typed, rest = read_identifiers(query)
    if not typed:
        return Meaning(query)
    held = _named(index, typed)
    found = {one: [paper for paper in papers if _passes(paper, where, index)] for one, papers in held.items()}
    known_by: dict[str, str] = {}
    for one, papers in found.items():
        for paper in papers:
            known_by.setdefault(paper.id, str(one))
    by_id = {paper.id: paper for papers in found.values() for paper in papers}
    certain = [one for one in typed if one.certain]
    if not by_id and not certain:
        return Meaning(query)
    topic = rest if len(certain) == len(typed) else ""
    return Meaning(topic, by_id, known_by, notes=tuple(_notes(held, found)))


def find(index: Index, name: str) -> list[Paper]:
    """Return the papers that an id or any other identifier names, in any form that people type.

    These are several if papers share the identifier. Raises `NotFoundError` if there is none, and `InputError` if the
    text names several papers, such as two PMIDs with a comma between.
    """
    if own := index.papers([name]).get(name):
        return [own]
    typed, whole = read_identifiers(name)[0], Identifier(KEY, name.strip())
    by_name = _named(index, (*typed, whole))
    papers = {paper.id: paper for found in by_name.values() for paper in found}
    if papers and not by_name[whole] and any(_differ(one, other, by_name) for one, other in combinations(typed, 2)):
        raise InputError(f"{name!r} names several papers", "give them one by one")
    if not papers:
        raise NotFoundError(f"The index {index.name} holds no paper {name!r}", "search for it to see its id")
    return list(papers.values())


def _differ(one: Identifier, other: Identifier, by_name: Mapping[Identifier, list[Paper]]) -> bool:
    """Return whether two identifiers name different papers; what is one word of a text may be of several kinds."""
    if one.typed and one.typed == other.typed:
        return False
    first, second = ({paper.id for paper in by_name[each]} for each in (one, other))
    return first != second if one.kind == other.kind else bool(first and second) and first.isdisjoint(second)


def _named(index: Index, identifiers: Sequence[Identifier]) -> dict[Identifier, list[Paper]]:
    """Return the papers of each identifier, by id, in one request."""
    ids = [id_ for one in identifiers for id_ in one.ids]
    names = [name for one in identifiers for name in one.identifiers]
    papers = sorted(index.find_papers(ids, names).values(), key=lambda paper: paper.id)
    return {one: [paper for paper in papers if one.names(paper)] for one in identifiers}


def _passes(paper: Paper, where: Filter | None, index: Index) -> bool:
    return where is None or matches(where, paper, index.schema.fields, index.schema.language)


def _notes(held: Mapping[Identifier, list[Paper]], found: Mapping[Identifier, list[Paper]]) -> Iterator[str]:
    typed = {one.typed for one, papers in found.items() if papers and one.typed}
    if there := [str(one) for one, papers in found.items() if papers]:
        count = len({paper.id for papers in found.values() for paper in papers})
        yield f"Found by {'its' if count == 1 else 'their'} {_listed(there)}."
    for one, papers in found.items():
        if not papers and one.kind != KEY and one.typed not in typed:
            yield f"The filter excludes the paper with the {one}." if held[one] else f"No paper has the {one}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
