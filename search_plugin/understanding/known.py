"""Papers that a query names by their identifiers, looked up before anything is ranked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from corpora.errors import NotFoundError
from search_plugin.filters.evaluate import matches
from search_plugin.words.identifiers import Identifier, read_identifiers

if TYPE_CHECKING:
    from corpora.paper import Paper
    from search_plugin.contract.engine import Index
    from search_plugin.contract.tree import Filter


@dataclass(frozen=True, slots=True)
class Preference:
    """What a query names beside its topic: papers that have it come first.

    Attributes:
        kind: What it is.
        filter: That these papers match; it compares exactly.
        told: How a note names it after "Papers": `by Toth, E.`, `in Nature`, `from 2020`, `of the type Review`.
    """

    kind: Literal["author", "venue", "number", "year", "type", "compared"]
    filter: Filter
    told: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a query before it is ranked.

    Attributes:
        topic: The words to rank by; empty if the papers here are the whole answer, or all that match the preferences.
        papers: The papers that the query names, by id, in the order to show them.
        by: By id, what names each of them.
        preferences: For the papers to rank before all others, the most telling one first.
        notes: Sentences for the user.
    """

    topic: str
    papers: Mapping[str, Paper] = field(default_factory=dict)
    by: Mapping[str, str] = field(default_factory=dict)
    preferences: tuple[Preference, ...] = ()
    notes: tuple[str, ...] = ()


def told(preferences: Sequence[Preference]) -> str:
    """Return what a note says of preferences together, after "Papers"."""
    return " ".join(one.told for one in preferences)


def look_up(index: Index, query: str, where: Filter | None = None) -> Known:
    """Look up the identifiers of a query, all in one request.

    Args:
        index: Of any engine.
        query: As the user typed it.
        where: Filter of exact comparisons that the papers must match.

    Returns:
        The papers in the order of the query, and the rest of the query.
    """
    asked, rest = read_identifiers(query)
    if not asked:
        return Known(query)
    held = named(index, asked)
    found = {one: [paper for paper in papers if _passes(paper, where, index)] for one, papers in held.items()}
    by: dict[str, str] = {}
    for one, its in found.items():
        for paper in its:
            by.setdefault(paper.id, str(one))
    papers = {paper.id: paper for papers in found.values() for paper in papers}
    certain = [one for one in asked if one.certain]
    if not papers and not certain:
        return Known(query)
    topic = rest if len(certain) == len(asked) else ""
    return Known(topic, papers, by, notes=tuple(_notes(held, found)))


def find(index: Index, name: str) -> list[Paper]:
    """Return the papers that an id or any other identifier names, or raise `NotFoundError`.

    Args:
        index: Of any engine.
        name: An id as it is, or an identifier in any form that people type.

    Returns:
        One paper, or several if they share the identifier.

    Raises:
        NotFoundError: If there is no such paper.
    """
    if own := index.papers([name]).get(name):
        return [own]
    asked = read_identifiers(name)[0]
    papers = {paper.id: paper for found in named(index, asked).values() for paper in found} if asked else {}
    if not papers:
        raise NotFoundError(f"The index {index.name} holds no paper {name!r}", "search for it to see its id")
    return list(papers.values())


def named(index: Index, asked: Sequence[Identifier]) -> dict[Identifier, list[Paper]]:
    """Return the papers of each identifier, by id, in one request."""
    ids = [id_ for one in asked for id_ in one.ids]
    identifiers = [name for one in asked for name in one.identifiers]
    papers = sorted(index.named(ids, identifiers).values(), key=lambda paper: paper.id)
    return {one: [paper for paper in papers if one.names(paper)] for one in asked}


def _passes(paper: Paper, where: Filter | None, index: Index) -> bool:
    return where is None or matches(where, paper, index.schema.fields, index.schema.language)


def _notes(held: Mapping[Identifier, list[Paper]], found: Mapping[Identifier, list[Paper]]) -> Iterator[str]:
    typed = {one.typed for one, papers in found.items() if papers and one.typed}
    if there := [str(one) for one, papers in found.items() if papers]:
        count = len({paper.id for papers in found.values() for paper in papers})
        yield f"Found by {'its' if count == 1 else 'their'} {_listed(there)}."
    for one, papers in found.items():
        if not papers and one.typed not in typed:
            yield f"The filter excludes the paper with the {one}." if held[one] else f"No paper has the {one}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
