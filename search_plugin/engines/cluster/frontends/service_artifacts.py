"""Which artifacts an index has in its cluster, if that asks the service of ses for vectors.

Then neither a search nor a new paper needs a client that encodes: a front end sends words, and a document passes an
ingest pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from encoders.models.formats import Format
from search_plugin.contract.schema import SEARCHED
from search_plugin.engines.cluster.attached.index import AttachedIndex
from search_plugin.engines.cluster.frontends.artifacts import Artifact, mark_of
from search_plugin.engines.cluster.frontends.connectors import (
    ONE_MODEL_SINCE,
    AskingTemplate,
    Connector,
    EmbeddingPipeline,
    ModelGroup,
    NeuralPipeline,
    RemoteModel,
    TrustedAddress,
    called,
)
from search_plugin.engines.cluster.frontends.http import Parameter
from search_plugin.engines.cluster.frontends.inference import InferencePipeline, embedding_endpoint, lacks_inference
from search_plugin.engines.cluster.frontends.stored import StoredTemplate
from search_plugin.engines.cluster.frontends.templates import template_of
from search_plugin.engines.cluster.frontends.vector_service import JOINED, VectorService, joining_script
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.opensearch import pipeline_for
from search_plugin.engines.cluster.transport import Cluster
from search_plugin.fusion.fusions import DEFAULT_FUSION

BATCH = 32
"""Papers that OpenSearch sends in one request while it writes in bulk."""

_SIMILARITIES = {"cosine": "cosine", "dot": "dot_product", "l2": "l2_norm"}


def service_artifacts(index: ClusterIndex, service: VectorService, *, fusion: str = DEFAULT_FUSION) -> list[Artifact]:
    """Return the artifacts by which a cluster asks the service for the vectors of an index, each after those it names.

    The service is asked for the index by its name, so it has to have it, and its model is always the right one. The
    fusion is how the template joins legs on OpenSearch. Raises `InputError` if ses has made no vectors of papers for
    searching, or the product has no such fusion.
    """
    kinds = _of_opensearch if index.cluster.product.kind == "opensearch" else _of_elasticsearch
    return list(kinds(index, service, fusion))


def _of_opensearch(index: ClusterIndex, service: VectorService, fusion: str) -> Iterator[Artifact]:
    mark, name = mark_of(index.name, index.schema), f"ses-{index.name}"
    said = f"{mark}, key {service.key_digest}"
    dimension = index.schema.vector(SEARCHED).dimension
    yield TrustedAddress(name, index.name, service)
    yield ModelGroup(name, str(mark))

    def embedding(ending: str, model: str, place: str, more: str = "", **parameters: str) -> RemoteModel:
        request = f'{{"input": ${{parameters.{place}}}, "model": "{model}"{more}}}'
        probe = {place: [index.name], **parameters}
        url = f"{service.url}/v1/embeddings"
        connector = Connector(url, request, "openai.embedding", service.key, probe, dimension)
        config = {"model_type": "ses", "additional_config": {"is_asymmetric": True}} if parameters else {}
        return RemoteModel(f"{name}-{ending}", said, name, connector, config)

    if index.cluster.product.version >= ONE_MODEL_SINCE:
        kind = ', "content_type": "${parameters.content_type}"'
        models = [embedding("vectors", index.name, "texts", kind, content_type="query")]
    else:
        models = [
            embedding("query", f"{index.name}:{Format.QRY}", "input"),
            embedding("passage", f"{index.name}:{SEARCHED}", "input"),
        ]
    yield from models
    places = '"query": "${parameters.query}", "documents": ${parameters.documents}, "top_n": ${parameters.top_n}'
    probe = {"query": index.name, "documents": [index.name], "top_n": 1}
    request = f'{{{places}, "model": "{index.name}"}}'
    ranking = Connector(f"{service.url}/v1/rerank", request, "cohere.rerank", service.key, probe, 1)
    yield RemoteModel(f"{name}-rerank", said, name, ranking)
    if not isinstance(index, AttachedIndex):
        field = index.schema.vector(SEARCHED).name
        encoding = {"model_id": called(models[-1].name), "field_map": {JOINED: field}, "batch_size": BATCH}
        yield EmbeddingPipeline(f"{name}-embed", _ingesting(str(mark), field, {"text_embedding": encoding}))
    enriching = [{"neural_query_enricher": {"default_model_id": called(models[0].name)}}]
    pipeline = pipeline_for(index.cluster.product, fusion, [0.5, 0.5])
    body = {"description": str(mark), "request_processors": enriching, **pipeline}
    yield NeuralPipeline(f"{name}-neural", body)

    def change(value: Any) -> Any:
        return _neural(value, called(models[0].name))

    yield AskingTemplate(f"{name}-neural", template_of(index, "hybrid", mark, fusion, f"{name}-neural", change))


def _of_elasticsearch(index: ClusterIndex, service: VectorService, fusion: str) -> Iterator[Artifact]:
    mark, name, product = mark_of(index.name, index.schema), f"ses-{index.name}", index.cluster.product
    similarity = _SIMILARITIES[index.schema.vector(SEARCHED).similarity]
    for ending, task_format in (("query", Format.QRY), ("passage", SEARCHED)):
        model = f"{index.name}:{task_format}"
        yield embedding_endpoint(
            f"{name}-{ending}", product, service, model=model, similarity=similarity, mark=str(mark)
        )
    if not isinstance(index, AttachedIndex):
        field = index.schema.vector(SEARCHED).name
        encoding = {"model_id": f"{name}-passage", "input_output": [{"input_field": JOINED, "output_field": field}]}
        yield InferencePipeline(f"{name}-embed", _ingesting(str(mark), field, {"inference": encoding}))

    def change(value: Any) -> Any:
        return _built(value, f"{name}-query")

    yield InferenceTemplate(f"{name}-neural", template_of(index, "hybrid", mark, fusion, change=change))


def _ingesting(description: str, field: str, encoding: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a pipeline that gives documents their vector, and leaves nothing else in them."""
    # Elasticsearch adds numbers to an existing vector, and names its model in the document.
    before = {"remove": {"field": field, "ignore_missing": True}}
    after = {"remove": {"field": [JOINED, "model_id"], "ignore_missing": True}}
    return {"description": description, "processors": [before, joining_script("title", "abstract"), encoding, after]}


