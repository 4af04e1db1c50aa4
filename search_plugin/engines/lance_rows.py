"""Papers as rows of a LanceDB table, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import orjson

from corpora.custom import FieldValue
from corpora.errors import InputError
from corpora.paper import Paper, is_empty
from search_plugin.engines.base import Document
from search_plugin.schema import LATER_FIELDS, PAPER_FIELDS, Field, IndexSchema

ATTRIBUTES = tuple(field.name for field in fields(Paper) if field.name != "extra")
_DECLARED = {field.name: field for field in PAPER_FIELDS}


def create_table(database: Any, name: str, schema: IndexSchema, facts: bytes) -> None:
    """Create an empty table for a generation; `facts` are stored with it."""
    import pyarrow as pa

    columns = [pa.field(attribute, arrow_type(_DECLARED[attribute])) for attribute in ATTRIBUTES]
    columns += [pa.field(field.name, arrow_type(field)) for field in schema.added]
    columns += [pa.field("text", pa.string()), pa.field("content_hash", pa.string())]
    columns += [pa.field(vector.name, pa.list_(pa.float32(), vector.dimension)) for vector in schema.vectors]
    database.create_table(name, schema=pa.schema(columns, metadata={b"ses": facts}))


def add_later_columns(table: Any) -> None:
    """Give a table of an earlier version the columns it lacks, empty; no row is written anew for that."""
    import pyarrow as pa

    if lacking := [
        pa.field(name, arrow_type(_DECLARED[name])) for name in LATER_FIELDS if name not in table.schema.names
    ]:
        table.add_columns(pa.schema(lacking))


def add_columns(table: Any, added: Iterable[Field]) -> None:
    """Give a table empty columns of fields that were added to its schema; each says with its column what it is."""
    import pyarrow as pa

    if columns := [pa.field(f.name, arrow_type(f), metadata={b"ses": orjson.dumps(asdict(f))}) for f in added]:
        table.add_columns(pa.schema(columns))


def added_fields(arrow_schema: Any) -> list[Field]:
    """Return the fields that were added to a table after it was made."""
    told = [(column.metadata or {}).get(b"ses") for column in arrow_schema]
    return [Field(**orjson.loads(field)) for field in told if field]


def arrow_type(field: Field) -> Any:
    """Return the type of a field's column."""
    import pyarrow as pa

    if field.kind == "number":
        return pa.int32() if field.whole else pa.float64()
    return {"keywords": pa.list_(pa.string()), "boolean": pa.bool_()}.get(field.kind, pa.string())


def to_arrow(documents: Sequence[Document], schema: IndexSchema, arrow_schema: Any) -> Any:
    """Return documents as a table of a schema; raises `InputError` if a vector has another length than the index's."""
    import numpy as np
    import pyarrow as pa

    papers = [document.paper for document in documents]
    columns: dict[str, Any] = {name: [getattr(paper, name) for paper in papers] for name in ATTRIBUTES}
    columns |= {field.name: [paper.extra.get(field.name) for paper in papers] for field in schema.added}
    columns["retracted"] = [paper.retracted or None for paper in papers]
    columns["text"] = [f"{paper.title}\n{paper.abstract}" for paper in papers]
    columns["content_hash"] = [document.content_hash for document in documents]
    for vector in schema.vectors:
        stacked = np.stack([document.vectors[vector.format] for document in documents]).astype(np.float32)
        if stacked.shape[1] != vector.dimension:
            raise InputError(
                f"The model gives vectors of {stacked.shape[1]} numbers and the index holds {vector.dimension}",
                "index again with <fresh>",
            )
        columns[vector.name] = pa.FixedSizeListArray.from_arrays(pa.array(stacked.ravel()), vector.dimension)
    return pa.table([pa.array(columns[f.name], f.type) for f in arrow_schema], schema=arrow_schema)


def paper_of(row: Mapping[str, Any], schema: IndexSchema) -> Paper:
    """Return the paper of a row, which may lack the columns that earlier versions did not know."""
    own = {name: row[name] for name in ATTRIBUTES if name in row}
    lists = {f.name: tuple(row.get(f.name) or ()) for f in PAPER_FIELDS if f.kind == "keywords"}
    extra = values_of(row, schema, [field.name for field in schema.added])
    return Paper(**{**own, **lists, "retracted": bool(row.get("retracted")), "extra": extra})


def values_of(row: Mapping[str, Any], schema: IndexSchema, names: Iterable[str]) -> dict[str, FieldValue]:
    """Return the values of some fields of a row, of those that have one."""
    lists = {field.name for field in schema.fields if field.kind == "keywords"}
    held = {name: tuple(row.get(name) or ()) if name in lists else plain(row.get(name)) for name in names}
    return {name: value for name, value in held.items() if not is_empty(value)}


def plain(value: Any) -> Any:
    """Return a number without a fraction as a whole one; other values as they are."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
