"""Ids that browsers, clients and proxies would change in a path name the same paper everywhere, over a socket."""

import re
from urllib.parse import quote, unquote

import httpx
import pytest

import ses
from corpora.paper import Paper
from corpora.url_names import escaped_name
from ses.assistants.tools import assistant_of
from tests.front_ends.clusters import free_port
from tests.proxying import nginx, nginx_lines
from tests.serving import listening, served, service_over
from tests.tiny import make_model

pytestmark = pytest.mark.serve

IDS = (
    *("a//b", "a/b", "//a", "a/", "/", "../x", "x/..", "a/../b", "./a", ".", "..", "..."),
    *("%2F", "a%2Fb", "a%252Fb", "%", "100%25", "%2e%2E", "a b+c", "é 李", ";a=1@:,", "a.json"),
    "https://x.example/a?b=c#d",
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    model = str(make_model(folder / "model"))
    opened = ses.open(folder / "indexes", model=model, data_dir=folder, cache_dir=folder / "cache")
    opened.index("papers", [Paper(name, f"Virus {number}") for number, name in enumerate(IDS)])
    return opened


@pytest.fixture(
    scope="module", params=["alone", pytest.param("behind nginx", marks=[pytest.mark.slow, pytest.mark.nginx])]
)
def site(request, library, tmp_path_factory):
    if request.param == "alone":
        with served(library) as found:
            yield found
        return
    port = free_port()
    app = service_over(library, public_url=f"http://127.0.0.1:{port}/papers", proxies=["127.0.0.1"])
    folder = tmp_path_factory.mktemp("nginx")
    with (
        listening(app, proxy_headers=False) as (host, inner),
        nginx(folder, nginx_lines("/papers"), f"{host}:{inner}", port),
    ):
        yield f"http://127.0.0.1:{port}/papers"


@pytest.mark.slow
def test_the_client_finds_and_compares_the_paper(library, site):
    with ses.open(site, engine_patience=0) as remote:
        index = remote["papers"]
        assert [index.show(name).id for name in IDS] == list(IDS)
        assert [[one.id for one in index.find(name)] for name in IDS] == [[name] for name in IDS]
        assert [[hit.id for hit in index.similar(name, size=3)] for name in IDS] == [
            [hit.id for hit in library["papers"].similar(name, size=3)] for name in IDS
        ]
        with pytest.raises(ses.SesError, match="None"):
            index.find("None")


@pytest.mark.slow
def test_assistants_and_results_link_to_the_page_of_the_paper(site):
    with ses.open(site, engine_patience=0) as remote:
        places = {name: assistant_of(remote).fetch(name)["url"] for name in IDS}
    with httpx.Client(timeout=60) as client:
        for name, place in places.items():
            assert place.startswith(f"{site}/papers/")
            reply = client.get(place)
            assert (name, reply.status_code) == (name, 200)
            assert re.search(rf"<h1[^>]*>\s*Virus {IDS.index(name)}\s*<", reply.text)
            assert client.get(f"{place}.json").json()["paper"]["id"] == name
            assert client.get(f"{site}/similar/{place.removeprefix(f'{site}/papers/')}").status_code == 200


def test_programs_may_escape_an_id_once(site):
    # Proxies change the others; and what is both an id and the escaped form of another one is taken as the latter.
    others = {name: {*IDS, ".."} - {name} for name in IDS}
    once = [one for one in IDS if "/" not in one and one not in (".", "..") and unquote(one) not in others[one]]
    with httpx.Client(timeout=60) as client:
        found = [client.get(f"{site}/v1/papers/{quote(name, safe='')}").json()["paper"]["id"] for name in once]
        assert found == once
        assert len(found) == 7
        assert client.get(f"{site}/v1/papers/a/b").json()["paper"]["id"] == "a/b"
        assert client.get(f"{site}/v1/similar/{escaped_name('%2F')}").status_code == 200
        assert client.get(f"{site}/v1/papers/b%252Fb").status_code == 404
