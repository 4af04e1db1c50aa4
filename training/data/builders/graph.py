"""The citations between papers, for the builders of triplets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from corpora.cleaning import texts_of
from corpora.errors import InputError
from eval.frozen import ids_of
from training.data.builders.base import BuilderSource, Made, PaperRecord, id_of, identity_of
from training.data.records import read_records

_DIRECT = 5
"""Count of a direct citation in SPECTER's graph; a citation of a citation has 1."""


@dataclass(slots=True)
class PaperRows:
    """Papers by row: their ids, their identities (`identity_of`), and their fields that the task reads."""

    ids: list[str] = field(default_factory=list)
    identities: list[str] = field(default_factory=list)
    texts: list[Mapping[str, Any]] = field(default_factory=list)

    def add(self, paper: PaperRecord, text: Mapping[str, Any]) -> None:
        """Add a paper and its fields."""
        self.ids.append(id_of(paper))
        self.identities.append(identity_of(paper))
        self.texts.append(text)

    def triplet(self, query: int, positive: int, negative: int) -> Made:
        """Return the triplet of three papers."""
        rows = {"query": query, "pos": positive, "neg": negative}
        record = {name: self.texts[row] for name, row in rows.items()}
        return Made(tuple(self.identities[row] for row in rows.values()), record)


@dataclass(slots=True)
class Graph(PaperRows):
    """Papers with text, by row, and what each of them cites.

    Attributes:
        cited: Rows of the papers that a paper cites, in order.
        cited_by_cited: Rows of those that its cited papers cite and it does not, in order.
    """

    cited: Mapping[int, Sequence[int]] = field(default_factory=dict)
    cited_by_cited: Mapping[int, Sequence[int]] = field(default_factory=dict)


def read_graph(source: BuilderSource, references: str) -> Graph:
    """Read papers and their citations of each other; all texts are kept in memory, citations of missing papers are not.

    The field `references` lists what a paper cites; the ids in it may be written differently from the papers' own. Or
    the source's file `graph` does, in the form of SPECTER's data.json: {id: {id: {"count": 5 or 1}}}, 5 for a citation
    and 1 for a citation of a citation. `InputError` if no paper cites another.
    """
    graph, rows, given = Graph(), dict[str, int](), list[list[str]]()
    for paper in source.papers():
        if not (text := source.text_of(paper)):
            source.left_out["no text"] += 1
            continue
        for name in (id_of(paper), *ids_of(paper)):
            rows.setdefault(name, len(graph.ids))
        graph.add(paper, text)
        given.append([] if "graph" in source.files else list(texts_of(paper.get(references))))

    def found(names: Collection[str], query: int) -> list[int]:
        """Return the rows of papers, each once, in the order of their rows."""
        every = (rows.get(name, rows.get(next(ids_of({"id": name}), ""))) for name in names)
        return sorted({row for row in every if row is not None} - {query})

    cited = {row: here for row, names in enumerate(given) if (here := found(names, row))}
    second: dict[int, list[int]] = {}
    for counts in _counted(source):
        query = rows.get(str(counts.pop("id")))
        if query is not None:
            direct = {name for name, value in counts.items() if value["count"] >= _DIRECT}
            cited[query], second[query] = found(direct, query), found(counts.keys() - direct, query)
    if not any(cited.values()):
        raise InputError(f"No paper cites another of them by {references!r}; name the field that holds what it cites.")
    if "graph" not in source.files:
        second = {
            query: sorted({far for row in direct for far in cited.get(row, ())} - {query, *direct})
            for query, direct in cited.items()
        }
    graph.cited, graph.cited_by_cited = {query: direct for query, direct in cited.items() if direct}, second
    return graph


def _counted(source: BuilderSource) -> Iterator[dict[str, Any]]:
    if "graph" not in source.files:
        return
    path = source.files["graph"]
    for line, record in read_records(path):
        counts = [] if isinstance(record, str) else [value for name, value in record.items() if name != "id"]
        if isinstance(record, str) or not all(isinstance(one, dict) and "count" in one for one in counts):
            raise InputError(
                f'{path}, line {line}: the citations of a paper must be of the form {{id: {{"count": 5}}}}.'
            )
        yield record


def others(draw: Random, count: int, size: int, without: Collection[int]) -> list[int]:
    """Draw rows that are not in a collection, each once; fewer if there are not enough."""
    if size - len(without) <= 2 * count:
        left = [row for row in range(size) if row not in without]
        return draw.sample(left, min(count, len(left)))
    found: dict[int, None] = {}
    while len(found) < count:
        if (row := draw.randrange(size)) not in without:
            found[row] = None
    return list(found)
