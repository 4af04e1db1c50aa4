"""What both products share when they join the legs of a search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from corpora.errors import InputError
from search_plugin.contract.legs import Fused, Ranking
from search_plugin.contract.plan import Plan, VectorClause, check_sparse, check_vector
from search_plugin.contract.schema import IndexSchema, SparseField
from search_plugin.engines.cluster.dialect import Dialect, QueryBody
from search_plugin.engines.cluster.documents import id_of
from search_plugin.engines.cluster.passages import dot_products, scored_papers
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.cluster.queries import condition, nearest_query, value_of, words_query
from search_plugin.engines.cluster.transport import Cluster
from search_plugin.fusion.fusions import shares, with_defaults


@runtime_checkable
class Searched(Protocol):
    """What joining needs of an index in a cluster."""

    name: str
    cluster: Cluster
    dialect: Dialect
    schema: IndexSchema

    def ask_search(self, body: Mapping[str, Any], params: Mapping[str, Any] | None = None, why: str = "") -> Any:
        """Send one search, and return the reply if every shard gave its part; `why` tells what for."""


def leg_queries(index: Searched, plan: Plan) -> list[QueryBody]:
    """Return each leg as one query, in the order of the legs; raises `InputError` as `Index.search` does."""
    lexical = [words_query(plan, condition(plan.filter, index.schema, index.dialect))] if plan.words else []
    return [*lexical, *(_vector_query(index, plan, clause) for clause in plan.vectors)]


def _vector_query(index: Searched, plan: Plan, clause: VectorClause) -> QueryBody:
    """Return a vector leg as one query: a plain graph search only if its scores come from float vectors.

    A request that joins legs has one `rescore` for all of them, which would also rank the lexical leg again. So for
    quantized vectors the graph search is the filter of a query that scores the candidates by their float vectors.
    """
    where = condition(plan.filter, index.schema, index.dialect)
    if isinstance(index.schema.leg(clause.field), SparseField):
        return dot_products(index.dialect, check_sparse(clause, index.schema), clause.vector, where)
    field = check_vector(clause, index.schema)
    graph = index.schema.graph_of(field)
    if plan.exact or graph is None:
        return scored_papers(index.dialect, field, clause.vector, where)
    nearest, _ = nearest_query(clause, plan, index.schema, index.dialect, where)
    if graph == "none":
        return nearest
    return scored_papers(index.dialect, field, clause.vector, nearest)


def leg_shares(plan: Plan, weights: Mapping[str, float]) -> list[float]:
    """Return the legs' weights in the order of the legs, scaled to sum to 1; raises `InputError` as a fusion does.

    Vector legs that have no weight share a weight of 1, as where ses joins them.
    """
    return list(shares(plan.legs, with_defaults(plan.vectors, weights)).values())


def is_weighted(weights: Iterable[float]) -> bool:
    """Return whether the legs have different weights."""
    return len(set(weights)) > 1


def refused(product: Product, what: str) -> InputError:
    """Return the error for a fusion that ses supports and an engine does not."""
    return InputError(f"{product.name} {what}, so it can't join these legs; let ses join them.")


def read_ranking(reply: Mapping[str, Any], plan: Plan) -> Ranking:
    """Return the papers of a joined search, best first, ties by id, without each leg's contribution."""
    hits = reply["hits"]["hits"]
    fused = (Fused(id_of(hit), float(hit["_score"]), {}) for hit in hits)
    values = {id_of(hit): value_of(hit, plan.column) for hit in hits} if plan.column else {}
    return Ranking(sorted(fused, key=lambda hit: (-hit.score, hit.id)), values)
