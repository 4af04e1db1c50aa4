"""What an index holds, told without naming an engine; each engine renders it in its own terms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from corpora.errors import InputError
from encoders.formats import Similarity

FieldKind = Literal["number", "keyword", "keywords", "flag"]
"""One number, one exact string, a list of exact strings, or true where something is so and missing where it is not."""

FIELDS: dict[str, FieldKind] = {
    "id": "keyword",
    "year": "number",
    "venue": "keyword",
    "language": "keyword",
    "authors": "keywords",
    "types": "keywords",
    "fields": "keywords",
    "identifiers": "keywords",
    "references": "keywords",
    "retracted": "flag",
    "origins": "keywords",
}
"""The fields filters and facets may name; all are attributes of `Paper`."""

ALIASES = {
    "journal": "venue",
    "author": "authors",
    "type": "types",
    "field": "fields",
    "origin": "origins",
    "corpus": "origins",
}
"""What users also call those fields."""

LATER_FIELDS = ("retracted", "origins")
"""Fields that indexes of earlier versions lack: there no paper has a value, until something is written."""


def resolve_field(name: str) -> str:
    """Return the schema's name for the field a user named.

    Args:
        name: A field name or alias, in any case.

    Returns:
        A key of `FIELDS`.

    Raises:
        InputError: If there is no such field; the message names those there are.
    """
    lowered = name.strip().lower()
    field = ALIASES.get(lowered, lowered)
    if field not in FIELDS:
        known = ", ".join(sorted([*FIELDS, *ALIASES]))
        raise InputError(f"There is no field {name!r} to filter or count by; those there are: {known}.")
    return field


Quantization = Literal["none", "int8", "int4", "1bit"]
"""How an engine keeps a vector's numbers in memory: whole, or in 8, 4 or 1 bits; the nearest are then ranked again by
their whole vectors."""


@dataclass(frozen=True, slots=True)
class VectorField:
    """One vector per paper.

    Attributes:
        name: The task format in lower case: `prx`, `clf`, `rgn` or `qry`.
        dimension: Length of the vectors.
        similarity: The measure of similarity; the model card says which.
    """

    name: str
    dimension: int
    similarity: Similarity


@dataclass(frozen=True, slots=True)
class Bm25:
    """The constants of BM25 (Robertson & Zaragoza, "The probabilistic relevance framework", 2009, section 3.4).

    Attributes:
        k1: How much more a word counts that a paper holds again and again.
        b: How much a paper's length is held against it, from 0 to 1.

    Raises:
        InputError: If one of them is out of bounds.
    """

    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        if not (math.isfinite(self.k1) and self.k1 >= 0 and 0 <= self.b <= 1):
            raise InputError(f"BM25 can't have k1 {self.k1:g} and b {self.b:g}; k1 begins at 0, and b is from 0 to 1.")

    def __str__(self) -> str:
        return f"k1 {self.k1:g}, b {self.b:g}"


@dataclass(frozen=True, slots=True)
class IndexSchema:
    """The vectors of an index and the model that made them; text and facet fields are the same in every index.

    Attributes:
        model: Name of the model, to tell the user.
        fingerprint: What a model must match to search this index (`ModelCard.fingerprint`).
        vectors: One field per task format.
        quantization: Of all of them.
        bm25: How words are scored.
    """

    model: str
    fingerprint: str
    vectors: tuple[VectorField, ...]
    quantization: Quantization = "none"
    bm25: Bm25 = Bm25()

    def vector(self, name: str) -> VectorField:
        """Return the vector field of a format, or raise `InputError` naming those the index has."""
        for field in self.vectors:
            if field.name == name:
                return field
        known = ", ".join(field.name for field in self.vectors)
        raise InputError(f"This index holds no {name} vectors, only: {known}", f"index again with <formats={name}>")
