"""What the executors inside a cluster have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from search_plugin.engines.cluster.documents import id_of
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.queries import check_vector, condition, nearest_query, words_query
from search_plugin.fusion.combine import shares
from search_plugin.legs import Fused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from search_plugin.engines.base import Index
    from search_plugin.engines.cluster.dialect import QueryBody
    from search_plugin.engines.cluster.product import ProductName
    from search_plugin.plan import Plan, VectorClause
    from search_plugin.request import SearchRequest

RANK_CONSTANT = 60
"""Of reciprocal rank fusion, the same as ours."""

_NAMES: Mapping[ProductName, str] = {"opensearch": "an OpenSearch", "elasticsearch": "an Elasticsearch"}


def index_of(index: Index, kind: ProductName, executor: str) -> ClusterIndex:
    """Return the index if it is in a cluster of the executor's product, or raise `InputError`."""
    if not isinstance(index, ClusterIndex) or index.cluster.product.kind != kind:
        raise InputError(f"The executor {executor} needs {_NAMES[kind]} engine; leave --executor out.")
    return index


def leg_queries(index: ClusterIndex, plan: Plan) -> list[QueryBody]:
    """Return each leg as one query, in the order of the legs; raises `InputError` as `Index.search` does."""
    lexical = [words_query(plan, condition(plan.filter))] if plan.words else []
    return [*lexical, *(_vector_query(index, plan, clause) for clause in plan.vectors)]


def _vector_query(index: ClusterIndex, plan: Plan, clause: VectorClause) -> QueryBody:
    """Return a vector leg as one query.

    A request that joins legs has one `rescore` for all of them, which would rank the lexical leg again too. So where
    vectors are quantized, the graph search is the filter of a query that scores what it finds by whole vectors.

    Args:
        index: To be searched.
        plan: Gives window and filter.
        clause: The leg.

    Returns:
        A graph search as such only where its own scores are those of whole vectors.

    Raises:
        InputError: If the vector has another length than the index's.
    """
    field = check_vector(clause, index.schema)
    where = condition(plan.filter)
    if plan.exact:
        return index.dialect.similarity(field, clause.vector, where)
    nearest, _ = nearest_query(clause, plan, index.schema, index.dialect, where)
    if index.schema.quantization == "none":
        return nearest
    return index.dialect.similarity(field, clause.vector, nearest)


def leg_shares(plan: Plan, request: SearchRequest) -> list[float]:
    """Return the legs' weights in the order of the legs, scaled to sum to 1; raises `InputError` as a fusion does."""
    return list(shares(plan.legs, request.weights).values())


def is_weighted(weights: Iterable[float]) -> bool:
    """Return whether some leg counts for more than another."""
    return len(set(weights)) > 1


def refused(executor: str, what: str) -> InputError:
    """Return the error for what an engine can't do and we can."""
    return InputError(f"{what}, so the executor {executor} can't be used; use --executor client.")


def read_fused(reply: Mapping[str, Any]) -> list[Fused]:
    """Return the papers of a joined search, best first, ties by id; the engine does not say what each leg gave."""
    fused = (Fused(id_of(hit), float(hit["_score"]), {}) for hit in reply["hits"]["hits"])
    return sorted(fused, key=lambda hit: (-hit.score, hit.id))
