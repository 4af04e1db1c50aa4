"""The data type of a paper, for all other packages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, get_type_hints

import orjson

from corpora.custom import FieldValue
from corpora.outgoing import paper_html
from corpora.publication import Publication, publication_from

T = TypeVar("T")
_Given = TypeVar("_Given", covariant=True)

_NOT_CONTENT = ("origins", "extra", "publication")
"""What an index updates without a new vector."""

_NEW = ("retracted",)
"""Attributes that papers did not always have. They count as content where they have a value, so that papers without one
keep their hash."""


def is_empty(value: object) -> bool:
    """Return whether a field's value is missing; 0 is a value."""
    return value is None or value is False or value in ("", ())


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
        url: Address at which to read it.
        retracted: Whether the corpus says that the paper was retracted.
        origins: Names of the corpora that hold the paper; a reader leaves them out, an index records them.
        extra: Values of fields that are not of every paper (custom fields, tags, forecasts), by name; none of them
            empty.
        publication: Volume, issue, pages, publisher and ISSN; None where the corpus has none of them.

    Example:
        >>> paper = ses.Paper("a", "A virus", authors=("Ada Byron",), year=2020)
        >>> paper.title, paper.year
        ('A virus', 2020)
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
    extra: Mapping[str, FieldValue] = field(default_factory=dict, hash=False)
    publication: Publication | None = None

    def content_hash(self) -> str:
        """Return 32 hex digits that change with any attribute but `_NOT_CONTENT`, the same on every machine."""
        content = {name: getattr(self, name) for name in _CONTENT}
        content = {name: value for name, value in content.items() if name not in _NEW or not is_empty(value)}
        return hashlib.blake2b(orjson.dumps(content), digest_size=16).hexdigest()

    def _repr_html_(self) -> str:
        return paper_html(self)

    def value(self, name: str) -> FieldValue | None:
        """Return the value of an attribute or of a field in `extra`, or None where there is none.

        That of the publication is the text that an index keeps.
        """
        value = self.extra.get(name) if name in self.extra else getattr(self, name, None)
        if isinstance(value, Publication):
            return value.to_text()
        return None if is_empty(value) else value


TYPES: Mapping[str, Any] = get_type_hints(Paper)
"""Type of each attribute of a paper."""

_CONTENT = tuple(name for name in TYPES if name not in _NOT_CONTENT)


def paper_from(values: Mapping[str, Any]) -> Paper:
    """Return a paper from its attributes as JSON holds them: lists become tuples."""
    attributes = _with_tuples(values)
    attributes["extra"] = _with_tuples(attributes.get("extra", {}))
    attributes["publication"] = publication_from(attributes.get("publication"))
    return Paper(**attributes)


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


class RecordParts(Protocol[_Given]):
    """What a reader makes one record of, by the names that its source gives to the parts."""

    def names(self) -> Collection[str]:
        """Return the names that have a value, each once."""

    def without(self, names: Collection[str]) -> _Given:
        """Return what the reader takes, without some names."""

    def text(self, name: str) -> str:
        """Return the value of a name, as an example."""


@dataclass(frozen=True, slots=True)
class MadeOf(Generic[T]):
    """What a record was made of, and the reader's function that makes it, for an account of what is read."""

    parts: RecordParts[T]
    convert: Callable[[T], Record]


@dataclass(frozen=True, slots=True)
class Accepted:
    """A paper and the place it was read from.

    Attributes:
        line: Line of the file (1-based) on which the record begins.
        paper: The paper.
        made_of: What it was made of, for an account of what was read; None where no reader says it.
    """

    line: int
    paper: Paper
    made_of: MadeOf[Any] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that can't become a paper; it is listed in the dead-letter file, and reading continues.

    Attributes:
        line: Line of the file (1-based) on which the record begins.
        reason: One plain sentence.
        id: The record's identifier, where one could be read.
        paper: What could be read of it, though no index can hold it; None if nothing could.
        made_of: What it was made of, as for `Accepted`.
    """

    line: int
    reason: str
    id: str = ""
    paper: Paper | None = field(default=None, compare=False, repr=False)
    made_of: MadeOf[Any] | None = field(default=None, compare=False, repr=False)


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
