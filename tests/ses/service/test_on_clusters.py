"""The service over a real cluster: the pages are those of Python, and of the browser."""

from __future__ import annotations

import httpx
import pytest

import ses
from tests.browsing import started_browser
from tests.conftest import server_url
from tests.engines.conftest import empty
from tests.ses.service.test_attacks import serving
from tests.ses.service.test_cursors import read_all
from tests.tiny import papers

pytestmark = [pytest.mark.serve, pytest.mark.slow]


@pytest.fixture(scope="module")
def over(request, tmp_path_factory, small_model):
    """A library of 80 papers on a real cluster, and the address of a service over it."""
    folder = tmp_path_factory.mktemp("cluster")
    library = ses.open(
        server_url(request.param),
        model=small_model,
        data_dir=folder / "data",
        cache_dir=folder / "cache",
        index="papers",
    )
    empty(library._engine)
    library.index("papers", papers(80))
    with serving(library) as (host, port):
        yield library["papers"], f"http://{host}:{port}"
    empty(library._engine)


def lanes(*names):
    return pytest.mark.parametrize(
        "over", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in names], indirect=True
    )


def found(reply):
    assert reply.status_code == 200, reply.text
    return [hit["paper"]["id"] for hit in reply.json()["hits"]]


@lanes("opensearch", "elasticsearch9")
def test_searches_are_those_of_python(over):
    index, address = over
    with httpx.Client(base_url=address, trust_env=False, timeout=60) as client:
        for asked in (
            {"query": "virus lung", "size": 20, "facets": ["venue", "year"]},
            {"query": "protein", "mode": "lexical", "filter": "year>=2000", "sort": "year"},
            {"query": "", "facets": ["fields"]},
        ):
            reply, page = client.get("/v1/search", params=asked), index.search(**asked)
            assert found(reply) == [hit.id for hit in page]
            assert reply.json()["candidates"] == page.candidates
            counted = page.facets.counts if page.facets else {}
            shown = (reply.json()["facets"] or {"counts": {}})["counts"]
            assert shown == {name: [list(one) for one in values] for name, values in counted.items()}
        assert found(client.get("/v1/similar/p00007")) == [hit.id for hit in index.similar("p00007")]
        values = client.get("/v1/facets/venue", params={"value": "lan"}).json()["values"]
        assert [one["value"] for one in values] == ["The Lancet"]
        assert client.get("/v1/papers/p00007").json()["paper"]["title"] == index.show("p00007").title
        texts = [one["text"] for one in client.get("/v1/suggest", params={"query": "lis"}).json()["authors"]]
        assert texts == ["Lise Meitner"]
        etag = client.get("/v1/search", params={"query": "virus"}).headers["ETag"]
        assert client.get("/v1/search", params={"query": "virus"}, headers={"If-None-Match": etag}).status_code == 304


@lanes("opensearch", "elasticsearch9")
def test_a_cursor_reaches_every_paper_once(over):
    index, address = over
    asked = {"query": "virus lung", "size": 17}
    with httpx.Client(base_url=address, trust_env=False, timeout=60) as client:
        read = [hit["paper"]["id"] for answer in read_all(client, **asked) for hit in answer["hits"]]
    assert read == [hit.id for hit in index.iterate("virus lung")]
    assert len(read) == len(set(read)) > 60


@lanes("opensearch")
@pytest.mark.browser
def test_a_browser_searches_narrows_and_opens_a_paper(over):
    index, address = over
    with started_browser() as browser:
        page = browser.new_page()
        page.goto(f"{address}/")
        page.get_by_role("combobox").fill("virus")
        page.get_by_role("combobox").press("Enter")
        page.wait_for_url("**query=virus*")
        first = index.search("virus")[0]
        assert first.title in page.inner_text("main")
        page.get_by_role("checkbox", name="Nature").check()
        page.wait_for_selector(".chip")
        narrowed = index.search("virus", filter="venue=Nature")
        page.get_by_role("link", name=narrowed[0].title, exact=True).first.click()
        page.wait_for_selector("h1")
        assert narrowed[0].title in page.inner_text("h1")
