"""Vectors that an index of others holds already: found in its mapping, and searched with a model that a user names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corpora.errors import InputError, UnavailableError
from encoders.models.card import ModelCard
from encoders.models.formats import Format, Similarity
from search_plugin.contract.plan import LEXICAL
from search_plugin.contract.schema import ForeignField
from search_plugin.engines.cluster.attached.field_mappings import look_up
from search_plugin.engines.cluster.dialect import Dialect

_TAKEN = {LEXICAL, *map(str, Format)}
_VECTOR_TYPES = ("dense_vector", "knn_vector")
MOST_FIELDS = 8
"""Vector fields of one attachment; every search asks them all."""


@dataclass(frozen=True, slots=True)
class NamedVectors:
    """A field of vectors of others, and the model that made them, as the user says.

    Attributes:
        field: The field, with dots into objects; its leg has the same name.
        model: Name of the model.
        fingerprint: Fingerprint of the model.
        dimension: Length of the model's vectors.
        similarity: How the model's vectors are compared, where the mapping does not say it.
    """

    field: str
    model: str
    fingerprint: str
    dimension: int
    similarity: Similarity

    @classmethod
    def of(cls, field: str, card: ModelCard) -> NamedVectors:
        """Return a field with the facts of the model that the user names for it."""
        return cls(field, card.name, card.fingerprint, card.dimension, card.similarity)


def find_vectors(
    described: Mapping[str, Any], named: Sequence[NamedVectors], dialect: Dialect, target: str
) -> tuple[ForeignField, ...]:
    """Return the fields of vectors that a user names, those of papers before those of passages.

    `described` has the mapping and the flat settings of each index behind the target, as the cluster gives them.
    Raises `InputError` if a field is missing in one of them, can't be searched, or has another dimension than its
    model.
    """
    if len(named) > MOST_FIELDS:
        raise InputError(f"{len(named)} fields of vectors are too many", f"name at most {MOST_FIELDS}")
    return tuple(
        sorted((_found(described, one, dialect, target) for one in named), key=lambda one: one.unit != "paper")
    )


def _found(described: Mapping[str, Any], named: NamedVectors, dialect: Dialect, target: str) -> ForeignField:
    if named.field in _TAKEN:
        raise InputError(f"A leg of each search is called {named.field}, so a field of this name can't be searched.")
    distinct = {_field(index, facts, named, dialect) for index, facts in described.items()}
    if len(distinct) > 1:
        raise InputError(
            f"The field {named.field} is not the same in all indexes behind {target}",
            "attach each index by its own name",
        )
    return distinct.pop()


def _field(index: str, facts: Mapping[str, Any], named: NamedVectors, dialect: Dialect) -> ForeignField:
    found = look_up(facts.get("mappings", {}), named.field)
    if found is None:
        known = ", ".join(sorted(_vector_fields(facts.get("mappings", {})))) or "none"
        raise InputError(f"{index} has no field {named.field}; its fields of vectors are: {known}.")
    try:
        mapped = dialect.read_vector(found.mapping, facts.get("settings", {}))
    except ValueError as error:
        raise InputError(f"The field {named.field} of {index} can't be searched by meaning: {error}.") from None
    if mapped.dimension != named.dimension:
        raise InputError(
            f"The field {named.field} of {index} holds vectors of {mapped.dimension:,} numbers, and {named.model} "
            f"gives {named.dimension:,}",
            "name the model that made them",
        )
    return ForeignField(
        found.path,
        named.field,
        mapped.dimension,
        mapped.similarity or named.similarity,
        "passage" if found.nested else "paper",
        mapped.quantization,
        named.model,
        named.fingerprint,
        mapped.graph,
        found.nested,
    )


def _vector_fields(mapping: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for name, field in mapping.get("properties", {}).items():
        if field.get("type") in _VECTOR_TYPES and not path.startswith("ses."):
            yield f"{path}{name}"
        yield from _vector_fields(field, f"{path}{name}.")


def check_vectors(mappings: Mapping[str, Any], fields: Sequence[ForeignField], dialect: Dialect, target: str) -> None:
    """Raise `UnavailableError` if the owner of an index has removed a field of vectors, or made it another one."""
    for field in fields:
        for index, kept in sorted(mappings.items()):
            found = look_up(kept.get("mappings", {}), field.format)
            problem = "is gone" if found is None else "is another one"
            if found and (found.path, found.nested) == (field.name, field.nested):
                try:
                    mapped = dialect.read_vector(found.mapping, kept.get("settings", {}))
                except ValueError as error:
                    problem = f"can't be searched any more: {error}"
                else:
                    same = mapped.similarity in (None, field.similarity)
                    if mapped.dimension == field.dimension and same:
                        continue
            raise UnavailableError(
                f"{target} was changed by its owner: the field {field.format} of {index} {problem}",
                "attach it again with the fields that it has now",
            )


def described_vectors(fields: Sequence[ForeignField]) -> str:
    """Return which vectors of its own an index is searched by, as a clause for people."""
    named = ", ".join(f"{field.format} ({field.model})" for field in fields)
    return f"searched by its own vectors {named}" if fields else ""
