"""Papers as rows of a LanceDB table, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.engines.base import Document
from search_plugin.schema import FIELDS, LATER_FIELDS, IndexSchema

_LISTS = tuple(name for name, kind in FIELDS.items() if kind == "keywords")


def create_table(database: Any, name: str, schema: IndexSchema, facts: bytes) -> None:
    """Create an empty table for a generation; `facts` are stored with it."""
    import pyarrow as pa

    columns = [pa.field(field.name, arrow_type(field.name)) for field in fields(Paper)]
    columns += [pa.field("text", pa.string()), pa.field("content_hash", pa.string())]
    columns += [pa.field(vector.name, pa.list_(pa.float32(), vector.dimension)) for vector in schema.vectors]
    database.create_table(name, schema=pa.schema(columns, metadata={b"ses": facts}))


def add_later_columns(table: Any) -> None:
    """Give a table of an earlier version the columns it lacks, empty; no row is written anew for that."""
    import pyarrow as pa

    if lacking := [pa.field(name, arrow_type(name)) for name in LATER_FIELDS if name not in table.schema.names]:
        table.add_columns(pa.schema(lacking))


def arrow_type(name: str) -> Any:
    """Return the type of a column by the kind of its field."""
    import pyarrow as pa

    types = {"number": pa.int32(), "keywords": pa.list_(pa.string()), "flag": pa.bool_()}
    return types.get(FIELDS.get(name, "keyword"), pa.string())


def to_arrow(documents: Sequence[Document], schema: IndexSchema, arrow_schema: Any) -> Any:
    """Return documents as a table of a schema; raises `InputError` if a vector has another length than the index's."""
    import numpy as np
    import pyarrow as pa

    papers = [document.paper for document in documents]
    columns: dict[str, Any] = {field.name: [getattr(paper, field.name) for paper in papers] for field in fields(Paper)}
    columns["retracted"] = [paper.retracted or None for paper in papers]
    columns["text"] = [f"{paper.title}\n{paper.abstract}" for paper in papers]
    columns["content_hash"] = [document.content_hash for document in documents]
    for vector in schema.vectors:
        stacked = np.stack([document.vectors[vector.name] for document in documents]).astype(np.float32)
        if stacked.shape[1] != vector.dimension:
            raise InputError(
                f"The model gives vectors of {stacked.shape[1]} numbers and the index holds {vector.dimension}",
                "index again with <fresh>",
            )
        columns[vector.name] = pa.FixedSizeListArray.from_arrays(pa.array(stacked.ravel()), vector.dimension)
    return pa.table([pa.array(columns[f.name], f.type) for f in arrow_schema], schema=arrow_schema)


def paper_of(row: Mapping[str, Any]) -> Paper:
    """Return the paper of a row, which may lack the columns that earlier versions did not know."""
    lists = {name: tuple(row.get(name) or ()) for name in _LISTS}
    return Paper(**{**row, **lists, "retracted": bool(row.get("retracted"))})
