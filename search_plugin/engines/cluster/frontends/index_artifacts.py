"""Which artifacts an index has in its cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corpora.errors import InputError
from search_plugin.engines.cluster import joining
from search_plugin.engines.cluster.attached.index import AttachedIndex
from search_plugin.engines.cluster.frontends.artifacts import Artifact, mark_of
from search_plugin.engines.cluster.frontends.installation import Installation
from search_plugin.engines.cluster.frontends.stored import (
    ComponentTemplate,
    IndexTemplate,
    SearchPipeline,
    StoredTemplate,
)
from search_plugin.engines.cluster.frontends.templates import HYBRID, TEMPLATES, template_of
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.mapping import properties_of, settings_of
from search_plugin.engines.cluster.opensearch import pipeline_for
from search_plugin.fusion.fusions import DEFAULT_FUSION, shares


def installation_of(
    index: ClusterIndex, *, fusion: str = DEFAULT_FUSION, patterns: Sequence[str] = (), more: Sequence[Artifact] = ()
) -> Installation:
    """Return the artifacts of an index.

    Args:
        index: The index.
        fusion: How the hybrid template joins legs on OpenSearch: `minmax`, `rrf`, or another that it has.
        patterns: Patterns of the names of new indexes that get the mappings of this one; none for no index template.
        more: Further artifacts.

    Returns:
        The artifacts, each after those that it names.

    Raises:
        InputError: If the product has no such fusion, the vectors are beside the documents of an attached index, or
            patterns are given for an attached one.
    """
    attached = isinstance(index, AttachedIndex)
    if isinstance(index, AttachedIndex) and index.companion:
        raise InputError(
            f"The vectors of {index.name} are beside its documents, so no single request can search both",
            "attach it again without <beside>, or let ses search it",
        )
    if attached and patterns:
        raise InputError(
            f"The index {index.name} is attached, so its owner has templates for it", "leave <pattern> out"
        )
    mark, name = mark_of(index.name, index.schema), f"ses-{index.name}"
    opensearch = index.cluster.product.kind == "opensearch"
    pipelines = _pipelines(index, fusion) if opensearch else {}
    found: list[Artifact] = [
        SearchPipeline(pipeline, {"description": str(mark), **body}) for pipeline, body in pipelines.values()
    ]
    if not attached:
        found.append(ComponentTemplate(f"{name}-mappings", _template(index), str(mark)))
    if patterns:
        found.append(IndexTemplate(name, tuple(patterns), f"{name}-mappings", str(mark)))
    for one in TEMPLATES:
        if one in pipelines or not (opensearch and one in HYBRID):
            pipeline, _ = pipelines.get(one, ("", {}))
            found.append(StoredTemplate(f"{name}-{one}", template_of(index, one, mark, fusion, pipeline)))
    return Installation(index.cluster, index.name, (*found, *more))


def _pipelines(index: ClusterIndex, fusion: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return name and content of the search pipelines of OpenSearch, by the hybrid template whose legs they join.

    One for vectors by a table is there only if this OpenSearch can weigh the legs of the fusion.
    """
    found = {}
    for template, weight in HYBRID.items():
        weights = list(shares(("words", "vector"), {"vector": weight}).values())
        try:
            body = pipeline_for(index.cluster.product, fusion, weights)
        except InputError:
            if not joining.is_weighted(weights):
                raise
            continue
        found[template] = (f"ses-{index.name}-{template.replace('hybrid', fusion)}", body)
    return found


def _template(index: ClusterIndex) -> Mapping[str, Any]:
    """Return the mappings of an index for others to make, with the settings that they need."""
    return {
        "settings": {"index": settings_of(index.schema, index.dialect)},
        "mappings": {"dynamic": "strict", "properties": properties_of(index.schema, index.dialect)},
    }
