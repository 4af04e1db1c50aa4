"""RIS, for EndNote, Zotero, Mendeley and other programs for references: a tag and a value in each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from corpora.links import identifier_of, link_of
from search_plugin.pages.formats.exported import at_meeting, one_line
from search_plugin.pages.formats.names import parse_name

if TYPE_CHECKING:
    from corpora.paper import Paper
    from search_plugin.pages.formats.exported import FoundPaper


def render(hits: Sequence[FoundPaper]) -> str:
    """Return a record for each hit."""
    records = ("".join(f"{tag}  - {value}\n" for tag, value in _lines(hit.paper) if value) for hit in hits)
    return "\n".join(f"{record}ER  - \n" for record in records)


def _lines(paper: Paper) -> Iterator[tuple[str, str]]:
    meeting = at_meeting(paper)
    yield "TY", "GEN" if not paper.venue else "CONF" if meeting else "JOUR"
    yield "ID", one_line(paper.id)
    yield "TI", one_line(paper.title)
    yield from (("AU", str(parse_name(one_line(author)))) for author in paper.authors)
    yield "PY", str(paper.year or "")
    yield "T2", one_line(paper.venue)
    yield "AB", one_line(paper.abstract)
    yield "DO", one_line(identifier_of(paper, "doi"))
    # A semicolon would end the address.
    yield "UR", link_of(paper).replace(";", "%3B")
    yield "LA", one_line(paper.language)
    yield from (("KW", one_line(word)) for word in paper.fields)
    yield "N1", "Retracted" if paper.retracted else ""
