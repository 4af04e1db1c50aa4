"""Pages of an index as search templates in mustache, made from the requests of `page_request`.

A request is made for marks in the place of words, vector and filter, and the marks become parameters. So a template is
always the search that ses itself would send. Text is escaped by the server, and all else is passed as JSON, so no value
can end its place in the body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import orjson

from search_plugin.contract.plan import TABLE_WEIGHT, Plan, VectorClause
from search_plugin.contract.schema import ALIASES
from search_plugin.contract.tree import Compare
from search_plugin.engines.cluster.frontends.artifacts import Ownership
from search_plugin.engines.cluster.frontends.http import Parameter, as_text, replaced
from search_plugin.engines.cluster.frontends.page_request import EVERY, MATCHES, is_counted_apart, page_request
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.request import SearchRequest

TEMPLATES: Mapping[str, tuple[bool, float]] = {
    "lexical": (True, 0.0),
    "hybrid": (True, 1.0),
    "hybrid-table": (True, TABLE_WEIGHT),
    "similar": (False, 1.0),
}
"""The templates of an index: whether each searches by words, and how much the query's vector counts beside them."""

HYBRID: Mapping[str, float] = {name: weight for name, (by_words, weight) in TEMPLATES.items() if by_words and weight}
"""The templates by words and a vector, with the weight of the vector."""

_WORDS, _FILTER = "the words of the sender", "the filters of the sender"


def template_of(
    index: ClusterIndex,
    name: str,
    mark: Ownership,
    fusion: str,
    pipeline: str = "",
    change: Callable[[Any], Any] = lambda value: value,
) -> str:
    """Return a template: a comment with the mark, and the body of a search by words and the first vector leg.

    Its parameters are `words` and `vector`, where it searches by them, and `filters` (a list of queries), `from`,
    `size`, `facets` (an object of names of fields or their aliases, each with true) and `facet_size`, which may be left
    out.

    Args:
        index: The index.
        name: A name in `TEMPLATES`.
        mark: Whose it is.
        fusion: How legs are joined.
        pipeline: Name of the search pipeline that joins legs, in place of one in the body.
        change: Function of each value in the body, parameters included, that returns what is in its place.

    Returns:
        The template.

    Raises:
        InputError: If the product has no such fusion, or the index has no vectors for it.
    """
    by_words, weight = TEMPLATES[name]
    facets = tuple(field.name for field in index.schema.fields if field.facet and field.name != "id")
    request = SearchRequest("", fusion=fusion, facets=facets)
    vectors: tuple[VectorClause, ...] = ()
    if weight:
        leg = index.schema.legs[0]
        field = index.schema.beside(leg) or index.schema.vector(leg)
        vectors = (VectorClause(leg, np.zeros(field.dimension, np.float32), weight),)
    plan = Plan(_WORDS if by_words else "", vectors, Compare("id", "=", _FILTER), request.window)
    body = dict(page_request(index, plan, request).body)
    if pipeline and "search_pipeline" in body:
        body["search_pipeline"] = pipeline
    counting = body["aggs"][EVERY]["aggs"][MATCHES] if is_counted_apart(plan) else body
    counts = counting.pop("aggs", {})
    counts |= {alias: counts[meant] for alias, meant in ALIASES.items() if meant in counts and alias not in counts}
    counting["aggs"] = Parameter("aggs")
    body |= {"from": Parameter("from"), "size": Parameter("size")}
    text = as_text(replaced(replaced(body, _with_parameters), change), _placeholder)
    return f"{{{{! {mark} }}}}\n" + text.replace(_AGGS, _counts(counts))


def _with_parameters(value: Any) -> Any:
    """Return the parameter that a mark stands for, and anything else as it is."""
    if isinstance(value, np.ndarray):
        return Parameter("vector")
    if isinstance(value, str) and value == _WORDS:
        return Parameter("words", "text")
    if isinstance(value, dict) and len(value) == 1:
        ((kind, inside),) = value.items()
        if kind in ("term", "terms", "ids") and _FILTER in str(inside):
            return {"bool": {"filter": Parameter("filters")}}
    return value


def _with_size(value: Any) -> Any:
    """Return a count whose size is the sender's; the servers choose what each shard gives for it."""
    if isinstance(value, dict) and "shard_size" in value:
        return {**{name: kept for name, kept in value.items() if name != "shard_size"}, "size": Parameter("facet_size")}
    return value


def _placeholder(parameter: Parameter) -> str:
    """Return what a template has in the place of a parameter."""
    return _PLACES.get(parameter.name) or (
        f'"{{{{{parameter.name}}}}}"' if parameter.kind == "text" else f"{{{{#toJson}}}}{parameter.name}{{{{/toJson}}}}"
    )


_AGGS = "{{aggs}}"
_PLACES = {
    # A list without an element is no section, so a query that everything matches is always there.
    "filters": '[{"match_all": {}}{{#filters}}, {{#toJson}}.{{/toJson}}{{/filters}}]',
    # Numbers may be text, which is escaped.
    "from": '"{{from}}{{^from}}0{{/from}}"',
    "size": '"{{size}}{{^size}}10{{/size}}"',
    "facet_size": '"{{facet_size}}{{^facet_size}}10{{/facet_size}}"',
    "aggs": _AGGS,
}


def _counts(counts: Mapping[str, Any]) -> str:
    """Return the aggregations of all facets, each in a section of its own."""
    parts = ['"none": {"filter": {"match_none": {}}}']
    for name, count in counts.items():
        one = as_text(replaced(count, _with_size), _placeholder, indented=False)
        parts.append(f"{{{{#facets.{name}}}}}, {orjson.dumps(name).decode()}: {one} {{{{/facets.{name}}}}}")
    return "{\n    " + "\n    ".join(parts) + "\n  }"
