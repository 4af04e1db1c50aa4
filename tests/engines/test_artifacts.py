"""What ses keeps in a cluster for front ends: written once, compared, removed, and nothing of others touched."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpora.errors import InputError
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.tree import Compare
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.frontends.artifacts import Ownership, marked_index
from search_plugin.engines.cluster.frontends.index_artifacts import installation_of
from search_plugin.engines.cluster.frontends.page_request import page_request
from search_plugin.engines.cluster.frontends.stored import IndexTemplate, SearchPipeline, StoredTemplate
from search_plugin.engines.cluster.frontends.templates import HYBRID, TEMPLATES
from search_plugin.engines.registry import connect
from search_plugin.request import SearchRequest
from ses import open as library
from tests.commands import ses
from tests.conftest import server_url
from tests.engines.conftest import CLUSTERS, DIMENSION, NEWEST_CLUSTERS, SCHEMA, documents, empty
from tests.tiny import make_model, papers, write_jsonl

VECTOR = np.random.default_rng(1).standard_normal(DIMENSION).astype(np.float32)
OPENSEARCH = [one for one in NEWEST_CLUSTERS if one.values[0].startswith("opensearch")]


def published(lane):
    """The index `papers` on the server of a lane, with nothing else of ses."""
    server = connect(server_url(lane))
    empty(server)
    index = server.build("papers", SCHEMA, "source")
    index.upsert(documents(60))
    index.finish()
    server.publish(index)
    return server.open("papers")


def everything(cluster):
    """All that an artifact can be in the cluster, by kind."""
    scripts = cluster.call("GET", "/_cluster/state/metadata?filter_path=metadata.stored_scripts")
    held = {
        "scripts": scripts.get("metadata", {}).get("stored_scripts", {}),
        "components": cluster.call("GET", "/_component_template"),
        "templates": cluster.call("GET", "/_index_template"),
    }
    if cluster.product.kind == "opensearch":
        held["pipelines"] = {}
        with suppress(ClusterError):  # there is none
            held["pipelines"] = cluster.call("GET", "/_search/pipeline")
    return held


@pytest.fixture(scope="module", params=NEWEST_CLUSTERS)
def index(request):
    made = published(request.param)
    yield made
    installation_of(made).remove()
    empty(connect(made.cluster.url))


@pytest.fixture(scope="module", params=OPENSEARCH)
def installed(request):
    """An index whose templates are installed."""
    made = published(request.param)
    installation_of(made).install()
    yield made
    installation_of(made).remove()
    empty(connect(made.cluster.url))


def changes(outcomes):
    return {one.name: one.change for one in outcomes}


@pytest.mark.parametrize("index", CLUSTERS, indirect=True, scope="module")
def test_what_is_installed_twice_is_written_once_and_removed_without_a_trace(index):
    before = everything(index.cluster)
    wanted = installation_of(index, patterns=["library-*"])
    planned = wanted.difference()
    assert everything(index.cluster) == before
    names = {"ses-papers", *(f"ses-papers-{name}" for name in ("mappings", *TEMPLATES))}
    opensearch = index.cluster.product.kind == "opensearch"
    pipelines = {"ses-papers-minmax", "ses-papers-minmax-table"} if opensearch else set()
    assert {one.name for one in planned} == names | pipelines
    assert wanted.install() == planned
    there = everything(index.cluster)
    call, asked = index.cluster.call, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index.cluster, "call", lambda method, *a, **k: asked.append(method) or call(method, *a, **k))
        again = wanted.install()
    assert "PUT" not in asked
    assert set(changes(again).values()) == {"unchanged"} | (set() if opensearch else {"left out"})
    assert everything(index.cluster) == there  # with the times of Elasticsearch 9: nothing was written again
    for one in again:
        if one.change == "left out":
            assert "Elasticsearch" in one.why
            assert one.why.endswith("has no search templates (the module lang-mustache)")
    removed = changes(installation_of(index).remove())
    assert removed == {name: "removed" for name, done in changes(again).items() if done == "unchanged"}
    assert everything(index.cluster) == before
    assert installation_of(index).remove() == []


def test_an_artifact_that_somebody_changed_is_shown_and_written_again(index):
    wanted = installation_of(index)
    wanted.install()
    other = replace(index.schema, model="another", fingerprint="fedcba9876543210")
    index.schema, kept = other, index.schema
    try:
        shown = {one.name: one for one in installation_of(index).difference()}
    finally:
        index.schema = kept
    mappings = shown["ses-papers-mappings"]
    assert mappings.change == "changed"
    assert [line for line in mappings.lines if line[0] in "+-"][2:] == [
        '-    "description": "made by ses for the index papers, form 2, model tiny (0123456789abcdef)"',
        '+    "description": "made by ses for the index papers, form 2, model another (fedcba9876543210)"',
    ]
    wanted.remove()


def test_nothing_of_others_is_replaced_or_removed(index):
    cluster = index.cluster
    foreign = {"template": {"settings": {"index": {"number_of_shards": "2"}}}, "version": 7}
    cluster.call("PUT", "/_component_template/ses-papers-mappings", foreign)
    cluster.call("PUT", "/_component_template/ses-papers-x-mappings", foreign)
    before = everything(cluster)
    try:
        for act in (installation_of(index).install, installation_of(index).difference):
            with pytest.raises(InputError, match="has a component template ses-papers-mappings that ses did not make"):
                act()
        assert installation_of(index).remove() == []
        assert everything(cluster) == before
    finally:
        for name in ("ses-papers-mappings", "ses-papers-x-mappings"):
            cluster.call("DELETE", f"/_component_template/{name}")


def test_an_index_whose_name_begins_so_too_keeps_its_own(index):
    other = connect(index.cluster.url)
    longer = other.build("papers-x", SCHEMA, "source")
    other.publish(longer)
    longer = other.open("papers-x")
    installation_of(longer).install()
    there = everything(index.cluster)
    installation_of(index).install()
    installation_of(index).remove()
    assert everything(index.cluster) == there
    assert installation_of(longer).remove()
    other.drop("papers-x")


def test_what_another_version_left_and_a_run_that_was_stopped_are_completed_and_removed(index):
    wanted = installation_of(index, patterns=["library-*"])
    before = everything(index.cluster)
    writable = [one for one in wanted.wanted if not one.obstacle(index.cluster)]
    writable[0].write(index.cluster)
    done = changes(wanted.install())
    assert [done[one.name] for one in writable] == ["unchanged"] + ["new"] * (len(writable) - 1)
    next(iter(wanted.there())).delete(index.cluster)
    wanted.remove()
    assert everything(index.cluster) == before
    older = IndexTemplate("ses-papers-older", ("oldest-*",), "", str(Ownership("papers", "tiny", 0)))
    body = {name: value for name, value in older.wanted().items() if name != "composed_of"}
    index.cluster.call("PUT", "/_index_template/ses-papers-older", body)
    assert changes(wanted.remove()) == {"ses-papers-older": "removed"}


def test_an_index_that_its_owner_makes_gets_the_fields_and_answers_the_same_searches(index):
    wanted = installation_of(index, patterns=["library-*"])
    wanted.install()
    cluster = index.cluster
    try:
        cluster.call("PUT", "/library-2026")
        mapping = cluster.call("GET", "/library-2026/_mapping")["library-2026"]["mappings"]
        ours = cluster.call("GET", f"/{index.physical}/_mapping")[index.physical]["mappings"]
        assert mapping["properties"] == ours["properties"]
        assert mapping["dynamic"] == "strict"
        assert wanted.install() == wanted.difference()  # the index that matches now is the owner's wish
        house = {"index_patterns": ["house-*"], "composed_of": ["ses-papers-mappings"], "priority": 200}
        cluster.call("PUT", "/_index_template/house", house)
        with pytest.raises(InputError, match="matches the same names as the index template house, which has the same"):
            installation_of(index, patterns=["house-2026"]).install()
        with pytest.raises(InputError, match="component template ses-papers-mappings is still in use by"):
            wanted.remove()
    finally:
        for path in ("/library-2026", "/_index_template/house"):
            cluster.call("DELETE", path)
    assert changes(wanted.remove())["ses-papers-mappings"] == "removed"


@pytest.mark.parametrize("pattern", ["*", "s*", "ses.*", "ses.papers.v2", "ses.p*", "A-*", "a*b", "", "-x", "a" * 101])
def test_patterns_that_reach_too_far_are_refused(pattern):
    with pytest.raises(InputError, match=r"^The pattern .*; (choose another|write it like) <?pattern"):
        IndexTemplate("ses-papers", (pattern,), "ses-papers-mappings", "").check(None)


@pytest.mark.parametrize("fusion", ["minmax", "rrf"])
def test_the_pipelines_are_those_of_a_page(installed, fusion):
    wanted = installation_of(installed, fusion=fusion).wanted
    found = {one.name: one for one in wanted if isinstance(one, SearchPipeline)}
    weights = {f"ses-papers-{fusion}": 1, f"ses-papers-{fusion}-table": 2 / 3}
    if fusion == "rrf" and installed.cluster.product.version < (3, 1):
        del weights["ses-papers-rrf-table"]  # it can't weigh ranks
    for name, weight in weights.items():
        plan = Plan("virus", (VectorClause("prx", VECTOR, weight),), None, 100)
        inline = page_request(installed, plan, SearchRequest("virus", fusion=fusion)).body["search_pipeline"]
        own = found.pop(name)
        assert own.wanted() == {"version": 2, "description": own.body["description"], **inline}
    assert not found


@pytest.mark.parametrize(("version", "tables"), [((3, 1), 2), ((3, 0), 0)])
def test_where_ranks_have_no_weights_nothing_is_there_for_a_table(installed, version, tables):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(installed.cluster, "product", replace(installed.cluster.product, version=version))
        names = [one.name for one in installation_of(installed, fusion="rrf").wanted]
        assert sum(name.endswith("-table") for name in names) == tables
        assert {"ses-papers-rrf", "ses-papers-hybrid"} <= set(names)
        with pytest.raises(InputError, match="has no fusion rrr"):
            installation_of(installed, fusion="rrr")


def replayed(index, name, parameters, fusion="minmax"):
    """The reply to a template."""
    path = f"/{index.name}/_search/template"
    body = {"id": f"ses-{index.name}-{name}", "params": parameters}
    pipeline = f"ses-{index.name}-{name.replace('hybrid', fusion)}"
    params = {"search_pipeline": pipeline} if name in HYBRID else {}
    return index.cluster.call("POST", path, body, params=params)


@pytest.mark.parametrize("name", ["lexical", "hybrid", "hybrid-table", "similar"])
@pytest.mark.parametrize("where", [None, Compare("year", ">=", 2000)])
def test_a_template_answers_as_the_page_does(installed, name, where):
    words = "" if name == "similar" else 'virus "lung" \\ {{protein}}\n\t\x07é'
    vectors = () if name == "lexical" else (VectorClause("prx", VECTOR, 2 / 3 if name == "hybrid-table" else 1),)
    request = SearchRequest("", offset=2, size=7, facets=("year", "venue"), facet_size=5)
    page = page_request(installed, Plan(words, vectors, where, request.window), request)
    ours = installed.cluster.call("POST", page.path, page.body)
    given = {"words": words, "vector": VECTOR.tolist(), "from": 2, "size": 7, "facet_size": 6}
    given["filters"] = [{"range": {"year": {"gte": 2000}}}] if where else []
    theirs = replayed(installed, name, given | {"facets": {"year": True, "venue": True, "journal": True}})
    assert theirs["hits"] == ours["hits"]
    assert len(theirs["hits"]["hits"]) == 7
    counts = theirs["aggregations"] if name == "lexical" else theirs["aggregations"]["all"]["matches"]
    assert counts.pop("none") == {"doc_count": 0}
    assert counts.pop("journal") == counts["venue"]
    assert theirs["aggregations"] == ours["aggregations"]


def test_what_is_left_out_has_defaults(installed):
    reply = replayed(installed, "lexical", {"words": "virus"})
    assert len(reply["hits"]["hits"]) == 10
    assert set(reply["aggregations"]) == {"none"}
    assert "facets.id}" not in installation_of(installed).wanted[-1].source
    first = replayed(installed, "lexical", {"words": "virus", "from": 0, "size": "3"})
    assert first["hits"]["hits"] == reply["hits"]["hits"][:3]


@example('a"b\\c\n\t\x00\x1f\x7f\u2028{{words}}{{#toJson}}vector{{/toJson}}</script>\U0001f600')
@example("x" * 200_000)
@given(st.text())
def test_no_words_can_leave_their_place(installed, words):
    found = next(one for one in installation_of(installed).wanted if one.name == "ses-papers-hybrid")
    asked = {"source": found.source, "params": {"words": words, "vector": VECTOR.tolist(), "from": words}}
    body = installed.cluster.call("POST", "/_render/template", asked)["template_output"]
    queries = body["query"]["hybrid"]["queries"]
    assert queries[0]["bool"]["should"][0] == {"match": {"title_abstract": {"query": words}}}
    assert body["from"] == (words or "0")
    assert set(body) == set(page_request(installed, PLAN, SearchRequest("")).body) | {"aggs"}


PLAN = Plan("virus", (VectorClause("prx", VECTOR),), None, 100)


def test_a_mark_names_one_index():
    assert marked_index(f"x {Ownership('papers-x', 'tiny')} y") == "papers-x"
    assert marked_index("made by ses") == marked_index("") == ""
    assert StoredTemplate("x", "").described({"source": "\n made by ses for the index a, form 1"}) == ""


def test_the_commands_install_compare_and_remove(index, tmp_path):
    def ran(*words):
        return ses(tmp_path, "cluster", *words, SES_ENGINE=index.cluster.url)

    added = {"ses-papers-mappings"}
    if index.cluster.product.kind == "opensearch":
        added |= {f"ses-papers-{name}" for name in ("minmax", "minmax-table", *TEMPLATES)}
    shown = ran("diff", "papers")
    assert (shown.returncode, shown.stdout.count("+++ ")) == (1, len(added))
    made = ran("install", "papers")
    assert made.returncode == 0, made.stderr
    assert {line.split()[2].rstrip(":") for line in made.stdout.splitlines() if line.endswith(": new")} == added
    if len(added) == 1:
        told = "has no search templates (the module lang-mustache), so these are left out: search template ses-papers-"
        assert told in made.stdout
    again = ran("diff", "papers")
    assert (again.returncode, again.stdout) == (0, "Nothing to change.\n")
    assert set(library(index.cluster.url).cluster.installed("papers")) == added
    other = ran("diff", "papers", "--pattern", "library-*", "--json")
    assert (other.returncode, [one["change"] for one in json.loads(other.stdout)["artifacts"]].count("new")) == (1, 1)
    removed = json.loads(ran("remove", "papers", "--json").stdout)
    assert {one["name"] for one in removed["artifacts"]} == added
    assert ran("remove", "papers").stdout == ran("remove", "deleted-long-ago").stdout == "Nothing was there.\n"
    refused = ran("install", "papers", "--pattern", "*")
    assert (refused.returncode, refused.stderr) == (
        2,
        "Error: The pattern '*' can't be used: it is small letters, digits, dots, _ and -, with * at the end; write it "
        "like --pattern 'papers-*'.\n",
    )


def test_an_index_outside_of_a_cluster_has_none(tmp_path):
    make_model(tmp_path / "model")
    write_jsonl(tmp_path / "corpus.jsonl", papers(3))
    done = ses(
        tmp_path, "index", "--corpus", "jsonl", "--path", tmp_path / "corpus.jsonl", "--model", tmp_path / "model"
    )
    assert done.returncode == 0, done.stderr
    for command in ("install", "diff", "remove"):
        refused = ses(tmp_path, "cluster", command)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr == "Error: The index jsonl is not in a cluster; name one with --engine.\n"
