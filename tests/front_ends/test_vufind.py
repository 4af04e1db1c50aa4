"""The PHP of `examples/vufind.php`, with the parameters that VuFind sends, on real clusters."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.conftest import server_url
from tests.engines.conftest import NEWEST_CLUSTERS
from tests.front_ends.clusters import free_port, on_cluster, product, wait_for

pytestmark = [pytest.mark.serve, pytest.mark.php, pytest.mark.slow]

SCRIPT = Path(__file__).parents[2] / "examples" / "vufind.php"


@pytest.fixture(scope="module", params=NEWEST_CLUSTERS)
def site(request, tmp_path_factory):
    """The index, a function that sends parameters to the script, and one that lets it rank by meaning too."""
    folder = tmp_path_factory.mktemp("php")
    started = []

    def start(**settings):
        port = free_port()
        given = {"SES_CLUSTER": server_url(request.param), "SES_PRODUCT": product(request.param), **settings}
        command = [str(shutil.which("php")), "-S", f"127.0.0.1:{port}", str(SCRIPT)]
        log = (folder / f"log-{port}").open("w")
        started.append((subprocess.Popen(command, env={**os.environ, **given}, stdout=log, stderr=log), log))
        wait_for(port)
        return lambda **asked: httpx.get(f"http://127.0.0.1:{port}/", params=asked, trust_env=False, timeout=30)

    with on_cluster(request.param, folder) as (index, service):
        yield index, start(), start(SES_ENCODE=f"{service}/v1/encode")
        for server, log in started:
            server.terminate()
            server.wait()
            log.close()


def ids(reply):
    assert reply.status_code == 200, reply.text
    return [one["id"] for one in reply.json()["records"]]


def search(index, query="", **options):
    return index.search(query, mode="lexical", verbatim=True, literal=True, title_boost=0, **options)


def test_parameters_of_vufind_search_filter_sort_count_and_page(site):
    index, ask, _ = site
    first = ask(lookfor="galaxy", limit=5, **{"facet[]": ["container_title", "author_facet", "publishDate"]})
    found = search(index, "galaxy", size=5, facets=("venue", "authors", "year"), facet_size=30)
    assert first.json()["resultCount"] == found.candidates
    assert set(ids(ask(lookfor="galaxy", limit=100))) == {hit.id for hit in search(index, "galaxy", size=60)}
    assert ids(ask(lookfor="galaxy", limit=5, page=2)) == ids(ask(lookfor="galaxy", limit=10))[5:]
    for name, field in (("container_title", "venue"), ("author_facet", "authors"), ("publishDate", "year")):
        counts = {one["value"]: one["count"] for one in first.json()["facets"][name] if one["value"] != ""}
        assert counts == dict(found.facets.counts[field])
    for filters, meaning in (
        (['container_title:"The Lancet"'], 'venue == "The Lancet"'),
        (['-container_title:"The Lancet"', "publishDate:[2000 TO *]"], 'not venue == "The Lancet" and year >= 2000'),
        (['~container_title:"The Lancet"', "~container_title:Nature"], 'venue == ("The Lancet", Nature)'),
        (["publishDate:[* TO 1999]", 'author_facet:"Ada Byron"'], 'year <= 1999 and authors == "Ada Byron"'),
    ):
        reply = ask(sort="year", limit=100, **{"filter[]": filters})
        assert ids(reply) == [hit.id for hit in search(index, filter=meaning, sort="-year", size=60)] != []
    assert ids(ask(sort="title")) == [hit.id for hit in search(index, sort="title", size=20)]
    authors = {paper["id"] for paper in ask(lookfor="byron", type="Author", limit=100).json()["records"]}
    assert authors == {hit.id for hit in search(index, filter='authors == "Ada Byron"', size=60)}


def test_a_vector_of_the_service_ranks_by_meaning_too(site):
    index, _, ask = site
    reply = ask(lookfor="galaxy", limit=100)
    assert reply.json()["resultCount"] == len(set(ids(reply))) == 60
    nature = ask(lookfor="galaxy", limit=100, **{"filter[]": ['container_title:"Nature"']})
    assert set(ids(nature)) == {hit.id for hit in search(index, filter="venue == Nature", size=60)}
    assert ids(ask(lookfor="galaxy", sort="year", limit=100)) != ids(reply)


def test_what_is_wrong_is_said_and_nothing_is_query_syntax(site):
    _, ask, _ = site
    for asked, said in (
        ({"type": "Nonsense"}, "AllFields"),
        ({"sort": "id; drop"}, "relevance"),
        ({"filter[]": "secret:x"}, "author_facet"),
        ({"facet[]": "secret"}, "author_facet"),
        ({"lookfor[]": "x"}, "lookfor"),
        ({"lookfor": "x" * 2001}, "lookfor"),
    ):
        reply = ask(**asked)
        assert (reply.status_code, reply.json()["status"]) == (400, "ERROR"), asked
        assert said in reply.json()["statusMessage"]
    assert ids(ask(lookfor='xyzzy" OR *:* AND "')) == []
    assert ask(limit=100_000, page=100_000).status_code == 200
