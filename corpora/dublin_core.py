"""Dublin Core (dublincore.org, ISO 15836) as records of papers: its fifteen elements, and a few refined ones.

Repositories write the same things in different ways: several dates, of which the first is the publication's and later
ones are of the upload; addresses, ISSNs and DOIs all as identifiers; the vocabulary of OpenAIRE, `info:eu-repo/...`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element

from corpora.identifiers import read_identifier
from corpora.markup import plain_members, plain_text
from corpora.oai import name_of
from corpora.publication import parts_of_citation

ELEMENTS = (
    *("title", "creator", "subject", "description", "publisher", "contributor", "date", "type", "format"),
    *("identifier", "source", "language", "relation", "coverage", "rights"),
)
_REFINED = {"abstract": "description", "issued": "date", "bibliographicCitation": "source", "isPartOf": "source"}
_EU_REPO = re.compile(r"info:eu-repo/(?:semantics|classification/[\w-]+|grantAgreement)/", re.IGNORECASE)
_SAME = re.compile(r"info:eu-repo/semantics/altIdentifier/(\w+)/", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d)(?!\d)")
_NUMBER = re.compile(r"(?:urn:)?(issn|isbn)[\s:]*([\dXx][\dXx -]{7,20})", re.IGNORECASE)
_ISSN = re.compile(r"\d{4}-\d{3}[\dXx]")
_KINDS = ("doi", "arxiv", "pmid", "pmc")


def elements_of(metadata: Element) -> dict[str, list[str]]:
    """Return the texts of all elements by name, in order; refined elements are under the name that they refine."""
    found: dict[str, list[str]] = {}
    for element in metadata.iter():
        name = name_of(element)
        name = _REFINED.get(name, name)
        if name in ELEMENTS and (text := " ".join("".join(element.itertext()).split())):
            found.setdefault(name, []).append(text)
    return found


def members_of(found: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Return a record of a paper, for `assemble`, of Dublin Core's elements by name."""

    def get(name: str) -> Sequence[str]:
        return found.get(name, ())

    named = [*get("identifier"), *(text for text in get("relation") if _SAME.match(text))]
    known = [identifier for text in named if (identifier := _identifier(text))]
    years = [int(year) for date in get("date") if (year := next(iter(_YEAR.findall(date)), None))]
    members = {
        "title": next(iter(get("title")), ""),
        # Beside the abstract, notes and tables of contents are descriptions too.
        "abstract": max(get("description"), key=len, default=""),
        "authors": list(get("creator")),
        "year": min(years, default=None),
        "venue": next((plain_text(text).partition(";")[0] for text in get("source") if _is_venue(text)), ""),
        "types": [_EU_REPO.sub("", text) for text in get("type")],
        "language": next(iter(get("language")), ""),
        "fields": [_EU_REPO.sub("", text) for text in get("subject")],
        "identifiers": list(dict.fromkeys(known)),
        "url": [text for text in get("identifier") if text.startswith(("https://", "http://"))],
        **next((parts for text in get("source") if (parts := parts_of_citation(text))), {}),
        "publisher": next(iter(get("publisher")), ""),
        "issn": [text for name in ("source", "identifier", "relation") for text in get(name) if _is_number(text)],
    }
    return plain_members(members, ("title", "abstract"))


def _is_venue(source: str) -> bool:
    return not (source.startswith(("http:", "https:", "urn:", "info:")) or _ISSN.fullmatch(source))


def _is_number(text: str) -> bool:
    found = _NUMBER.fullmatch(text)
    return found[1].lower() == "issn" if found else bool(_ISSN.fullmatch(text))


def _identifier(text: str) -> str:
    """Return `doi:10.1000/182` and the like of an identifier that is known by its form, else an empty text."""
    same = _SAME.match(text)
    kind, value = (same[1].lower(), text[same.end() :]) if same else ("", text)
    if kind in ("", *_KINDS) and (found := read_identifier(value, kind)) and found[0] in _KINDS:
        return f"{found[0]}:{found[1]}"
    number = _NUMBER.fullmatch(f"{kind}:{value}" if kind else value)
    if number:
        digits = re.sub(r"[^\dX]", "", number[2].upper())
        return f"{number[1].lower()}:{f'{digits[:4]}-{digits[4:]}' if number[1].lower() == 'issn' else digits}"
    return ""
