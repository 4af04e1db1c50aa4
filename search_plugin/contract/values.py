"""What is to be written into an index, checked: documents, and values of fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corpora.cleaning import normal_date
from corpora.custom import LONGEST_KEYWORD, FieldKind, FieldValue
from corpora.errors import InputError
from corpora.lazy import np
from corpora.paper import Paper
from corpora.plain import plain
from corpora.publication import publication_from
from search_plugin.contract.schema import Field, IndexSchema, SparseField

UPDATABLE = ("origins", "publication")
"""Fields of every paper that are not part of its content."""


def checked(schema: IndexSchema, values: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, FieldValue | None]]:
    """Return values, by id and field, as engines write them.

    These are values of `corpora.plain`, lists as tuples, dates in their normal form, and None for every empty value.
    Raises `InputError` if the index has no such field, it is part of the paper's content, or a value is of another
    kind.
    """
    fields = {field.name: field for field in (*schema.fields, *schema.kept)}
    return {
        id_: {name: _checked(fields, id_, name, value) for name, value in row.items()} for id_, row in values.items()
    }


def check_dimensions(vectors: Mapping[str, np.ndarray], schema: IndexSchema) -> None:
    """Raise `InputError` if a vector is not as long as those of the index."""
    for field in schema.written:
        if (size := vectors[field.format].shape[-1]) != field.width:
            raise InputError(
                f"The model gives vectors of {size} numbers and the index holds {field.width}",
                "index again with <fresh>",
            )


def check_numbers(vectors: Mapping[str, np.ndarray], schema: IndexSchema) -> None:
    """Raise `ValueError` if a vector holds values that are not finite numbers, or that have no finite length."""
    for field in schema.written:
        held = np.asarray(vectors[field.format], np.float32)
        if not np.isfinite(held).all():
            raise ValueError(f"its {field.format} vector holds values that are not numbers")
        with np.errstate(over="ignore"):
            lengths = np.square(held).sum(axis=-1)
        # faiss would abort the process when it computes the centres of lists.
        if not np.isfinite(lengths).all():
            raise ValueError(f"its {field.format} vector is too long for 32-bit numbers")
        if isinstance(field, SparseField):
            from encoders.sparse import is_sparse

            if not is_sparse(held, field.dimension):
                raise ValueError(
                    f"its {field.format} vector does not hold tokens in ascending order with their weights"
                )


def with_values(paper: Paper, values: Mapping[str, FieldValue | None]) -> Paper:
    """Return a paper with other values in some fields; None for no value."""
    own: dict[str, Any] = {name: value or () for name, value in values.items() if name in UPDATABLE}
    if "publication" in own:
        own["publication"] = publication_from(values["publication"])
    extra = {**paper.extra, **{name: value for name, value in values.items() if name not in UPDATABLE}}
    return replace(paper, **own, extra={name: value for name, value in extra.items() if value is not None})


def _checked(fields: Mapping[str, Field], id_: str, name: str, value: object) -> FieldValue | None:
    field = fields.get(name)
    if field is None:
        known = ", ".join(other.name for other in fields.values() if _can_be_updated(other))
        raise InputError(f"The index has no field {name!r} to update; add it first, or choose one of {known}.")
    if not _can_be_updated(field):
        raise InputError(
            f"{name} is part of a paper's content and can't be updated by itself; index the changed paper instead."
        )
    try:
        return _as_kind(field.kind, plain(value))
    except (TypeError, ValueError):
        raise InputError(
            f"The paper {id_[:60]!r} can't have {str(value)[:60]!r} in the field {name}, "
            f"which is of the kind {field.kind}."
        ) from None


def _can_be_updated(field: Field) -> bool:
    return field.origin != "paper" or field.name in UPDATABLE


def _as_kind(kind: FieldKind, value: object) -> FieldValue | None:
    if value is None or value == "":
        return None
    match kind, value:
        case "boolean", bool():
            return value or None
        case ("number", bool()):
            raise TypeError
        case "number", int() | float() if math.isfinite(value) and float(value) == value:
            return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
        case "keywords", list():
            return tuple(dict.fromkeys(_keyword(part) for part in value)) or None
        case "keyword", str():
            return _keyword(value)
        case "date", str():
            return normal_date(value) or _refuse()
        case "text", str():
            return value
        case _:
            return _refuse()


def _keyword(value: object) -> str:
    if not isinstance(value, str) or not value or len(value) > LONGEST_KEYWORD:
        raise TypeError
    return value


def _refuse() -> FieldValue:
    raise TypeError
