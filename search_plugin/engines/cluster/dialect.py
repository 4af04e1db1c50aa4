"""Where OpenSearch and Elasticsearch differ: vector fields and the queries over them.

The scores of both mean the same. They are converted here to the similarities that all engines of ses return.
"""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from corpora.lazy import np
from encoders.models.formats import Similarity
from search_plugin.contract.schema import Quantization, VectorField
from search_plugin.engines.cluster.product import Product

QueryBody = dict[str, Any]
"""A query in JSON, as both products take it."""


class Enclosed:
    """A query that is sent as text, for which a server counts levels of nesting from 1 again; see `as_json`."""

    def __init__(self, query: QueryBody) -> None:
        self.query = query

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Enclosed) and self.query == other.query

    __hash__ = None  # type: ignore[assignment]  # a query can change


def enclosed(query: QueryBody) -> QueryBody:
    """Return a query that contains another one as text."""
    return {"wrapper": {"query": Enclosed(query)}}


def as_json(body: Any) -> bytes:
    """Return a body of a request as JSON: with arrays of numpy as lists, and enclosed queries as text in base64."""
    return orjson.dumps(body, _packed, orjson.OPT_SERIALIZE_NUMPY)


def _packed(value: object) -> str:
    if not isinstance(value, Enclosed):
        raise TypeError
    return base64.b64encode(as_json(value.query)).decode()


TEXT = "title_abstract"
"""The field that holds title and abstract together, which lexical searches use."""

GRAPH = {"m": 16, "ef_construction": 100}
"""Edges per node and build candidates of every HNSW graph; set explicitly because defaults change."""


LUCENE_BITS = 7
"""Bits per number of Lucene's scalar quantizer in OpenSearch, whose mapping has no number of bits before 3.6."""


@dataclass(frozen=True, slots=True)
class MappedVectors:
    """What the mapping of a vector field says.

    Attributes:
        dimension: Length of the vectors.
        similarity: How they are compared; None if the mapping leaves it open.
        quantization: How they are kept in memory.
        graph: Whether there is a graph of them; without one, only an exact search is possible.
    """

    dimension: int
    similarity: Similarity | None
    quantization: Quantization
    graph: bool


class Dialect(ABC):
    """How one product renders vectors."""

    vector_type: ClassVar[str]
    """The type of a vector field in a mapping."""

    in_order: ClassVar[QueryBody] = {"ordered": True}
    """What says in a query of intervals that words stand in their order."""

    def __init__(self, product: Product) -> None:
        self.product = product

    @property
    def filters_passages(self) -> bool:
        """Whether every filter of papers holds inside a graph search of their passages."""
        return True

    @property
    def finds_candidates(self) -> bool:
        """Whether a graph search finds all its candidates, and not only the nearest of them that it is asked for."""
        return False

    def check(self, plugins: frozenset[str]) -> None:  # noqa: B027 - most products need none
        """Raise `UnavailableError` if a plugin that ses needs is missing."""

    def settings(self) -> dict[str, Any]:
        """Return the index settings that vectors need."""
        return {}

    def preferred_settings(self) -> dict[str, Any]:
        """Return further index settings, with which searches of vectors are better."""
        return {}

    @abstractmethod
    def vector(self, field: VectorField, quantization: str) -> dict[str, Any]:
        """Return the mapping of a vector field, or raise `InputError` if the product does not support it."""

    @abstractmethod
    def read_vector(self, mapping: Mapping[str, Any], settings: Mapping[str, Any]) -> MappedVectors:
        """Return what the mapping of a field of others says of its vectors, given the flat settings of its index.

        Raises `ValueError`, whose text is a clause, if ses can't search them.
        """

    @abstractmethod
    def nearest(self, field: str, vector: np.ndarray, k: int, candidates: int, where: QueryBody | None) -> QueryBody:
        """Return the HNSW query for the k papers nearest to a vector, (dimension,), of those that match a filter."""

    @abstractmethod
    def closeness_script(self, field: VectorField, vector: np.ndarray) -> dict[str, Any]:
        """Return the script that scores a document by its closeness to a vector, (dimension,)."""

    @abstractmethod
    def sparse(self) -> dict[str, Any]:
        """Return the mapping of a field of sparse vectors, or raise `InputError` if the product does not support it."""

    @abstractmethod
    def dot_product(self, field: str, weights: Mapping[str, float]) -> QueryBody:
        """Return the query for papers with one of some tokens, scored by the dot product of weights by token."""

    def similarity(self, field: VectorField, vector: np.ndarray, where: QueryBody | None) -> QueryBody:
        """Return the query that scores every paper that matches a filter by its exact similarity."""
        matching = [{"exists": {"field": field.name}}, *([where] if where else [])]
        script = self.closeness_script(field, vector)
        return {"script_score": {"query": {"bool": {"filter": matching}}, "script": script}}


def raw_closeness(similarity: Similarity, score: float) -> float:
    """Return the similarity behind a Lucene score, larger for closer: cosine, dot product, or minus Euclidean distance.

    A score is `(1 + cosine) / 2`; `1 / (1 + distance^2)`; `1 + dot` for a positive dot product, else `1 / (1 - dot)`:
    Lucene's `VectorSimilarityFunction`, which keeps scores above 0.
    """
    if similarity == "cosine":
        return 2.0 * score - 1.0
    if similarity == "l2":
        return -(max(1.0 / score - 1.0, 0.0) ** 0.5) if score > 0 else float("-inf")
    return score - 1.0 if score >= 1.0 else 1.0 - 1.0 / score
