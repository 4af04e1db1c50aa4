"""The engine away, slow and back again: 503 at once with Retry-After, no wrong page, and no restart."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import pytest
from starlette.testclient import TestClient

import ses
from ses.service import index_watcher
from ses.service.app import make_app
from ses.service.service import Service
from ses.service.settings import load_service_settings
from tests.engines.conftest import empty
from tests.faults import ALWAYS, FaultProxy
from tests.tiny import papers

pytestmark = [pytest.mark.serve, pytest.mark.slow]

ASKED = {"query": "virus lung", "size": 20, "facets": ["venue", "year"]}


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """An engine that was away is looked for again at once."""
    monkeypatch.setattr(index_watcher, "AWAY_SECONDS", 0.0)


@contextmanager
def served(library, *, fresh_seconds=0, **settings):
    """A client of a service over the library that has searched nothing yet."""
    with TestClient(
        make_app(
            Service(ses.Library(library._settings), load_service_settings(fresh_seconds=fresh_seconds, **settings))
        ),
        raise_server_exceptions=False,
    ) as client:
        while client.get("/readyz").status_code != 200:
            time.sleep(0.02)
        yield client


def shown(reply):
    body = reply.json()
    return [(hit["paper"]["id"], round(hit["score"], 5)) for hit in body["hits"]], body["facets"]["counts"]


def right(library):
    page = library["papers"].search(**ASKED)
    counts = {name: [list(one) for one in values] for name, values in page.facets.counts.items()}
    return [(hit.id, round(hit.score, 5)) for hit in page], counts


def assert_away(reply):
    assert reply.status_code == 503
    assert int(reply.headers["Retry-After"]) > 0
    assert reply.json()["detail"].endswith(".")


def until_right(client, expected):
    """Ask until there is an answer, which has to be right; nothing but 503 comes before it."""
    while (reply := client.get("/v1/search", params=ASKED)).status_code != 200:
        assert_away(reply)
        time.sleep(0.05)
    assert shown(reply) == expected


def opened(url, folder, model):
    return ses.open(url, model=model, data_dir=folder / "data", cache_dir=folder / "cache", index="papers")


def test_a_folder_that_is_moved_away_and_back(tmp_path, small_model):
    library = opened(tmp_path / "indexes", tmp_path, small_model)
    library.index("papers", papers(40))
    expected = right(library)
    with served(library, page_cache=0) as client:
        until_right(client, expected)
        (tmp_path / "indexes").rename(tmp_path / "away")
        for path in ("/v1/search", "/v1/papers/p00001", "/v1/indexes", "/v1/similar/p00001", "/"):
            reply = client.get(path, params={} if path == "/v1/indexes" else {"query": "virus"} if path == "/" else {})
            assert reply.status_code == 503, path
            assert int(reply.headers["Retry-After"]) > 0
        assert "is missing; put it back" in client.get("/v1/search", params=ASKED).json()["detail"]
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        (tmp_path / "away").rename(tmp_path / "indexes")
        until_right(client, expected)
        assert client.get("/readyz").status_code == 200


@pytest.fixture
def cluster(request, tmp_path, small_model):
    """A library on a real cluster, through a proxy, and the same without it."""
    from tests.conftest import server_url

    url = server_url(request.param)
    library = opened(url, tmp_path, small_model)
    empty(library._engine)
    library.index("papers", papers(40), fields={"shelf": "keyword"})
    with FaultProxy(url) as proxy:
        yield library, proxy, opened(proxy.url, tmp_path, small_model)
    empty(library._engine)


on_clusters = pytest.mark.parametrize(
    "cluster",
    [pytest.param(lane, marks=getattr(pytest.mark, lane)) for lane in ("opensearch", "elasticsearch9")],
    indirect=True,
)


@pytest.fixture
def hasty(monkeypatch):
    """Searches and looks that do not try again for seconds."""
    from search_plugin.engines.cluster import index, transport

    shortly = transport.RetryPolicy(0.2, 0.1)
    monkeypatch.setattr(index, "READING", shortly)
    monkeypatch.setitem(transport.Cluster.call.__kwdefaults__, "retry", shortly)


@on_clusters
@pytest.mark.parametrize(
    "fault",
    [
        lambda proxy: proxy.cut(times=ALWAYS),
        lambda proxy: proxy.fail(status=503, times=ALWAYS),
        lambda proxy: proxy.fail(status=429, times=ALWAYS, match="search"),
        lambda proxy: proxy.fail(status=502, times=ALWAYS, body=b"<html>Bad Gateway</html>"),
    ],
)
def test_a_cluster_that_is_away_and_back(cluster, hasty, fault):
    library, proxy, through = cluster
    expected = right(library)
    with served(through, page_cache=0) as client:
        until_right(client, expected)
        fault(proxy)
        for _ in range(3):
            assert_away(client.get("/v1/search", params=ASKED))
        assert client.get("/", params={"query": "virus"}).status_code == 503
        proxy.clear()
        until_right(client, expected)


@on_clusters
def test_requests_are_refused_at_once_while_a_cluster_is_known_to_be_away(cluster, hasty, monkeypatch):
    library, proxy, through = cluster
    expected = right(library)
    with served(through, page_cache=0) as client:
        monkeypatch.setattr(index_watcher, "AWAY_SECONDS", 3600.0)
        # A service that is ready still reads the values for suggestions.
        for thread in threading.enumerate():
            if thread.name == "ses-warm":
                thread.join()
        proxy.cut(times=ALWAYS)
        assert_away(client.get("/v1/search", params=ASKED))
        before = len(proxy.requests)
        for _ in range(10):
            assert_away(client.get("/v1/search", params=ASKED))
        assert len(proxy.requests) == before  # nobody waits for a connection that fails
        service = client.app.state.service
        proxy.clear()
        for watcher in service._watchers.values():
            watcher._until = 0.0  # the hour is over
        until_right(client, expected)


@on_clusters
def test_a_cluster_that_is_slow(cluster):
    library, proxy, through = cluster
    expected = right(library)
    with served(through, page_cache=0, request_seconds=0.5) as client:
        proxy.delay(2.0, times=2, match="_")
        reply = client.get("/v1/search", params=ASKED)
        assert_away(reply)
        assert "took longer than 0.5 seconds" in reply.json()["detail"]
        assert client.get("/healthz").status_code == 200
        proxy.clear()
        until_right(client, expected)


def made(year):
    return [{"id": one.id, "title": f"virus {one.title}", "year": year, "shelf": str(year)} for one in papers(30)]


@on_clusters
def test_an_index_that_is_updated_replaced_and_dropped_while_threads_search(cluster):
    """Each version has its own year and each update its own shelf, so a page that mixes two is seen."""
    library, _, _ = cluster
    library.index("papers", made(2000), fields={"shelf": "keyword"}, fresh=True)
    asked = {"query": "virus", "mode": "lexical", "size": 30, "facets": ["year", "shelf"]}
    wrong, seen, stop = [], set(), threading.Event()
    with served(library, fresh_seconds=0.02) as client:

        def read():
            while not stop.is_set():
                reply = client.get("/v1/search", params=asked)
                if reply.status_code == 404 and "dropped" in seen:
                    continue
                if reply.status_code != 200:
                    wrong.append(reply.text)
                    continue
                body = reply.json()
                years = {hit["paper"]["year"] for hit in body["hits"]}
                if len(body["hits"]) != 30 or body["candidates"] != 30 or len(years) != 1:
                    wrong.append(body)
                seen.update(years, {hit["paper"]["extra"]["shelf"] for hit in body["hits"]})

        threads = [threading.Thread(target=read) for _ in range(3)]
        for one in threads:
            one.start()
        try:
            for year in (2001, 2002, 2003):
                library.index("papers", made(year), fields={"shelf": "keyword"}, fresh=True)
                library.update("papers", {one.id: {"shelf": f"new {year}"} for one in papers(30)})
                while f"new {year}" not in seen and not wrong:
                    time.sleep(0.02)
            seen.add("dropped")
            library.drop("papers")
        finally:
            stop.set()
            for one in threads:
                one.join()
        assert wrong == []
        reply = client.get("/v1/search", params=asked)
        assert reply.status_code == 404
        assert "There is no index" in reply.json()["detail"]
        library.index("papers", made(2005), fields={"shelf": "keyword"})
        found = client.get("/v1/search", params=asked).json()
        assert {hit["paper"]["year"] for hit in found["hits"]} == {2005}
