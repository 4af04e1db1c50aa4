"""A cluster that asks the service for vectors gets those of the index, by what `ses cluster install` writes.

The servers at hand lack ml-commons and Elasticsearch's inference module, so stand-ins ask the service as these do.
Pipelines, scripts, templates and searches are those of the real server.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import ses
from encoders.models.formats import Format
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.frontends.http import replaced
from tests.commands import ses as run
from tests.conftest import server_url
from tests.engines.conftest import CLUSTERS, NEWEST_CLUSTERS, empty
from tests.engines.inference import Inference
from tests.engines.ml_commons import OTHERS, PRIVATE, TRUSTED, MlCommons
from tests.faults import FaultProxy
from tests.ses.service.test_attacks import serving
from tests.tiny import papers

pytestmark = [pytest.mark.serve, pytest.mark.slow]


OPENSEARCH = [one for one in NEWEST_CLUSTERS if one.values[0].startswith("opensearch")]
in_both_versions = pytest.mark.parametrize(
    "over", [one for one in CLUSTERS if one.values[0].startswith("opensearch")], indirect=True, scope="module"
)
"""For what an older OpenSearch has other models for."""


@pytest.fixture(scope="module", params=OPENSEARCH)
def over(request, tmp_path_factory, small_model):
    """A library of 80 papers on a real OpenSearch behind the stand-in, and the URL of a service over it."""
    folder = tmp_path_factory.mktemp("cluster")
    with FaultProxy(server_url(request.param)) as proxy:
        plugin = MlCommons(proxy)
        library = ses.open(
            proxy.url, model=small_model, data_dir=folder / "data", cache_dir=folder / "cache", index="papers"
        )
        empty(library._engine)
        library.index("papers", papers(80))
        with serving(library) as (host, port):
            yield library, plugin, f"http://{host}:{port}"
        library.cluster.remove()
        empty(library._engine)
        plugin.close()


@pytest.fixture(scope="module", params=[pytest.param("elasticsearch9", marks=pytest.mark.elasticsearch9)])
def licensed(request, tmp_path_factory, small_model):
    """The same on a real Elasticsearch behind the stand-in for its inference module."""
    folder = tmp_path_factory.mktemp("licensed")
    with FaultProxy(server_url(request.param)) as proxy:
        module = Inference(proxy)
        library = ses.open(
            proxy.url, model=small_model, data_dir=folder / "data", cache_dir=folder / "cache", index="papers"
        )
        empty(library._engine)
        library.index("papers", papers(40))
        with serving(library) as (host, port):
            yield library, module, f"http://{host}:{port}"
        library.cluster.remove()
        empty(library._engine)
        module.close()


@pytest.fixture(scope="module")
def installed(over):
    """What is installed for the first tests; the later ones remove it and install again."""
    library, plugin, url = over
    done = library.cluster.install(connector=url)
    assert {one.change for one in done} == {"new"}
    return library, plugin, {one["name"]: id_ for id_, one in plugin.models.items()}


def changes(outcomes):
    return {one.change for one in outcomes}


def vectors_of(library, texts, task_format="qry"):
    index = library["papers"]
    return index.models.of_leg(index.index).encode(texts, Format(task_format))


def for_queries(models):
    return models.get("ses-papers-vectors") or models["ses-papers-query"]


def for_papers(models):
    return models.get("ses-papers-vectors") or models["ses-papers-passage"]


@in_both_versions
def test_the_cluster_gets_the_vectors_of_queries(installed):
    library, plugin, models = installed
    texts = ['virus "lung"', "a < b & c's = 'd'", '["mouse"]']
    np.testing.assert_allclose(
        plugin.encode(for_queries(models), texts, "query"), vectors_of(library, texts), atol=1e-6
    )
    assert len(models) == (2 if library._engine.cluster.product.version >= (3, 5) else 3)


@in_both_versions
def test_a_paper_that_passes_the_pipeline_gets_the_vector_of_the_index(installed):
    library, plugin, models = installed
    cluster = library._engine.cluster
    pipeline = cluster.call("GET", "/_ingest/pipeline/ses-papers-embed")["ses-papers-embed"]
    at = next(at for at, one in enumerate(pipeline["processors"]) if "text_embedding" in one)
    before, asking, after = pipeline["processors"][:at], pipeline["processors"][at], pipeline["processors"][at + 1 :]
    assert asking["text_embedding"]["model_id"] == for_papers(models)
    ((joined, field),) = asking["text_embedding"]["field_map"].items()
    chosen = [paper.id for paper in papers(80)][::9]
    held = library["papers"].index.vectors(chosen, "prx")
    sources = [cluster.call("GET", f"/papers/_doc/{id_}")["_source"] for id_ in chosen]
    assert any(not source.get("abstract") for source in sources)

    def passed(processors, sources):
        docs = [{"_source": source} for source in sources]
        body = {"pipeline": {"processors": processors}, "docs": docs}
        reply = cluster.call("POST", "/_ingest/pipeline/_simulate", body)
        return [one["doc"]["_source"] for one in reply["docs"]]

    begun = passed(before, sources)
    assert not any(field in source for source in begun)
    vectors = plugin.encode(for_papers(models), [source[joined] for source in begun], "passage")
    np.testing.assert_allclose(vectors, [held[id_] for id_ in chosen], atol=1e-6)
    ended = passed(after, [{**source, field: vector} for source, vector in zip(begun, vectors, strict=True)])
    assert [sorted(source) for source in ended] == [sorted({*source, field}) for source in sources]


def test_a_template_finds_by_words_what_the_hybrid_template_finds_by_a_vector(installed):
    library, plugin, models = installed
    cluster = library._engine.cluster
    params = {"words": 'virus "lung"', "size": 20, "filters": [{"range": {"year": {"gte": 1990}}}]}
    rendered = cluster.call("POST", "/_render/template/ses-papers-neural", {"params": params})["template_output"]
    (_, neural) = rendered["query"]["hybrid"]["queries"]
    (clause,) = neural["neural"].values()
    assert clause["query_text"] == params["words"]
    # The real neural-search reads all of it, takes the model from the pipeline, and asks the plugin that is not there.
    asked = {"id": "ses-papers-neural", "params": params}
    with pytest.raises(ClusterError, match="failed to find action"):
        cluster.call("POST", "/papers/_search/template", asked, params={"search_pipeline": "ses-papers-neural"})
    pipeline = cluster.call("GET", "/_search/pipeline/ses-papers-neural")["ses-papers-neural"]
    assert pipeline["request_processors"] == [{"neural_query_enricher": {"default_model_id": for_queries(models)}}]
    (vector,) = plugin.encode(for_queries(models), [clause["query_text"]], "query")

    def encoded(value):
        if not isinstance(value, dict) or "neural" not in value:
            return value
        ((field, clause),) = value["neural"].items()
        assert (clause.pop("query_text"), clause.pop("model_id")) == (params["words"], for_queries(models))
        return {"knn": {field: {"vector": vector, **clause}}}

    reply = cluster.call("POST", "/papers/_search", replaced(rendered, encoded))
    asked = {"id": "ses-papers-hybrid", "params": {**params, "vector": vector}}
    pipeline = {"search_pipeline": "ses-papers-minmax"}
    wanted = cluster.call("POST", "/papers/_search/template", asked, params=pipeline)
    found, expected = ([(hit["_id"], hit["_score"]) for hit in one["hits"]["hits"]] for one in (reply, wanted))
    assert found == expected
    assert len(found) == 20
    assert reply["aggregations"] == wanted["aggregations"]


def test_documents_are_ranked_again(installed):
    library, plugin, models = installed
    documents = [f"{paper.title}\n{paper.abstract}" for paper in papers(30)]
    query = vectors_of(library, ["virus lung"])[0]
    held = library["papers"].index.vectors([paper.id for paper in papers(30)], "prx")
    rows = np.array([held[paper.id] for paper in papers(30)])
    cosines = rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
    np.testing.assert_allclose(plugin.rerank(models["ses-papers-rerank"], "virus lung", documents), cosines, atol=1e-5)


def test_what_is_there_is_not_written_again_and_a_changed_one_keeps_its_id(over, installed, monkeypatch):
    library, _, url = over
    _, plugin, models = installed
    assert changes(library.cluster.install(connector=url)) == {"unchanged"}
    changed = library.cluster.diff(connector=url.replace("127.0.0.1", "127.0.0.2"), fusion="rrf")
    assert {one.name for one in changed if one.kind == "remote model" and one.change == "changed"} == set(models)
    assert {one["name"]: id_ for id_, one in plugin.models.items()} == models
    monkeypatch.setenv("SES_CONNECTOR_KEY", "a-key")
    other = ses.open(library._engine.url, index="papers", data_dir=library.data_dir)
    told = other.cluster.install(connector=url)
    assert {one.kind for one in told if one.change == "changed"} == {"remote model"}
    assert "a-key" not in json.dumps([one.lines for one in told])
    assert {one["connector"]["credential"]["key"] for one in plugin.models.values()} == {"a-key"}
    assert {one["name"]: id_ for id_, one in plugin.models.items()} == models


def test_nothing_of_others_is_touched(over):
    library, plugin, url = over
    library.cluster.remove()
    mine = "https://mine\\.example/.*"
    plugin.settings[TRUSTED] = [*OTHERS, mine]
    plugin.models["theirs"] = {"name": "ses-papers-vectors-of-mine", "description": "mine"}
    library.cluster.install(connector=url)
    (entry,) = set(plugin.settings[TRUSTED]) - {*OTHERS, mine}
    assert "made by ses for the index papers" in entry
    library.cluster.remove()
    assert plugin.settings == {PRIVATE: "true", TRUSTED: [*OTHERS, mine]}
    assert list(plugin.models) == ["theirs"]
    assert not plugin.groups
    del plugin.models["theirs"]
    plugin.settings.pop(TRUSTED)
    plugin.models["other"] = {"name": "ses-papers-rerank", "description": "mine"}
    with pytest.raises(ses.InputError, match="a remote model ses-papers-rerank that ses did not make"):
        library.cluster.install(connector=url)
    assert plugin.settings == {PRIVATE: "true"}
    del plugin.models["other"]


def test_a_service_that_gives_the_cluster_no_vectors_is_told(over, monkeypatch):
    library, plugin, url = over
    library.cluster.remove()
    with pytest.raises(ses.UnavailableError, match=r"got no answer from .*404") as told:
        library.cluster.install(connector=f"{url}/elsewhere")
    assert "reaches the service under this URL" in str(told.value)
    assert not plugin.models
    with monkeypatch.context() as patched:
        patched.setattr(plugin, "predict", lambda *_: [{"data": [0.5]}])
        with pytest.raises(ses.UnavailableError, match=r"got 1 numbers from .*, and the index has 64"):
            library.cluster.install(connector=url)
    plugin.settings[PRIVATE] = "false"
    library.cluster.remove()
    with pytest.raises(ses.InputError, match="may not ask private addresses"):
        library.cluster.install(connector=url)
    assert not plugin.groups
    plugin.settings[PRIVATE] = "true"


def older(library, number):
    """Let the cluster be of an older version, whose service is another."""
    version = tuple(int(part) for part in number.split(".")[:2])
    library._engine.cluster.product = replace(library._engine.cluster.product, number=number, version=version)


@pytest.mark.parametrize("number", ["9.4.3", "8.17.0"])
def test_an_endpoint_of_elasticsearch_gets_the_vectors_of_the_index(licensed, number, monkeypatch):
    library, module, url = licensed
    product = library._engine.cluster.product
    older(library, number)
    done = library.cluster.install(connector=url)
    assert {one.name for one in done if one.change == "left out"} >= {"ses-papers-neural"}  # it lacks mustache
    assert {one["service"] for one in module.endpoints.values()} == {"custom" if number == "9.4.3" else "openai"}
    texts = [*(paper.title for paper in papers(12)), 'a "quoted" ${input} text', "x\ny"]
    np.testing.assert_allclose(module.encode("ses-papers-query", texts), vectors_of(library, texts), atol=1e-6)
    chosen = [paper.id for paper in papers(40)][::9]
    held = library["papers"].index.vectors(chosen, "prx")
    joined = [f"{paper.title}\n{paper.abstract}" for paper in papers(40)][::9]
    np.testing.assert_allclose(module.encode("ses-papers-passage", joined), [held[id_] for id_ in chosen], atol=1e-6)
    assert max(len(one.get("input", ())) for one in module.asked) == 10
    (asking,) = [one["inference"] for one in module.pipelines["ses-papers-embed"]["processors"] if "inference" in one]
    assert asking["model_id"] == "ses-papers-passage"
    assert changes(library.cluster.install(connector=url)) == {"unchanged", "left out"}
    monkeypatch.setenv("SES_CONNECTOR_KEY", "another")
    other = ses.open(library._engine.url, index="papers", data_dir=library.data_dir)
    other._engine.cluster.product = library._engine.cluster.product
    changed = {one.kind for one in other.cluster.diff(connector=url) if one.change == "changed"}
    assert changed == {"inference endpoint"}
    module.endpoints["ses-papers-mine"] = {
        "inference_id": "ses-papers-mine",
        "task_type": "rerank",
        "service_settings": {},
    }
    library.cluster.remove()
    assert list(module.endpoints) == ["ses-papers-mine"]
    assert not module.pipelines
    del module.endpoints["ses-papers-mine"]
    library._engine.cluster.product = product


def test_without_the_licence_that_is_said_and_nothing_is_written(licensed):
    library, module, url = licensed
    module.licence = "basic"
    done = library.cluster.install(connector=url)
    why = {one.why for one in done if one.kind in ("inference endpoint", "ingest pipeline")}
    assert all("has the licence basic, and needs an Enterprise licence to ask for vectors" in one for one in why)
    assert not module.endpoints
    assert not module.pipelines
    shown = [one for one in library.cluster.diff(connector=url) if one.kind == "inference endpoint"]
    assert any("papers:qry" in line for one in shown for line in one.lines)
    module.licence = "enterprise"


@pytest.mark.parametrize(
    ("lane", "reason"),
    [
        pytest.param(
            "opensearch", "lacks the plugin opensearch-ml, which asks for vectors", marks=pytest.mark.opensearch
        ),
        pytest.param("elasticsearch9", "has the licence basic, and needs an", marks=pytest.mark.elasticsearch9),
    ],
)
def test_a_cluster_that_cannot_ask_says_why_and_what_would_be_written(lane, reason, tmp_path, small_model):
    library = ses.open(server_url(lane), model=small_model, data_dir=tmp_path, cache_dir=tmp_path / "cache")
    library.index("lone", papers(3))
    settings = {"SES_ENGINE": server_url(lane), "SES_CONNECTOR_KEY": "a-key"}

    def ran(command):
        return run(tmp_path, "cluster", command, "lone", "--connector", "http://library.example:8765", **settings)

    shown = ran("diff")
    assert shown.returncode == 1
    assert "library" in shown.stdout
    assert "ses-lone-embed" in shown.stdout
    assert shown.stderr.count(reason) == 1
    done = ran("install")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(reason) == 1
    again = ran("diff")
    assert (again.returncode, "/v1/embeddings" in again.stdout) == (0, True)
    assert "a-key" not in shown.stdout + done.stdout + again.stdout
    kept = library.cluster.installed("lone")
    assert "ses-lone-minmax" in kept or "ses-lone-mappings" in kept
    assert not {"ses-lone-embed", "ses-lone-neural"} & set(kept)
    library.cluster.remove("lone")
    library.drop("lone")
