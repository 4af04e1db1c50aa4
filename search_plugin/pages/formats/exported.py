"""What formats write of a hit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from corpora.links import identifier_of, link_of
from corpora.outgoing import plain

if TYPE_CHECKING:
    from corpora.paper import Paper


_MEETING = re.compile(r"conference|proceedings|meeting", re.IGNORECASE)


class FoundPaper(Protocol):
    """A hit, as `search_plugin.pages.page` makes it."""

    @property
    def rank(self) -> int:
        """From 1, over all pages."""

    @property
    def score(self) -> float:
        """Fused score."""

    @property
    def weak(self) -> bool:
        """Whether the paper matches weakly."""

    @property
    def paper(self) -> Paper:
        """The paper found."""


def facts_of(hit: FoundPaper) -> dict[str, Any]:
    """Return what tables and JSON lines say of a hit, without its custom fields."""
    paper = hit.paper
    return {
        "rank": hit.rank,
        "score": hit.score,
        "weak": hit.weak,
        "id": paper.id,
        "title": paper.title,
        "authors": paper.authors,
        "year": paper.year,
        "venue": paper.venue,
        "doi": identifier_of(paper, "doi"),
        "link": link_of(paper),
        "abstract": paper.abstract,
        "types": paper.types,
        "language": paper.language,
        "fields": paper.fields,
        "identifiers": paper.identifiers,
        "references": paper.references,
        "url": paper.url,
        "retracted": paper.retracted,
        "origins": paper.origins,
    }


def rows_of(hits: Sequence[FoundPaper]) -> list[dict[str, Any]]:
    """Return the rows of a table of hits, all with the same keys; custom fields are named `extra.NAME`."""
    custom = list(dict.fromkeys(name for hit in hits for name in hit.paper.extra))
    return [{**facts_of(hit), **{f"extra.{name}": hit.paper.extra.get(name) for name in custom}} for hit in hits]


def at_meeting(paper: Paper) -> bool:
    """Return whether a paper's types say that it appeared in the proceedings of a meeting."""
    return any(_MEETING.search(kind) for kind in paper.types)


def one_line(text: str) -> str:
    """Return a plain text in one line, without surplus blanks."""
    return " ".join(plain(text).split())
