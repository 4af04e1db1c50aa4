"""What each product does in its own way, chosen by product."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from search_plugin.contract.legs import Ranking
from search_plugin.contract.plan import Plan
from search_plugin.engines.cluster import elasticsearch, opensearch
from search_plugin.engines.cluster.dialect import Dialect
from search_plugin.engines.cluster.elasticsearch import ElasticsearchDialect
from search_plugin.engines.cluster.joining import Searched
from search_plugin.engines.cluster.opensearch import OpenSearchDialect
from search_plugin.engines.cluster.product import Product, ProductName


def dialect_of(product: Product) -> Dialect:
    """Return the dialect of a product."""
    return OpenSearchDialect(product) if product.kind == "opensearch" else ElasticsearchDialect(product)


_JOINS: Mapping[ProductName, Callable[[Searched, Plan, str, Mapping[str, float]], Ranking | None]] = {
    "opensearch": opensearch.rank,
    "elasticsearch": elasticsearch.rank,
}


def rank(index: Searched, plan: Plan, fusion: str, weights: Mapping[str, float]) -> Ranking | None:
    """Let a cluster join two or more legs by its product's own means; see `Index.rank`."""
    return _JOINS[index.cluster.product.kind](index, plan, fusion, weights)
