"""Requests to copy, sent again by their reader: each gives the page that ses shows."""

from __future__ import annotations

import json
from unittest.mock import ANY

import pytest

import ses
from corpora.errors import InputError
from tests.commands import ses as command
from tests.engines.conftest import CLUSTERS, NEWEST_CLUSTERS, emptied
from tests.engines.copying import languages, run, run_with_client
from tests.tiny import make_model, papers

SHOWN = {"filter": "year>=2000 and not journal=Nature", "facets": ["journal", "year"], "size": 4, "offset": 3}
PAGES = {
    "hybrid": {"query": "virus lung", "weights": {"lexical": 0.7}, **SHOWN},
    "lexical": {"query": "virus lung", "mode": "lexical", **SHOWN},
    "vector": {"query": "virus lung", "mode": "vector"},
    "listing": {"query": "", **SHOWN},
    "facets": {"query": "virus lung", "size": 0, "facets": ["journal"]},
    "similar": {"similar": "p00003", "mode": "hybrid", "filter": "year>=2000"},
}
"""The calls whose requests are sent again."""


@pytest.fixture(scope="module", params=NEWEST_CLUSTERS)
def library(request, tmp_path_factory):
    """A library of each server, with an index that the tests only read."""
    for server in emptied(request.param, None):
        folder = tmp_path_factory.mktemp("requests")
        model = make_model(folder / "model")
        library = ses.open(server.url, model=str(model), data_dir=folder, cache_dir=folder / "cache")
        library.index("papers", [*papers(60), ses.Paper("unique", "Unicum where a<b & c")])
        yield library


def asked(library, call, **more):
    """The page of ses for a call, and its requests."""
    options = {"neighbours": 0, **call, **more}
    parameters = options.pop("parameters", ())
    like, query = options.pop("similar", ""), options.pop("query", "")
    index = library["papers"]
    page = index.similar(like, **options) if like else index.search(query, **options)
    return page, library.cluster.request(query, index="papers", similar=like, parameters=parameters, **options)


def check(page, reply, *, ordered=True):
    """Check that a reply has the papers and counts of a page, and marks the words."""
    replies = reply.get("responses", [reply])
    hits = [hit for one in replies for hit in one["hits"]["hits"]]
    expected = [hit.id for hit in page]
    assert [hit["_id"] for hit in hits] == expected if ordered else {hit["_id"] for hit in hits} == set(expected)
    assert {hit["_id"]: hit["_source"]["title"] for hit in hits} == {hit.id: hit.title for hit in page}
    total, counts = counts_of(replies)
    if page.facets:
        assert total == page.facets.matches
    counted = {name: [b["doc_count"] for b in found["buckets"]][:10] for name, found in counts.items()}
    held = page.facets.counts if page.facets else {}
    assert counted == {name: [count for _, count in values] for name, values in held.items()}
    return hits


def counts_of(replies):
    """The total and the facets of a page, wherever its replies have them."""
    last = replies[-1]
    counts = last.get("aggregations", {})
    if "all" in counts:
        return counts["all"]["matches"].pop("doc_count"), counts["all"]["matches"]
    return last["hits"]["total"]["value"], counts


def test_marked_texts_are_html(library, tmp_path):
    requests = library.cluster.request("unicum", index="papers", mode="lexical")
    (reply,) = run("curl", requests.text(), tmp_path)
    (hit,) = reply["hits"]["hits"]
    assert hit["highlight"]["title"] == ["<em>Unicum</em> where a&lt;b &amp; c"]
    assert hit["_source"].keys() == {"id", "title", "origins"}


@pytest.mark.parametrize("fusion", ["minmax", "rrf"])
@pytest.mark.parametrize("language", languages("curl"))
def test_scripts_let_neighbours_count(library, language, fusion, tmp_path):
    options = {**PAGES["hybrid"], "neighbours": 0.6, "fusion": fusion}
    page, requests = asked(library, options)
    assert [one.why for one in requests.requests][1:] == ["The vectors of the best papers", ANY]
    product = library["papers"].index.cluster.product
    printed = (
        run_with_client(product, requests, tmp_path)
        if language == "python"
        else run(language, requests.text(language), tmp_path)
    )
    hits = check(page, *printed)
    assert [hit["_score"] for hit in hits] == pytest.approx([hit.score for hit in page], abs=1e-6)
    without, _ = asked(library, options, neighbours=0)
    assert [hit.id for hit in without] != [hit.id for hit in page]
    assert not requests.notes


