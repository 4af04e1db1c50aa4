"""Identifiers in queries, and the forms in which an index may hold them; `corpora.identifiers` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from corpora.identifiers import find_identifiers, normal, one_each, other_names, read_identifier
from corpora.paper import Paper

OWN = "id"
"""The kind of an index's own ids."""

KEY = "key"
"""The kind of what a user's own library calls a paper, such as the key of an entry of BibTeX."""

NAMES = {"doi": "DOI", "pmid": "PMID", "pmc": "PMCID", "arxiv": "arXiv id", OWN: "id"}

MOST = 100
"""Identifiers of one query that are looked up; all others of it are ignored."""

_DIGITS = re.compile(r"\d{5,8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name of a paper.

    Attributes:
        kind: A kind of `Paper.identifiers`, or `id` for the index's own ids.
        value: The identifier in its normal form.
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
            return _cases(self.value)
        if self.kind == "openalex":
            return (self.value, f"https://openalex.org/{self.value}")
        return (self.value,) if self.kind in ("doi", "pmc", "arxiv") else ()

    @property
    def identifiers(self) -> tuple[str, ...]:
        """What a paper of this name may have among its identifiers."""
        if self.kind == OWN:
            return ()
        names = ((self.kind, self.value), *other_names(self.kind, self.value))
        kinds = ((name, _forms(kind, value)) for kind, value in names for name in (kind, kind.upper()))
        return tuple(f"{kind}:{form}" for kind, forms in kinds for form in forms)

    def names(self, paper: Paper) -> bool:
        """Return whether it is a name of a paper."""
        return paper.id in self.ids or not set(self.identifiers).isdisjoint(paper.identifiers)


def identifier_of(kind: str, text: str) -> Identifier:
    """Return the identifier of a kind that a text gives, with or without its prefix or address."""
    found = next((one for one in read_identifiers(text)[0] if one.kind == kind), None)
    return found or Identifier(kind, normal(kind, text.strip()))


def read_identifiers(text: str) -> tuple[tuple[Identifier, ...], str]:
    """Return the identifiers in a query in order, each once, and the text without those that are certain.

    Blanks, commas and semicolons separate several. Only if a query is nothing but identifiers are bare numbers, and
    words that can be the index's own ids, among them.
    """
    divided = one_each(text)
    found = list(find_identifiers(divided))
    parts, at = [], 0
    for one in found:
        parts.append(divided[at : one.span[0]])
        at = one.span[1]
    rest = " ".join(" ".join([*parts, divided[at:]]).split()).strip(" ,;.()[]")
    words = [word for word in re.split(r"[\s,;]+", rest) if word]
    guesses: list[Identifier] = []
    if (len(words) == 1 and not found) or all(any(map(str.isdigit, word)) for word in words):
        guesses = [guess for word in words for guess in _guessed(word)]
    distinct = dict.fromkeys([*(Identifier(one.kind, one.value) for one in found), *guesses])
    return tuple(distinct)[:MOST], rest


def _cases(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((value, value.lower(), value.upper())))


def _forms(kind: str, value: str) -> tuple[str, ...]:
    """Return a value as corpora write it: first as readers do, then as corpora do that list identifiers themselves."""
    if kind == "arxiv":
        return (value, *(f"{value}v{version}" for version in range(1, 10)))
    return _cases(value) if kind in ("doi", "pmc") else (value,)


def _guessed(word: str) -> Iterator[Identifier]:
    yield Identifier(OWN, word, certain=False, typed=word)
    yield Identifier(KEY, word, certain=False, typed=word)
    for kind, may_be in (("pmid", _DIGITS.fullmatch(word)), ("arxiv", True)):
        if may_be and (read := read_identifier(word, kind)) and read[0] == kind:
            yield Identifier(*read, certain=False, typed=word)
