"""The references of a paper, and the papers that cite it, as far as an index holds them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from corpora.paper import Paper
from search_plugin.contract.engine import Index
from search_plugin.contract.tree import OneOf


@dataclass(frozen=True, slots=True)
class IndexedReference:
    """A reference: its identifier as the citing paper has it, and the paper; None where the index does not hold it."""

    identifier: str
    paper: Paper | None = None


def cited_papers(index: Index, paper: Paper) -> list[IndexedReference]:
    """Return the references of a paper in their order, each once, looked up in one request.

    A reference names a paper by its id or by an identifier, such as `doi:10.1000/182`.
    """
    wanted = list(dict.fromkeys(paper.references))
    return among(wanted, index.find_papers(wanted, wanted).values()) if wanted else []


def among(wanted: Iterable[str], held: Iterable[Paper]) -> list[IndexedReference]:
    """Return references, by id or identifier, with those of some papers that they name."""
    papers = list(held)
    by_identifier = {name: one for one in papers for name in one.identifiers} | {one.id: one for one in papers}
    return [IndexedReference(name, by_identifier.get(name)) for name in wanted]


def citing(paper: Paper) -> OneOf:
    """Return the filter for the papers that have a paper among their references."""
    return OneOf("references", (paper.id, *paper.identifiers))
