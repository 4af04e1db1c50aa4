"""Elasticsearch asks the service of ses for vectors: inference endpoints, which need an Enterprise licence.

The service `openai` sends texts and a model's name, and nothing that tells a query from a paper. The service `custom`
(8.19, 9.1) can, but its translation of kinds of texts misses those of Elasticsearch's own queries and fields, which get
the default. So there is an endpoint for queries and one for papers, whose models' names end in the format.

There is none for reranking: not all versions of `custom` write the query into a body as JSON.

Read in the sources of elastic/elasticsearch: `OpenAiEmbeddingsRequestEntity`, `CustomRequest`, `CustomServiceSettings`,
`EmbeddingParameters`, `InputTypeTranslator`, `TextEmbeddingResponseParser`, `RerankParameters`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import orjson

from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.frontends.artifacts import Artifact
from search_plugin.engines.cluster.frontends.connectors import part_of
from search_plugin.engines.cluster.frontends.stored import IngestPipeline
from search_plugin.engines.cluster.frontends.vector_service import VectorService
from search_plugin.engines.cluster.product import Product
from search_plugin.engines.cluster.transport import Cluster

LICENSED_SINCE = {8: (8, 18), 9: (9, 0)}
"""The version of each major version from which inference endpoints need an Enterprise licence."""

LICENCES = ("enterprise", "trial")

CUSTOM_SINCE = {8: (8, 19), 9: (9, 1)}
"""The version of each major version that has the service `custom`."""

TASK = "text_embedding"


def lacks_inference(cluster: Cluster) -> str:
    """Return why a cluster has no inference endpoints, as a clause about it, or nothing; it is asked once."""
    if cluster.product.version >= LICENSED_SINCE[cluster.product.version[0]]:
        licence = str(cluster.call("GET", "/_license")["license"]["type"])
        if licence not in LICENCES:
            return f"has the licence {licence}, and needs an Enterprise licence to ask for vectors"
    if "inference" not in cluster.lacking:
        try:
            cluster.call("GET", "/_inference/_all")
        except ClusterError as error:
            # Without the module, 8.16 reads the path as one of other requests, and refuses the method.
            if error.status == 405 or "no handler found" in str(error):
                cluster.lacking.add("inference")
            elif error.status != 404:
                raise
    return "lacks the module x-pack-inference, which asks for vectors" if "inference" in cluster.lacking else ""


def has_custom(product: Product) -> bool:
    """Return whether a product has the service `custom`."""
    return product.version >= CUSTOM_SINCE[product.version[0]]


@dataclass(frozen=True)
class InferenceEndpoint(Artifact):
    """An endpoint that asks the service.

    Attributes:
        body: Its service and settings, without secrets.
        secrets: Settings of the service that nobody can read again.
        kind: What it is.
    """

    body: Mapping[str, Any]
    secrets: Mapping[str, Any] = field(repr=False)
    kind: ClassVar[str] = "inference endpoint"

    def wanted(self) -> Any:
        """Return task, service and settings, without secrets."""
        return {"task_type": TASK, **self.body}

    def stored(self, cluster: Cluster) -> Any:
        """Return the wanted part of the existing content; servers add to it."""
        found = _endpoints(cluster, self.name)
        return (
            part_of(found[0], self.wanted() | {"task_settings": found[0].get("task_settings", {})}) if found else None
        )

    def described(self, stored: Any) -> str:
        """Return the settings of the task as text: there is no description."""
        return orjson.dumps(stored.get("task_settings", {})).decode()

    def write(self, cluster: Cluster) -> None:
        """Make the endpoint, for which Elasticsearch asks the service once; an endpoint can't be replaced."""
        settings = {**self.body["service_settings"], **self.secrets}
        self.delete(cluster)
        body = {**self.body, "service_settings": settings}
        cluster.call("PUT", f"/_inference/{TASK}/{self.name}", body)

    def delete(self, cluster: Cluster) -> None:
        """Delete the endpoint, also if pipelines name it: those of ses are deleted before, or find the next one."""
        if _endpoints(cluster, self.name):
            cluster.call("DELETE", f"/_inference/{self.name}?force=true")

    @classmethod
    def listed(cls, cluster: Cluster, prefix: str) -> Iterator[Artifact]:
        """Yield the endpoints."""
        if cluster.product.kind != "elasticsearch":
            return
        for one in _endpoints(cluster, "_all"):
            if str(one["inference_id"]).startswith(prefix):
                yield cls(one["inference_id"], {}, {})

    def obstacle(self, cluster: Cluster) -> str:
        """Return that the licence or the module is missing."""
        return lacks_inference(cluster)


def _endpoints(cluster: Cluster, name: str) -> list[Mapping[str, Any]]:
    try:
        found: list[Mapping[str, Any]] = cluster.call("GET", f"/_inference/{name}").get("endpoints", [])
    except ClusterError as error:
        if error.status not in (404, 405) and "no handler found" not in str(error):
            raise
        return []
    return found


def embedding_endpoint(
    name: str, product: Product, service: VectorService, *, model: str, similarity: str, mark: str
) -> InferenceEndpoint:
    """Return an endpoint for vectors.

    Args:
        name: Its name.
        product: The product it is for.
        service: The service.
        model: The model's name as the service reads it, with the format after a colon.
        similarity: Elasticsearch's name of the measure of similarity.
        mark: Whose it is.

    Returns:
        The endpoint.
    """
    url, said = f"{service.url}/v1/embeddings", f"{mark}, key {service.key_digest}"
    if not has_custom(product):
        body = {
            "service": "openai",
            "service_settings": {"model_id": model, "url": url, "similarity": similarity},
            # Of a task's settings, this one is sent, and not used by the service.
            "task_settings": {"user": said},
        }
        return InferenceEndpoint(name, body, {"api_key": service.key})
    settings = {
        "url": url,
        "headers": {"Authorization": "Bearer ${api_key}", "Content-Type": "application/json"},
        "request": f'{{"input": ${{input}}, "model": "{model}"}}',
        "response": {"json_parser": {"text_embeddings": "$.data[*].embedding[*]"}},
        "similarity": similarity,
    }
    # A parameter that the template does not name.
    body = {"service": "custom", "service_settings": settings, "task_settings": {"parameters": {"note": said}}}
    return InferenceEndpoint(name, body, {"secret_parameters": {"api_key": service.key}})


class InferencePipeline(IngestPipeline):
    """An ingest pipeline that asks an endpoint for vectors."""

    def obstacle(self, cluster: Cluster) -> str:
        """Return that the licence or the module is missing."""
        return lacks_inference(cluster)
