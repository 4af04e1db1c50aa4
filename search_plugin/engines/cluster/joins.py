"""How each product joins the legs of a search itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search_plugin.engines.cluster import elasticsearch_retriever, opensearch_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from search_plugin.contract.legs import Ranking
    from search_plugin.contract.plan import Plan
    from search_plugin.engines.cluster.joining import Searched
    from search_plugin.engines.cluster.product import ProductName

_JOINS: Mapping[ProductName, Callable[[Searched, Plan, str, Mapping[str, float]], Ranking | None]] = {
    "opensearch": opensearch_pipeline.rank,
    "elasticsearch": elasticsearch_retriever.rank,
}


def rank(index: Searched, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:
    """Let a cluster join two or more legs by its product's own means; see `Index.rank`."""
    return _JOINS[index.cluster.product.kind](index, plan, fusion, weights)
