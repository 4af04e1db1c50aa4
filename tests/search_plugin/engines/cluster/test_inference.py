"""Inference endpoints of Elasticsearch: what they hold, and what a cluster lacks for them, without a server."""

from __future__ import annotations

import pytest

from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.frontends.inference import (
    InferenceEndpoint,
    embedding_endpoint,
    has_custom,
    lacks_inference,
)
from search_plugin.engines.cluster.frontends.vector_service import vector_service
from search_plugin.engines.cluster.product import Product

SERVICE = vector_service("http://library.example:8765")


def elasticsearch(*version):
    return Product("elasticsearch", f"{version[0]}.{version[1]}.0", version)


class Told:
    """A cluster that answers by path, and keeps what it was asked."""

    def __init__(self, product, answers):
        self.product, self.answers = product, answers
        self.lacking, self.asked = set(), []

    def call(self, method, path, body=None):
        self.asked.append((method, path, body))
        answer = self.answers.get(path, {})
        if isinstance(answer, Exception):
            raise answer
        return answer


def licensed(kind):
    return {"/_license": {"license": {"type": kind}}}


@pytest.mark.parametrize(
    ("version", "licence", "lacks"),
    [
        ((8, 17), "basic", ""),
        ((8, 18), "basic", "has the licence basic, and needs an Enterprise licence to ask for vectors"),
        ((8, 18), "trial", ""),
        ((9, 0), "platinum", "has the licence platinum, and needs an Enterprise licence to ask for vectors"),
        ((9, 0), "enterprise", ""),
    ],
)
def test_a_licence_is_needed_from_some_versions_on(version, licence, lacks):
    cluster = Told(elasticsearch(*version), licensed(licence))
    assert lacks_inference(cluster) == lacks
    asked_for_licence = ("GET", "/_license", None) in cluster.asked
    assert asked_for_licence == (version != (8, 17))


@pytest.mark.parametrize(
    ("error", "lacks"),
    [
        (ClusterError("no method", 405), True),
        (ClusterError("no handler found for uri", 400), True),
        (ClusterError("none", 404), False),
    ],
)
def test_a_cluster_without_the_module_is_asked_once(error, lacks):
    cluster = Told(elasticsearch(8, 17), {"/_inference/_all": error})
    told = "lacks the module x-pack-inference, which asks for vectors" if lacks else ""
    assert [lacks_inference(cluster) for _ in range(2)] == [told] * 2
    assert len(cluster.asked) == (1 if lacks else 2)
    broken = Told(elasticsearch(8, 17), {"/_inference/_all": ClusterError("broken", 500)})
    with pytest.raises(ClusterError, match="broken"):
        lacks_inference(broken)


@pytest.mark.parametrize(
    ("version", "custom"), [((8, 18), False), ((8, 19), True), ((9, 0), False), ((9, 1), True), ((9, 4), True)]
)
def test_the_service_sends_texts_to_the_address_of_ses(version, custom):
    product = elasticsearch(*version)
    made = embedding_endpoint("e", product, SERVICE, model="papers:QRY", similarity="cosine", mark="ours")
    said = f"ours, key {SERVICE.key_digest}"
    assert has_custom(product) == custom
    settings, tasks = made.body["service_settings"], made.body["task_settings"]
    assert (settings["url"], settings["similarity"]) == (f"{SERVICE.url}/v1/embeddings", "cosine")
    if custom:
        assert made.body["service"] == "custom"
        assert settings["request"] == '{"input": ${input}, "model": "papers:QRY"}'
        assert settings["headers"] == {"Authorization": "Bearer ${api_key}", "Content-Type": "application/json"}
        assert settings["response"] == {"json_parser": {"text_embeddings": "$.data[*].embedding[*]"}}
        assert (tasks, made.secrets) == (
            {"parameters": {"note": said}},
            {"secret_parameters": {"api_key": SERVICE.key}},
        )
    else:
        assert (made.body["service"], settings["model_id"]) == ("openai", "papers:QRY")
        assert (tasks, made.secrets) == ({"user": said}, {"api_key": SERVICE.key})
    assert made.wanted() == {"task_type": "text_embedding", **made.body}


def test_an_endpoint_is_made_anew_and_read_without_secrets():
    made = embedding_endpoint("e", elasticsearch(9, 4), SERVICE, model="m", similarity="cosine", mark="ours")
    there = {"inference_id": "e", "chunking_settings": {}, **made.wanted(), "task_settings": {"other": 1}}
    cluster = Told(elasticsearch(9, 4), {"/_inference/e": {"endpoints": [there]}})
    assert made.stored(cluster) == {**made.wanted(), "task_settings": {"other": 1}}
    assert made.described({"task_settings": {"note": "x"}}) == '{"note":"x"}'
    assert made.described({}) == "{}"
    cluster.asked.clear()
    made.write(cluster)
    assert [one[:2] for one in cluster.asked] == [
        ("GET", "/_inference/e"),
        ("DELETE", "/_inference/e?force=true"),
        ("PUT", "/_inference/text_embedding/e"),
    ]
    body = cluster.asked[-1][2]
    assert body["service_settings"] == {**made.body["service_settings"], **made.secrets}
    assert "secret_parameters" not in made.body["service_settings"]
    for error in (ClusterError("none", 404), ClusterError("none", 405), ClusterError("no handler found", 400)):
        gone = Told(elasticsearch(9, 4), {"/_inference/e": error})
        assert made.stored(gone) is None
        made.delete(gone)
        assert [one[0] for one in gone.asked] == ["GET", "GET"]


def test_endpoints_are_listed_by_the_beginning_of_their_names():
    found = {"/_inference/_all": {"endpoints": [{"inference_id": name} for name in ("ses-a", "other", "ses-b")]}}
    listed = InferenceEndpoint.listed(Told(elasticsearch(9, 4), found), "ses-")
    assert [one.name for one in listed] == ["ses-a", "ses-b"]
    elsewhere = Told(Product("opensearch", "3.6.0", (3, 6)), found)
    assert (list(InferenceEndpoint.listed(elsewhere, "ses-")), elsewhere.asked) == ([], [])
