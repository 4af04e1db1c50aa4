"""Vectors of papers and of passages in a cluster, under one set of functions.

A paper's vector is a field of its document. Passages are nested objects of it, each with a vector; a paper is as near
to a query as its nearest passage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corpora.errors import InputError
from corpora.lazy import np
from search_plugin.contract.schema import ForeignField, SparseField, VectorField
from search_plugin.engines.cluster.dialect import Dialect, QueryBody

_VECTOR = "vector"
"""The vector of a passage, in its nested object."""


def mapping_of(field: VectorField, dialect: Dialect, quantization: str) -> dict[str, Any]:
    """Return the mapping of a vector field, or raise `InputError` if the product does not support it."""
    if isinstance(field, SparseField):
        return dialect.sparse()
    own = dialect.vector(_inside(field), quantization)
    return own if field.unit == "paper" else {"type": "nested", "properties": {_VECTOR: own}}


def has_vector(field: VectorField) -> QueryBody:
    """Return the query for papers that have a vector in a field."""
    if isinstance(field, SparseField):  # every paper has one, and OpenSearch can't tell
        return {"match_all": {}}
    return _of_papers(field, {"exists": {"field": path_of(field)}})


def nearest_papers(
    dialect: Dialect, field: VectorField, vector: np.ndarray, k: int, candidates: int, where: QueryBody | None
) -> QueryBody:
    """Return the graph search for the k nearest papers, with the filter applied during the search.

    Where a product can't apply a filter to a search of passages, the search is exact.
    """
    if where and field.unit == "passage" and not dialect.filters_passages:
        return scored_papers(dialect, field, vector, where)
    return _of_papers(field, dialect.nearest(path_of(field), vector, k, candidates, where))


def scored_papers(dialect: Dialect, field: VectorField, vector: np.ndarray, where: QueryBody | None) -> QueryBody:
    """Return the query that scores every paper that matches a filter by its exact similarity."""
    if field.unit == "paper":
        return dialect.similarity(field, vector, where)
    # The filter is of papers, so it is beside the query of the objects.
    best = _of_papers(field, dialect.similarity(_inside(field), vector, None))
    return {"bool": {"must": [best], "filter": [where]}} if where else best


def as_stored(field: VectorField, vectors: np.ndarray) -> Any:
    """Return what a document holds under a field's name: float32 (dimension,), or a list of objects for passages.

    Vectors are (dimension,), or (passages, dimension) for a field of passages. Raises `InputError` if they have another
    shape.
    """
    if isinstance(field, SparseField):
        return _weights_of(vectors)
    held = np.ascontiguousarray(vectors, dtype=np.float32)
    passages = field.unit == "passage"
    if held.ndim > 1 + passages or held.shape[-1] != field.dimension:
        raise InputError(
            f"The model gives vectors of {held.shape[-1]} numbers and the index holds {field.dimension}",
            "index again with <fresh>",
        )
    return [{_VECTOR: row} for row in held.reshape(-1, field.dimension)] if passages else held


def dot_products(dialect: Dialect, field: SparseField, vector: np.ndarray, where: QueryBody | None) -> QueryBody:
    """Return the query that scores papers by the dot product of sparse vectors, of those that match a filter."""
    if not len(vector):
        return {"match_none": {}}
    query = dialect.dot_product(field.name, _weights_of(vector))
    return {"bool": {"must": [query], "filter": [where]}} if where else query


def _weights_of(vector: np.ndarray) -> dict[str, float]:
    """Return the weights of a sparse vector by token: ids, since tokens may hold dots and any other character."""
    return {str(int(token)): weight for token, weight in vector.tolist()}


def path_of(field: VectorField) -> str:
    """Return the name of a field's vectors in queries."""
    return _inside(field).name


def read_vectors(field: VectorField, columns: Mapping[str, Any]) -> np.ndarray | None:
    """Return float32 (dimension,), or (passages, dimension), from the `fields` of a hit; None if a paper has none."""
    if isinstance(field, SparseField):
        from encoders.sparse import rounded

        weights = next(iter(columns.get(field.name) or [{}]))
        # Elasticsearch gives the weights in its own rounding, which is that of ses.
        return rounded(np.array(sorted((int(token), weights[token]) for token in weights), np.float32).reshape(-1, 2))
    if field.unit == "passage":
        # OpenSearch lists the vectors under their path, Elasticsearch the objects under theirs.
        rows = columns.get(path_of(field)) or [one[_VECTOR] for one in columns.get(field.name, ())]
        return np.asarray(rows, np.float32).reshape(-1, field.dimension)
    held = columns.get(field.name)
    return np.asarray(held, np.float32) if held else None


def _inside(field: VectorField) -> VectorField:
    """Return a field whose name is that of its vectors in queries."""
    if field.unit == "paper" or isinstance(field, ForeignField):
        return field
    return replace(field, name=f"{field.name}.{_VECTOR}")


def _of_papers(field: VectorField, query: QueryBody) -> QueryBody:
    """Return a query of papers for a query of a field's vectors; the best passage gives the score."""
    if field.unit == "paper":
        return query
    path = field.nested if isinstance(field, ForeignField) else field.name
    return {"nested": {"path": path, "query": query, "score_mode": "max"}}
