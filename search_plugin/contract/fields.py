"""Fields of the papers of an index: those of every paper, and those that corpora, taggers and forecasters add."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from corpora.custom import CustomField, FieldKind, check_field_name
from corpora.errors import InputError

FieldOrigin = Literal["paper", "custom", "tag", "forecast"]
"""The source of a field's values: every corpus, the user's own corpus, a tagger, or a forecaster."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the papers of an index.

    Attributes:
        name: Its name in filters, facets and the engine.
        kind: The kind of its values.
        facet: Whether its values can be counted.
        origin: Source of its values.

    Raises:
        InputError: If the name is not allowed.
    """

    name: str
    kind: FieldKind
    facet: bool = True
    origin: FieldOrigin = "custom"

    def __post_init__(self) -> None:
        check_field_name(self.name)

    @property
    def single(self) -> bool:
        """Whether a paper has at most one value, which can be compared with another paper's."""
        return self.kind not in ("text", "keywords")

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers of 32 bits, as all numbers of every paper are; others are doubles."""
        return self.kind == "number" and self.origin == "paper"


PAPER_FIELDS = (
    Field("id", "keyword", origin="paper"),
    Field("title", "text", facet=False, origin="paper"),
    Field("abstract", "text", facet=False, origin="paper"),
    Field("authors", "keywords", origin="paper"),
    Field("year", "number", origin="paper"),
    Field("venue", "keyword", origin="paper"),
    Field("types", "keywords", origin="paper"),
    Field("language", "keyword", origin="paper"),
    Field("fields", "keywords", origin="paper"),
    Field("identifiers", "keywords", origin="paper"),
    Field("references", "keywords", origin="paper"),
    Field("url", "keyword", facet=False, origin="paper"),
    Field("retracted", "boolean", origin="paper"),
    Field("origins", "keywords", origin="paper"),
)
"""Fields of every paper, attributes of `Paper`."""

ALIASES = {
    "journal": "venue",
    "author": "authors",
    "type": "types",
    "field": "fields",
    "origin": "origins",
    "corpus": "origins",
}
"""Other names of these fields for users."""

IDENTIFIER_FIELDS = {"doi": "doi", "pmid": "pmid", "pmcid": "pmc", "pmc": "pmc", "arxiv": "arxiv"}
"""What users may filter by as if they were fields: the kinds of `Paper.identifiers`."""


def find_field(name: str, fields: Sequence[Field] = PAPER_FIELDS) -> Field:
    """Return the field that a user named by its name or alias, in any case; it can be filtered by.

    Raises `InputError` if there is no such field, or it is text; the message names the available ones.
    """
    lowered = name.strip().lower()
    known = {field.name: field for field in fields if field.kind != "text"}
    field = known.get(lowered) or known.get(ALIASES.get(lowered, ""))
    if field is None:
        aliases = [alias for alias, meant in ALIASES.items() if meant in known and alias not in known]
        listed = ", ".join(sorted([*known, *aliases]))
        raise InputError(f"There is no field {name!r} to filter or count by; choose one of {listed}.")
    return field


def custom_fields(fields: Iterable[CustomField]) -> tuple[Field, ...]:
    """Return custom fields as fields of an index; text is not counted."""
    return tuple(Field(field.name, field.kind, field.kind != "text") for field in fields)
