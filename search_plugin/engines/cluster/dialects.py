"""The available dialects, chosen by product."""

from search_plugin.engines.cluster.dialect import Dialect
from search_plugin.engines.cluster.elasticsearch import ElasticsearchDialect
from search_plugin.engines.cluster.opensearch import OpenSearchDialect
from search_plugin.engines.cluster.product import Product


def dialect_of(product: Product) -> Dialect:
    """Return the dialect of a product."""
    return OpenSearchDialect(product) if product.kind == "opensearch" else ElasticsearchDialect(product)
