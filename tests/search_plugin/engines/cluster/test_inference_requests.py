"""What is written for clusters that ask for vectors, by product and version, without a server."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from corpora.errors import InputError
from search_plugin.engines.cluster.frontends.connectors import TrustedAddress
from search_plugin.engines.cluster.frontends.service_artifacts import service_artifacts
from search_plugin.engines.cluster.frontends.vector_service import VectorService, vector_service
from tests.search_plugin.engines.cluster.test_joining import SCHEMA, index_in

SERVICE = vector_service("http://library.example:8765")
OLD_MODELS = ["ses-papers-query", "ses-papers-passage", "ses-papers-rerank"]


def artifacts(kind, version, quantization="none"):
    return service_artifacts(index_in(kind, version, schema=replace(SCHEMA, quantization=quantization)), SERVICE)


def of_kind(found, kind):
    return [one for one in found if one.kind == kind]


@pytest.mark.parametrize(
    ("version", "models"),
    [((2, 19), OLD_MODELS), ((3, 4), OLD_MODELS), ((3, 5), ["ses-papers-vectors", "ses-papers-rerank"])],
)
def test_one_model_is_enough_where_the_cluster_says_what_a_text_is(version, models):
    found = artifacts("opensearch", version)
    assert [one.name for one in of_kind(found, "remote model")] == models
    bodies = [one.wanted()["connector"]["actions"][0]["request_body"] for one in of_kind(found, "remote model")]
    assert ("content_type" in bodies[0]) is (version >= (3, 5))
    assert [re.search(r'"model": "([^"]+)"', body)[1] for body in bodies] == (
        ["papers", "papers"] if version >= (3, 5) else ["papers:qry", "papers:prx", "papers"]
    )
    (embedding,) = of_kind(found, "ingest pipeline")
    asked = next(one["text_embedding"] for one in embedding.wanted()["processors"] if "text_embedding" in one)
    assert asked["model_id"] == f"the model {models[-2]}"
    (searching,) = of_kind(found, "search pipeline")
    assert searching.wanted()["request_processors"] == [
        {"neural_query_enricher": {"default_model_id": f"the model {models[0]}"}}
    ]


@pytest.mark.parametrize(
    ("version", "service"),
    [((8, 16), "openai"), ((8, 18), "openai"), ((8, 19), "custom"), ((9, 0), "openai"), ((9, 1), "custom")],
)
def test_endpoints_are_of_the_service_that_a_version_has(version, service):
    found = of_kind(artifacts("elasticsearch", version), "inference endpoint")
    assert [one.name for one in found] == ["ses-papers-query", "ses-papers-passage"]
    assert [one.wanted()["service"] for one in found] == [service] * 2
    sent = [
        one.wanted()["service_settings"].get("model_id") or one.wanted()["service_settings"]["request"] for one in found
    ]
    assert ["papers:qry" in sent[0], "papers:prx" in sent[1]] == [True, True]
    assert all("made by ses for the index papers" in one.described(one.wanted()) for one in found)


@pytest.mark.parametrize("quantization", ["none", "int8"])
@pytest.mark.parametrize(("kind", "version"), [("opensearch", (3, 6)), ("elasticsearch", (9, 4))])
def test_a_template_has_words_where_a_page_has_a_vector(kind, version, quantization):
    (template,) = of_kind(artifacts(kind, version, quantization), "search template")
    source = "".join(template.source.split())
    assert "vector{{/toJson}}" not in source
    if kind == "opensearch":
        assert (
            source.count(
                '"neural":{"vector_prx":{"query_text":"{{words}}","model_id":"themodelses-papers-vectors","k":'
            )
            == 2
        )
    else:
        builder = '{"text_embedding":{"model_id":"ses-papers-query","model_text":"{{words}}"}}'
        assert f'"query_vector_builder":{builder}' in source


def test_vectors_of_passages_are_not_asked_for():
    vectors = (replace(SCHEMA.vectors[0], unit="passage"),)
    index = index_in("opensearch", (3, 6), schema=replace(SCHEMA, vectors=vectors))
    with pytest.raises(InputError, match="holds no prx vectors"):
        service_artifacts(index, SERVICE)


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("http://library.example:8765", "http://library.example:8765"),
        (" https://library.example/ses/v1/ ", "https://library.example/ses"),
        ("http://[::1]:8765/", "http://[::1]:8765"),
    ],
)
def test_a_url_is_read_as_users_write_it(url, read):
    assert vector_service(url).url == read


@pytest.mark.parametrize(
    "url",
    ["library.example", "ftp://library.example", "http://", "http://a/?b", "http://a/#b", "http://a/${b}",
     'http://a/"', "http://a/" + "b" * 500, "http://[a"],
)  # fmt: skip
def test_another_url_is_refused(url):
    with pytest.raises(InputError, match="for vectors; give connector"):
        vector_service(url)


@pytest.mark.parametrize("url", ["http://ada:hidden@library.example", "ftp://hidden@a", f"https://hidden@{'b' * 600}"])
def test_a_url_with_a_secret_is_refused_without_being_shown(url):
    with pytest.raises(InputError, match="holds a user or a password") as told:
        vector_service(url)
    assert "hidden" not in str(told.value)


@pytest.mark.parametrize("key", ["a b", "a\nb", 'a"b', "a\\b", "${a}", "é"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(key):
    with pytest.raises(InputError, match="can't stand in a header") as told:
        vector_service("http://a", key)
    assert key not in str(told.value)


def test_a_key_is_never_shown():
    service = vector_service("http://a", "a-key")
    assert "a-key" not in repr(service)
    assert service.key_digest != VectorService("http://a").key_digest
    assert vector_service("http://a").key == "unused"


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("http://10.0.0.7:8765", True),
        ("http://[::1]:8765", True),
        ("http://localhost", True),
        ("http://a.localhost", True),
        ("http://8.8.8.8", False),
        ("http://library.example", False),
    ],
)
def test_private_addresses_are_known(url, private):
    assert vector_service(url).is_private is private


def test_an_entry_allows_the_two_urls_and_no_other():
    entry = TrustedAddress("ses-papers", "papers", SERVICE).wanted()
    for url, allowed in (
        ("http://library.example:8765/v1/embeddings", True),
        ("http://library.example:8765/v1/rerank", True),
        ("http://library.example:8765/v1/embeddings/", False),
        ("http://library-example:8765/v1/embeddings", False),
        ("http://library.example:8765/v1/search", False),
        ("http://library.example:8765/v1/rerankmade by ses for the index papers, form 1", False),
    ):
        assert bool(re.fullmatch(entry, url)) is allowed
