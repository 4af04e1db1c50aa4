"""Identifiers of papers as people type them, and the forms in which an index may hold them.

DOIs: ISO 26324 (a prefix `10.` and a registrant, a slash, any characters; case does not count). arXiv: its identifier
scheme, from April 2007 on `yymm.number`, before that `archive/yymmnnn`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from corpora.aliases import IDENTIFIERS

if TYPE_CHECKING:
    from corpora.paper import Paper

OWN = "id"
"""The kind of an index's own ids."""

NAMES = {"doi": "DOI", "pmid": "PMID", "pmc": "PMCID", "arxiv": "arXiv id", OWN: "id"}

MOST = 100
"""Identifiers of one query that are looked up; all others of it are ignored."""

_ARXIV = r"arxiv\s*[:=]?\s*|(?:https?://)?(?:www\.)?arxiv\.org/(?:abs|pdf)/"
_HTTP = r"(?:https?://)?(?:www\.)?"
_END = r"(?=$|[\s,;])"
_FORMS = [
    ("doi", rf"{_HTTP}(?:dx\.)?doi\.org/(?:doi:)?(?P<url>10\.\d{{4,9}}(?:\.\d+)*/[^\s?#]+)(?:[?#]\S*)?"),
    ("doi", r"(?:doi\s*[:=]?\s*)?(?P<doi>10\.\d{4,9}(?:\.\d+)*/\S+)"),
    ("pmid", rf"{_HTTP}pubmed\.ncbi\.nlm\.nih\.gov/(?P<pubmed>\d{{1,8}})/?{_END}"),
    ("pmid", rf"{_HTTP}ncbi\.nlm\.nih\.gov/pubmed/(?P<ncbi>\d{{1,8}})/?{_END}"),
    ("pmid", rf"pmid\s*[:=]?\s*(?P<pmid>\d{{1,8}}){_END}"),
    ("pmc", rf"{_HTTP}(?:(?:pmc\.)?ncbi\.nlm\.nih\.gov/(?:pmc/)?articles/)(?P<pmcurl>PMC\d{{3,9}})/?{_END}"),
    ("pmc", rf"pmc(?:id)?\s*[:=]?\s*(?P<pmc>(?:PMC)?\d{{3,9}})(?:\.\d+)?{_END}"),
    ("arxiv", rf"(?:{_ARXIV})(?P<arxiv>\d{{4}}\.\d{{4,5}})(?:v\d+)?(?:\.pdf)?{_END}"),
    ("arxiv", rf"(?:{_ARXIV})?(?P<old>[a-z-]+(?:\.[a-z]{{2}})?/\d{{7}})(?:v\d+)?{_END}"),
    ("", rf"(?P<named>(?:{'|'.join(sorted(set(IDENTIFIERS)))}):[^\s,;]+)"),
]  # fmt: skip
_CERTAIN = re.compile(rf"(?<![^\s,;([])(?:{'|'.join(form for _, form in _FORMS)})", re.IGNORECASE)
_SEVERAL = re.compile(r"[,;](?=(?:doi:|https?://|10\.\d{4,9}/))", re.IGNORECASE)
_BARE_ARXIV = re.compile(r"\d{2}(?:0[1-9]|1[0-2])\.\d{4,5}(?:v\d+)?", re.ASCII)
_DIGITS = re.compile(r"\d{5,8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name of a paper.

    Attributes:
        kind: As of `Paper.identifiers`, or `id` for the index's own.
        value: In its normal form.
        certain: Whether it can be nothing else; a bare number may also be a word.
        typed: The word that it may be, if it is not certain.
    """

    kind: str
    value: str
    certain: bool = True
    typed: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{NAMES.get(self.kind, self.kind)} {self.value}"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids that a paper of this name may have."""
        if self.kind == OWN:
            return tuple(dict.fromkeys((self.value, self.value.lower(), self.value.upper())))
        return (self.value,) if self.kind in ("doi", "pmc", "arxiv") else ()

    @property
    def identifiers(self) -> tuple[str, ...]:
        """What a paper of this name may have among its identifiers."""
        if self.kind == OWN:
            return ()
        # Readers write the first form; corpora that list identifiers themselves write the others.
        forms = [self.value]
        if self.kind in ("doi", "pmc"):
            forms = list(dict.fromkeys((self.value, self.value.lower(), self.value.upper())))
        elif self.kind == "arxiv":
            forms += [f"{self.value}v{version}" for version in range(1, 10)]
        return tuple(f"{kind}:{form}" for kind in (self.kind, self.kind.upper()) for form in forms)

    def names(self, paper: Paper) -> bool:
        """Return whether it is a name of a paper."""
        return paper.id in self.ids or not set(self.identifiers).isdisjoint(paper.identifiers)


def identifier_of(kind: str, text: str) -> Identifier:
    """Return the identifier of a kind that a text gives, with or without its prefix or address."""
    found = next((one for one in read_identifiers(text)[0] if one.kind == kind), None)
    return found or _normal(kind, text.strip())


def read_identifiers(text: str) -> tuple[tuple[Identifier, ...], str]:
    """Find the identifiers in a query.

    Args:
        text: The query. Blanks, commas and semicolons separate several.

    Returns:
        The identifiers in order, each once, and the text without those that are certain. Only if a query is nothing
        but identifiers are bare numbers, and words that can be the index's own ids, among them.
    """
    divided = _SEVERAL.sub(" ", text)
    found = [(match.span(), one) for match in _CERTAIN.finditer(divided) for one in _read(match)]
    parts, at = [], 0
    for (start, end), _ in found:
        parts.append(divided[at:start])
        at = end
    rest = " ".join(" ".join([*parts, divided[at:]]).split()).strip(" ,;.()[]")
    words = [word for word in re.split(r"[\s,;]+", rest) if word]
    guesses: list[Identifier] = []
    if all(_can_be_an_id(word, alone=len(words) == 1 and not found) for word in words):
        guesses = [guess for word in words for guess in _guessed(word)]
    distinct = dict.fromkeys([*(one for _, one in found), *guesses])
    return tuple(distinct)[:MOST], rest


def _read(match: re.Match[str]) -> Iterator[Identifier]:
    name = str(match.lastgroup)
    given = match[name]
    if name == "named":
        kind, _, value = given.partition(":")
        yield _normal(kind.lower(), value)
        return
    kind = {"url": "doi", "pubmed": "pmid", "ncbi": "pmid", "pmcurl": "pmc", "old": "arxiv"}.get(name, name)
    yield _normal(kind, unquote(given) if name == "url" else given)


def _normal(kind: str, value: str) -> Identifier:
    if kind == "doi":
        value = _trimmed(value).lower()
    elif kind == "pmid":
        value = value.lstrip("0") or value
    elif kind == "pmc":
        value = f"PMC{value.upper().removeprefix('PMC')}"
    elif kind == "arxiv":
        value = re.sub(r"v\d+$", "", value)
        archive, slash, number = value.partition("/")
        value = f"{archive.lower() if '.' not in archive else archive}{slash}{number}"
    return Identifier(kind, value)


def _trimmed(doi: str) -> str:
    """Return a DOI without the punctuation of the sentence around it."""
    while doi and (doi[-1] in ".,;:'\"" or any(_closes(doi, *pair) for pair in ("()", "[]", "<>", "{}"))):
        doi = doi[:-1]
    return doi


def _closes(doi: str, start: str, end: str) -> bool:
    """Return whether a DOI ends with a bracket that was opened before it."""
    return doi.endswith(end) and doi.count(end) > doi.count(start)


def _can_be_an_id(word: str, *, alone: bool) -> bool:
    return alone or any(character.isdigit() for character in word)


def _guessed(word: str) -> Iterator[Identifier]:
    kinds = [OWN, *(["pmid"] if _DIGITS.fullmatch(word) else []), *(["arxiv"] if _BARE_ARXIV.fullmatch(word) else [])]
    for kind in kinds:
        yield replace(_normal(kind, word), certain=False, typed=word)