def test_neighbours_count_by_default_where_the_sender_joins_legs(library):
    assert library.cluster.request("virus lung", index="papers").script.neighbours.weight == 0.3
    for left in ({"neighbours": 0}, {"join": "engine"}, {"mode": "lexical"}):
        assert library.cluster.request("virus lung", index="papers", **left).script.neighbours is None
    for call, told in (({"join": "engine"}, True), ({"join": "engine", "neighbours": 0}, False), ({}, False)):
        notes = library.cluster.request("virus lung", index="papers", **call).notes
        assert any("no step of it reads the vectors" in note for note in notes) == told
    with pytest.raises(InputError, match="joins the legs in one request, so neighbours"):
        library.cluster.request("virus", index="papers", join="engine", neighbours=0.2)


def test_texts_that_only_hold_requests_say_how_neighbours_count(library):
    page = library["papers"].search("virus lung")
    requests = library.cluster.request("virus lung", index="papers")
    document = json.loads(requests.text("json"))
    field = library["papers"].index.schema.leg("prx").name
    counting = {"weight": 0.3, "pool": 50, "nearest": 5, "first": pytest.approx(1 / 3), "scaled": True, "field": field}
    assert document["neighbours"] == counting
    assert [one["for"].split()[1] for one in document["requests"]] == ["legs:", "vectors", "papers"]
    best = document["requests"][1]["lines"][0]["query"]["terms"]["id"]
    assert len(best) == 50
    assert {hit.id for hit in page} <= set(best)
    console = requests.text("http")
    assert console.count("POST /papers/_") == 3
    assert "# Then neighbours count; these are the papers that were found now." in console
    shell = requests.text("curl")
    assert shell.count("curl -sS") == 2
    assert "Neighbours count too, by the vectors of the best 50 papers; that request is left out here." in shell
    plain = library.cluster.request("virus lung", index="papers", neighbours=0)
    assert json.loads(plain.text("json"))["neighbours"] is None
    assert set(plain.script.values) == {"ids", "found", "vector", "words"}
    assert not any("eighbours" in plain.text(language) for language in ("curl", "http", "python"))


@pytest.mark.parametrize("name", PAGES)
def test_curl_gets_the_page(library, name, tmp_path):
    page, requests = asked(library, PAGES[name])
    assert bool(page.hits) == (name != "facets")
    joined = len(requests.requests) == 2
    assert joined == (name in ("hybrid", "facets", "similar"))
    hits = check(page, run("curl", requests.text(), tmp_path)[-1], ordered=not joined)
    if name in ("hybrid", "lexical"):
        marked = [text for hit in hits for texts in hit.get("highlight", {}).values() for text in texts]
        assert any("<em>virus</em>" in text or "<em>lung</em>" in text for text in marked)
    assert not requests.notes


# Python's clients take a second to import; see below.
@pytest.mark.parametrize("language", languages("curl", "python"))
def test_scripts_get_the_page_in_its_order(library, language, tmp_path):
    page, requests = asked(library, PAGES["hybrid"])
    hits = check(page, *run(language, requests.text(language), tmp_path))
    assert [hit["_score"] for hit in hits] == pytest.approx([hit.score for hit in page], abs=1e-6)


# A page without facets says how many papers match too, and so does one whose counts are in an aggregation of their own.
@pytest.mark.parametrize("name", ["similar", "vector", "hybrid", "lexical"])
@pytest.mark.parametrize("language", languages("curl", "python"))
def test_scripts_have_the_total_where_a_search_has_it(library, language, name, tmp_path):
    call = {**PAGES[name], "join": "engine"} if name == "hybrid" else PAGES[name]
    page, requests = asked(library, call, facets=["journal"])
    _, without = asked(library, call, facets=[])
    for printed, counts in ((requests, 1), (without, 0)):
        (reply,) = run(language, printed.text(language), tmp_path)
        assert reply["hits"]["total"] == {"value": page.facets.matches, "relation": "eq"}
        assert len(reply.get("aggregations", {})) == counts
    assert "in the index papers" in without.text(language)


def test_facets_have_the_names_that_were_asked_for(library, tmp_path):
    call = {"query": "virus lung", "facets": ["journal", "venue"], "size": 2}
    for join in ("ses", "engine"):
        _, requests = asked(library, call, join=join)
        replies = run("curl", requests.text(), tmp_path)[-1]
        _, counts = counts_of(replies.get("responses", [replies]))
        assert counts["journal"]["buckets"] == counts["venue"]["buckets"] != []


