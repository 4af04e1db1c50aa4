"""What a paper is to every other package."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass

import orjson


@dataclass(frozen=True, slots=True)
class Paper:
    """One scientific paper, as read from a corpus.

    Attributes:
        id: The corpus's own identifier; unique within an index.
        title: The title, never empty.
        abstract: The abstract, empty where the corpus has none.
        authors: Names as published, in order.
        year: Year of publication.
        venue: Journal, conference or book the paper appeared in.
        types: Publication types, such as `Review`.
        language: Language code as the corpus gives it.
        fields: Subject headings, keywords or fields of study.
        identifiers: Other names of the same paper as `kind:value`, such as `doi:10.1000/182`.
        references: Identifiers of the papers this one cites.
        url: Where to read it.
        retracted: Whether the corpus says that the paper was retracted.
        origins: Names of the corpora that hold the paper; a reader leaves them out, an index records them.
    """

    id: str
    title: str
    abstract: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    types: tuple[str, ...] = ()
    language: str = ""
    fields: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    url: str = ""
    retracted: bool = False
    origins: tuple[str, ...] = ()

    def content_hash(self) -> str:
        """Return 32 hex digits that change whenever any attribute but `origins` does, the same on every machine."""
        # Who holds a paper is none of its content. And a paper that is not retracted keeps the hash that it had before
        # papers had this mark, so that no index has to be made anew for it.
        content = {name: value for name, value in asdict(self).items() if name != "origins" and value is not False}
        return hashlib.blake2b(orjson.dumps(content), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Accepted:
    """A paper and the place it was read from.

    Attributes:
        line: Line of the file (1-based) on which the record begins.
        paper: The paper.
    """

    line: int
    paper: Paper


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that can't become a paper; it goes to the dead-letter file and reading goes on.

    Attributes:
        line: Line of the file (1-based) on which the record begins.
        reason: One plain sentence.
        id: The record's identifier, where one could be read.
    """

    line: int
    reason: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Deleted:
    """A record that says that the corpus no longer holds a paper.

    Attributes:
        line: Line of the file (1-based) on which the identifier stands.
        id: The paper's identifier.
    """

    line: int
    id: str


Record = Accepted | Rejected | Deleted