_WORDS = Parameter("words", "text")


def _neural(value: Any, model: str) -> Any:
    """Return a search by a vector as one by words, which neural-search encodes by a model.

    The pipeline adds the model to queries, but not to those inside of aggregations.
    """
    if not isinstance(value, Mapping):
        return value
    if _is_scored_by_vector(value):
        return _inside(value, "neural")
    if "knn" not in value:
        return value
    ((field, clause),) = value["knn"].items()
    rest = {name: given for name, given in clause.items() if name != "vector"}
    return {"neural": {field: {"query_text": _WORDS, "model_id": model, **rest}}}


def _built(value: Any, endpoint: str) -> Any:
    """Return a search by a vector as one by words, which an endpoint encodes."""
    if not isinstance(value, Mapping):
        return value
    if _is_scored_by_vector(value):
        return _inside(value, "knn")
    if "query_vector" not in value:
        return value
    builder = {"text_embedding": {"model_id": endpoint, "model_text": _WORDS}}
    rest = {name: given for name, given in value.items() if name != "query_vector"}
    return {**rest, "query_vector_builder": builder}


def _is_scored_by_vector(value: Mapping[str, Any]) -> bool:
    """Return whether a query scores its papers by a script that has the vector."""
    return "script_score" in value and Parameter("vector") in value["script_score"]["script"]["params"].values()


def _inside(value: Mapping[str, Any], kind: str) -> Any:
    """Return the graph search inside a query that scores its papers by a script: a script can't have the vector."""
    return next(one for one in value["script_score"]["query"]["bool"]["filter"] if kind in one)


class InferenceTemplate(StoredTemplate):
    """A search template of Elasticsearch that sends words, and lets the cluster ask for their vector."""

    def obstacle(self, cluster: Cluster) -> str:
        """Return that the cluster lacks search templates, or what asks for vectors."""
        return super().obstacle(cluster) or lacks_inference(cluster)
