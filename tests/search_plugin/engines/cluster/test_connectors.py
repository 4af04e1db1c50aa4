"""Models of OpenSearch that ask ses for vectors, and what allows them: each request whole, without a server."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corpora.errors import InputError, UnavailableError
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.frontends.connectors import (
    PRIVATE,
    TRUSTED,
    EmbeddingPipeline,
    ModelGroup,
    TrustedAddress,
    part_of,
)
from search_plugin.engines.cluster.frontends.vector_service import vector_service
from search_plugin.engines.cluster.product import Product
from tests.search_plugin.engines.cluster.conversations import Conversation
from tests.search_plugin.engines.cluster.test_inference_requests import SERVICE, artifacts, of_kind
from tests.search_plugin.engines.cluster.test_joining import error

MARK = "made by ses for the index papers, form 2, model tiny (f)"
ML = "/_plugins/_ml"
PRODUCT = Product("opensearch", "3.6.0", (3, 6))
EMBED, RERANK = of_kind(artifacts("opensearch", (3, 6)), "remote model")
GROUP = ModelGroup("ses-papers", MARK)


def listed(*hits):
    return {"hits": {"hits": [{"_id": id_, "_source": source} for id_, source in hits]}}


def predicted(count):
    return {"inference_results": [{"output": [{"data": [0.0] * count}]}]}


def talk(*answers):
    return Conversation(PRODUCT, *answers)


def test_a_connector_asks_the_service_with_the_key_of_its_model():
    for model, url, processing in ((EMBED, "embeddings", "openai.embedding"), (RERANK, "rerank", "cohere.rerank")):
        wanted = model.wanted()
        (action,) = wanted["connector"].pop("actions")
        assert action.pop("request_body")
        assert action == {
            "action_type": "PREDICT",
            "method": "POST",
            "url": f"http://library.example:8765/v1/{url}",
            "headers": {"Authorization": "Bearer ${credential.key}"},
            "pre_process_function": f"connector.pre_process.{processing}",
            "post_process_function": f"connector.post_process.{processing}",
        }
        described = wanted["connector"].pop("description")
        assert described == wanted["description"]
        assert described.startswith(f"{MARK}, key ")
        assert wanted["connector"] == {
            "name": model.name,
            "version": "2",
            "protocol": "http",
            "client_config": {"max_connection": 30, "connection_timeout": 30, "read_timeout": 30},
        }


def test_a_model_is_registered_in_its_group_deployed_and_tried():
    group, model = ("g1", {"name": "ses-papers", "description": MARK}), ("m1", {"name": EMBED.name})
    states = {"model_state": "DEPLOYING"}, {"model_state": "DEPLOYED"}
    cluster = talk(listed(), listed(group), {"model_id": "m1"}, *states, predicted(3), listed(), listed(model))
    EMBED.write(cluster)
    one = f"{ML}/models/m1"
    assert cluster.requests == [
        f"POST {ML}/models/_search", f"POST {ML}/model_groups/_search", f"POST {ML}/models/_register?deploy=true",
        f"GET {one}", f"GET {one}", f"POST {one}/_predict", *[f"POST {ML}/models/_search"] * 2,
    ]  # fmt: skip
    assert cluster.asked[0][1] == {"query": {"term": {"name.keyword": EMBED.name}}, "size": 1_000}
    body = cluster.asked[2][1]
    assert list(body)[:3] == ["name", "function_name", "model_group_id"]
    assert (body["name"], body["function_name"], body["model_group_id"]) == (EMBED.name, "remote", "g1")
    assert body["connector"]["credential"] == {"key": "unused"}
    assert "credential" not in EMBED.wanted()["connector"]


def test_a_model_that_is_there_is_changed_under_its_id():
    cluster = talk(listed(("other", {}), ("m1", {"description": MARK})), {}, predicted(3))
    EMBED.write(cluster)
    assert cluster.requests[1:] == [f"PUT {ML}/models/m1", f"POST {ML}/models/m1/_predict"]
    body = cluster.asked[1][1]
    assert "protocol" not in body["connector"]
    assert "model_config" not in body


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (({"model_state": "DEPLOY_FAILED"},), "can't deploy the model .*, whose state is DEPLOY_FAILED; read the log"),
        (({"model_state": "DEPLOYED"}, error(400, "x", "refused")), "got no answer from http://library.* .*refused"),
        (({"model_state": "DEPLOYED"}, predicted(2)), "got 2 numbers from .*, and the index has 3; let the service"),
    ],
)
def test_a_new_model_that_does_not_work_is_deleted(answers, told):
    cluster = talk(listed(), listed(), {"model_id": "m1"}, *answers, {}, {})
    with pytest.raises(UnavailableError, match=told):
        EMBED.write(cluster)
    assert cluster.requests[-2:] == [f"POST {ML}/models/m1/_undeploy", f"DELETE {ML}/models/m1"]
    assert "model_group_id" not in cluster.asked[2][1]


def test_models_and_groups_are_read_and_deleted_by_name():
    content = {**EMBED.wanted(), "more": 1}
    assert EMBED.stored(talk(listed(("m1", content)))) == EMBED.wanted()
    assert EMBED.stored(talk(error(404, "index_not_found_exception", "no index"))) is None
    with pytest.raises(ClusterError):
        EMBED.stored(talk(error(403, "x", "no rights")))
    cluster = talk(listed(("m1", {})), {}, {})
    EMBED.delete(cluster)
    assert cluster.requests[1:] == [f"POST {ML}/models/m1/_undeploy", f"DELETE {ML}/models/m1"]
    EMBED.delete(talk(listed()))
    cluster = talk({}, listed(("m1", {"name": "ses-papers-b"}), ("m2", {"name": "ses-papers-a"})))
    assert [one.name for one in type(EMBED).listed(cluster, "ses-papers")] == ["ses-papers-a", "ses-papers-b"]
    assert cluster.asked[1][1]["query"] == {"prefix": {"name.keyword": "ses-papers"}}
    assert GROUP.stored(talk(listed(("g1", {"description": "x", "name": "y"})))) == {"description": "x"}
    assert GROUP.stored(talk(listed())) is None
    for there, request, body in (
        ([listed(), {}, listed(("g1", {}))], "POST /_plugins/_ml/model_groups/_register", {"name": "ses-papers"}),
        ([listed(("g1", {})), {}], "PUT /_plugins/_ml/model_groups/g1", {}),
    ):
        cluster = talk(*there)
        GROUP.write(cluster)
        assert cluster.asked[1] == (request, {**body, "description": MARK}, {})
    busy, gone = error(409, "x", "has models"), error(404, "x", "gone")
    cluster = talk(listed(("g1", {})), busy, listed(("g1", {})), gone, listed())
    GROUP.delete(cluster)
    assert cluster.requests.count(f"DELETE {ML}/model_groups/g1") == 2
    with pytest.raises(ClusterError, match="no rights"):
        GROUP.delete(talk(listed(("g1", {})), error(403, "x", "no rights")))


def settings(**levels):
    return {level: {TRUSTED: entries} if isinstance(entries, list) else entries for level, entries in levels.items()}


ENTRY = TrustedAddress("ses-papers", "papers", SERVICE)
OLD = "^http://old$(?!made by ses for the index papers, form 1)"


def test_the_list_of_trusted_addresses_keeps_the_entries_of_others():
    for there, kept in (
        (settings(defaults=["a"]), ["a"]),
        (settings(persistent=["b", OLD], defaults=["a"]), ["b"]),
        (settings(), []),
    ):
        cluster = talk(there, {})
        ENTRY.write(cluster)
        assert cluster.asked == [
            ("GET /_cluster/settings?include_defaults=true&flat_settings=true", None, {}),
            ("PUT /_cluster/settings", {"persistent": {TRUSTED: [*kept, ENTRY.wanted()]}}, {}),
        ]
    for held, left in (([OLD, "b"], ["b"]), ([OLD], None)):
        cluster = talk(settings(persistent=held), {})
        ENTRY.delete(cluster)
        assert cluster.asked[1][1] == {"persistent": {TRUSTED: left}}
    untouched = talk(settings(persistent=["b"]))
    ENTRY.delete(untouched)
    assert len(untouched.asked) == 1
    assert ENTRY.stored(talk(settings(persistent=["b", OLD]))) == OLD
    assert ENTRY.stored(talk(settings(persistent=["b"]))) is None
    others = OLD.replace("papers", "another")
    cluster = talk({}, settings(persistent=["b", OLD, others]))
    assert [one.name for one in TrustedAddress.listed(cluster, "ses-pa")] == ["ses-papers"]


def test_what_keeps_connectors_from_the_service_is_told():
    ENTRY.check(talk(settings()))
    with pytest.raises(InputError, match=f"The transient setting {TRUSTED} of .* hides the persistent one; make it"):
        ENTRY.check(talk(settings(transient=["a"])))
    private = replace(ENTRY, service=vector_service("http://10.0.0.7:8765"))
    for allowed in (True, "true"):
        private.check(talk(settings(persistent={PRIVATE: allowed}, defaults={PRIVATE: "false"})))
    for held in (settings(), settings(defaults={PRIVATE: "false"})):
        with pytest.raises(InputError, match=f"may not ask private addresses such as .*; set {PRIVATE} to true"):
            private.check(talk(held))


def test_a_cluster_without_the_plugin_is_asked_once():
    cluster = talk(error(400, "x", "no handler found for uri"))
    for _ in range(2):
        assert ENTRY.obstacle(cluster) == "lacks the plugin opensearch-ml, which asks for vectors"
    assert cluster.asked == [(f"POST {ML}/models/_search", {"size": 0}, {})]
    assert list(TrustedAddress.listed(cluster, "ses-")) == []
    assert ENTRY.obstacle(talk(error(404, "x", "no index"))) == ""
    with pytest.raises(ClusterError, match="no rights"):
        ENTRY.obstacle(talk(error(403, "x", "no rights")))


def test_pipelines_name_models_by_their_ids_in_the_cluster_alone():
    pipeline = EmbeddingPipeline(
        "ses-papers-embed", {"description": MARK, "processors": [{"m": "the model a"}, "b", 3]}
    )
    cluster = talk(listed(("id1", {"name": "a"})), {})
    pipeline.write(cluster)
    written = {"version": 2, "description": MARK, "processors": [{"m": "id1"}, "b", 3]}
    assert cluster.asked[1] == ("PUT /_ingest/pipeline/ses-papers-embed", written, {})
    cluster = talk({"ses-papers-embed": written}, listed(("id1", {"name": "a"})))
    assert pipeline.stored(cluster) == pipeline.wanted()
    assert cluster.asked[1][1]["query"] == {"prefix": {"name.keyword": "ses-"}}
    with pytest.raises(UnavailableError, match="has lost the model a; try again"):
        pipeline.write(talk(listed()))


def test_of_what_a_server_returns_only_what_was_written_is_compared():
    wanted = {"a": {"b": 1}, "c": [{"d": 2}], "e": 3}
    assert part_of({"a": {"b": 5, "x": 1}, "c": [{"d": 2, "y": 1}], "z": 0}, wanted) == {"a": {"b": 5}, "c": [{"d": 2}]}
    assert part_of([{"d": 2, "y": 1}, {}], [{"d": 2}]) == [{"d": 2, "y": 1}, {}]
