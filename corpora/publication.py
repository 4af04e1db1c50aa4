"""Where in its journal or book a paper stands: volume, issue, pages, publisher, ISSN.

They cite a paper. Nobody searches by them, so an index keeps them as one text, and they are no part of what is encoded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

_ISSN = re.compile(r"(?<![\w-])(\d{4})[-\u2010-\u2015\u2212]?(\d{3}[\dXx])(?![\w-])")
_DASH = re.compile(r"\s*(?:-{1,3}|[\u2010-\u2015\u2212])\s*")
_MARK = re.compile(r"pp?\.\s*(?=\w)|pages?\s+(?=\w)", re.IGNORECASE)
_FIRST = re.compile(r"(\S+)-(\S+)")
"""Pages from one to another; several ranges, `12-19, 24`, are none."""

_SHORT = re.compile(
    r";\s*(?P<volume>[\w.-]+(?: Suppl [\w.]+)?)?(?:\((?P<issue>[^()]{1,40})\))?:(?P<pages>[\w-]+(?:, ?[\w-]+)*)"
)
_WORDED = {
    "volume": re.compile(r"\b(?:vol(?:ume)?|bd|band|t|tome)\b\.?\s*(\d\w*)", re.IGNORECASE),
    "issue": re.compile(r"\b(?:no|nr|iss(?:ue)?|num(?:ber)?|heft|n)\b\.?\s*(\d[\w/-]*)", re.IGNORECASE),
    "pages": re.compile(
        r"(?:\b(?:pp?|pages?|s|seiten)\b\.?\s*|[;:]\s*)(\w*\d\w*\s*[-\u2013]\s*\w*\d\w*)\s*\.?$", re.IGNORECASE
    ),
}

_LONGEST = 500
"""Most characters of a value. A longer one is no volume or publisher: it is left out, and engines take the others."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Where in its journal or book a paper stands.

    Attributes:
        volume: The volume.
        issue: The issue, or number, of the volume.
        pages: The pages, such as `12-19`, or the number of the article.
        publisher: Who published it.
        issn: Its ISSNs, such as `1234-5679`.

    Example:
        >>> paper = ses.Paper("a", "A virus", publication=ses.Publication(volume="12", issue="3", pages="45-51"))
        >>> paper.publication.volume
        '12'
    """

    volume: str = ""
    issue: str = ""
    pages: str = ""
    publisher: str = ""
    issn: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return the text that an index keeps, JSON without what is empty; `publication_from` reads it."""
        return orjson.dumps({name: value for name in PARTS if (value := getattr(self, name))}).decode()

    @property
    def page_range(self) -> tuple[str, str]:
        """The first page and the last one; the second is empty where the pages are not from one to another."""
        found = _FIRST.fullmatch(self.pages)
        return (found[1], found[2]) if found else (self.pages, "")

    @property
    def place(self) -> str:
        """Volume, issue and pages as citations have them: `12(3):45-51`."""
        issue = f"({self.issue})" if self.issue else ""
        return ":".join(filter(None, (f"{self.volume}{issue}", self.pages)))


PARTS = tuple(Publication.__slots__)
"""The names of its parts."""


def publication_of(texts: Sequence[str], issn: Sequence[str]) -> Publication | None:
    """Return a publication of the clean texts of `corpora.aliases.OF_PUBLICATION`, in order; None if all are empty.

    The pages are in one text or in two, or there is the number of an article. An ISSN may have words around it.
    """
    volume, issue, pages, first_page, last_page, article_number, publisher = texts
    whole, first, last = (_DASH.sub("-", _MARK.sub("", text)) for text in (pages, first_page, last_page))
    # Some programs put both pages into the field of the first one.
    ranged = f"{first}-{last}" if first and last and first != last and "-" not in first else first
    volume, issue, where, publisher = (
        text if len(text) <= _LONGEST else ""
        for text in (volume, issue, whole or ranged or last or article_number, publisher)
    )
    numbers = (f"{one[1]}-{one[2].upper()}" for one in _ISSN.finditer(" ".join(issn)[:_LONGEST]))
    found = Publication(volume, issue, where, publisher, tuple(dict.fromkeys(numbers)))
    return None if found == Publication() else found


def parts_of_citation(text: str) -> dict[str, str]:
    """Return volume, issue and pages of a text such as `Vol. 12, no. 3 (2020), p. 45-51` or `2020;12(3):45-51`."""
    if short := _SHORT.search(text):
        return {name: part for name, part in short.groupdict().items() if part}
    found = {name: pattern.search(text) for name, pattern in _WORDED.items()}
    return {name: one[1] for name, one in found.items() if one}


def publication_from(stored: object) -> Publication | None:
    """Return a publication from the text that an index keeps, or from its attributes as JSON holds them.

    Raises `ValueError` if it is neither.
    """
    if isinstance(stored, Publication):
        return stored
    held: object = orjson.loads(stored) if isinstance(stored, str) and stored else stored
    if not held:
        return None
    if not isinstance(held, Mapping) or not set(PARTS).issuperset(held):
        raise ValueError(f"{stored!r:.80} is no publication")
    texts = {name: str(value) for name, value in held.items() if name != "issn"}
    return Publication(**texts, issn=tuple(map(str, held.get("issn", ()))))