def test_one_request_joins_the_legs_in_the_cluster(library, tmp_path):
    page, requests = asked(library, PAGES["hybrid"], join="engine")
    assert len(requests.requests) == 1
    (reply,) = run("curl", requests.text(), tmp_path)
    if library["papers"].index.cluster.product.kind == "opensearch":
        check(page, reply)
        assert not requests.notes
    else:
        assert len(reply["hits"]["hits"]) == 4
        assert requests.notes == ("Elasticsearch adds up the scores of the legs, so the order is not that of ses.",)


@pytest.mark.parametrize("library", CLUSTERS, indirect=True, scope="module")
def test_vector_and_words_are_left_to_the_sender(library, tmp_path):
    page, requests = asked(library, {"query": "virus", "verbatim": True}, parameters=["vector", "words"])
    other, same = asked(library, {"query": "lung", "verbatim": True})
    (tmp_path / "vector.json").write_text(json.dumps(same.script.values["vector"]))
    text = requests.text("python")
    assert text.count("virus") == 1
    assert "vector.json holds the vector of the words, a JSON array of" in text
    product = library["papers"].index.cluster.product
    check(other, *run_with_client(product, requests, tmp_path, change=("virus", "lung")))
    assert [hit.id for hit in other] != [hit.id for hit in page]


def test_the_command_prints_them(library, tmp_path):
    url = library["papers"].index.cluster.url
    settings = {"SES_ENGINE": url, "SES_MODEL": str(library._settings.model)}
    asked = ("virus", "lung", "--size", "3", "--index", "papers")
    done = command(tmp_path, "cluster", "request", *asked, "--neighbours", "0", **settings)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == library.cluster.request("virus lung", size=3, neighbours=0).text()
    options = ("--similar", "p00001", "--as", "json", "--parameter", "vector")
    document = json.loads(command(tmp_path, "cluster", "request", *options, **settings).stdout)
    assert document["parameters"] == ["vector"]
    both = command(tmp_path, "cluster", "request", "virus", "--similar", "p00001", **settings)
    assert (both.returncode, both.stderr.count("\n")) == (2, 1)


def test_what_no_request_can_hold_is_refused(library):
    for call, why in (
        ({"sort": "year"}, "ses follows sort itself"),
        ({"rerank": "complete"}, "ses follows rerank itself"),
        ({"collapse": "journal"}, "ses follows collapse itself"),
        ({"fusion": "zscore"}, "There is no code to join legs by zscore"),
        ({"size": 0}, "neither papers nor facets"),
        ({"offset": 90}, "No paper was found for this page"),
        ({"parameters": ["words"]}, "searched in other spellings too"),
        ({"mode": "lexical", "parameters": ["vector"]}, "This search has no vector"),
        ({"mode": "vector", "parameters": ["words"]}, "This search has no words"),
    ):
        with pytest.raises(InputError, match=why):
            library.cluster.request("virus", index="papers", **call)


def test_what_ses_does_beside_the_requests_is_said(library):
    for query, mode, why in (
        ("papers by Ada Byron about virus", "hybrid", ["ses moves up papers"]),
        ("papers by Ada Byron about virus", "lexical", ["ses moves up papers"]),
        ("virus doi:10.1/x", "hybrid", ["No paper has the DOI"]),
    ):
        requests = library.cluster.request(query, index="papers", mode=mode, neighbours=0)
        assert [note[: len(start)] for note, start in zip(requests.notes, why, strict=True)] == why
        # The name of the index stays the same when another version is published.
        assert {one.path.partition("?")[0].rpartition("/")[0] for one in requests.requests} == {"/papers"}
    # The page may have more papers for other words.
    short = library.cluster.request("virus", index="papers", filter="id in (p00001, p00002)", size=7)
    assert short.requests[-1].body[1]["size"] == 7
    with pytest.raises(InputError, match="The query only names papers"):
        library.cluster.request("p00003", index="papers")


def test_an_embedded_index_has_no_requests(tmp_path):
    library = ses.open(data_dir=tmp_path, cache_dir=tmp_path / "cache", model=str(make_model(tmp_path / "model")))
    library.index("papers", papers(3))
    with pytest.raises(InputError, match="The index papers is not in a cluster"):
        library.cluster.request("virus")
