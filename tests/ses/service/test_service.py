"""The service over an index that others change meanwhile: answers are those of Python, and soon those of now."""

from __future__ import annotations

import dataclasses
import threading
import time

import pytest

import ses
from corpora.errors import NotFoundError, UnavailableError
from corpora.paper import Paper
from products.feeds.feed import Feed
from ses.indexes.open_index import OpenIndex
from ses.service.run import _check_default
from ses.service.service import Service, answer_bytes
from ses.service.settings import ServiceSettings
from tests.serving import service_over
from tests.tiny import papers

pytestmark = pytest.mark.serve


@pytest.fixture
def other(tmp_path, small_model):
    """A library in which another program works; it has no index yet."""
    return ses.open(tmp_path / "indexes", model=small_model, data_dir=tmp_path / "data", cache_dir=tmp_path / "cache")


@pytest.fixture
def service(other):
    """A service over it that looks at an index at each request."""
    made = Service(ses.Library(other._settings), ServiceSettings(fresh_seconds=0))
    yield made
    made.close()


def ids(page):
    return [hit.id for hit in page]


@pytest.mark.slow
def test_what_another_program_publishes_updates_and_drops_is_seen(other, service):
    with pytest.raises(NotFoundError, match="no index"):
        service.opened()
    other.index("a", papers(40), fields={"shelf": "keyword"})
    revisions = {service.revision()}
    asked = ("virus", {"mode": "lexical", "size": 30})
    assert ids(service.search("", *asked)) == ids(other["a"].search(asked[0], **asked[1]))
    other.update("a", {"p00003": {"shelf": "north"}})
    revisions.add(service.revision("a"))
    assert ids(service.search("", "", {"filter": "shelf=north"})) == ["p00003"]
    for seed in (1, 2, 3):  # the third one deletes the files of the first
        other.index("a", papers(30, seed=seed), fresh=True)
        revisions.add(service.revision())
        assert ids(service.search("", *asked)) == ids(other["a"].search(asked[0], **asked[1]))
    other.rollback("a")
    assert service.opened().index.generation == 3
    other.index("b", papers(5))
    other.use("b")
    assert service.opened().name == "b"
    revisions.add(service.revision())
    assert len(revisions) == 6
    other.drop("a")
    with pytest.raises(NotFoundError):
        service.search("a", *asked)
    other.index("a", papers(20, seed=9))
    assert ids(service.search("a", *asked)) == ids(other["a"].search(asked[0], **asked[1]))


@pytest.mark.slow
def test_readers_get_right_answers_while_the_index_is_replaced(other):
    """Each generation has its own year, so a page that mixes two is seen."""
    with_year = lambda year: [{"id": p.id, "title": p.title, "abstract": p.abstract, "year": year} for p in papers(60)]  # noqa: E731
    other.index("a", with_year(2000))
    service = Service(ses.Library(other._settings), ServiceSettings(fresh_seconds=0.01, page_cache=0))
    wrong, stop, seen = [], threading.Event(), set()

    def read():
        while not stop.is_set():
            try:
                page = service.search("a", "virus", {"mode": "lexical", "size": 60, "facets": "year"})
                years = {hit.paper.year for hit in page}
                seen.update(years)
                if len(years) != 1 or {value for value, _ in page.facets.counts["year"]} != years:
                    wrong.append(years)
            except Exception as error:  # noqa: BLE001 - any is a lost answer
                wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for one in threads:
        one.start()
    for year in range(2001, 2006):
        other.index("a", with_year(year), fresh=True)
        while year not in seen and not wrong:
            time.sleep(0.01)
    stop.set()
    for one in threads:
        one.join()
    service.close()
    assert wrong == []
    assert seen == set(range(2000, 2006))


@pytest.mark.slow
def test_a_page_is_kept_until_the_index_changes(other, service):
    other.index("a", papers(40))
    first = service.search("", "virus lung", {"size": 5})
    assert service.search("a", "virus lung", {"size": 5}) is first
    assert service.search("", "virus lung", {"size": 6}) is not first
    assert service.similar("", "p00001", {}) is service.similar("", "p00001", {})
    other.index("a", papers(41))
    again = service.search("", "virus lung", {"size": 5})
    assert again is not first


def test_no_page_map_or_feed_of_before_is_shown_once_the_papers_have_changed(other, service):
    """Each version has papers of its own, and the cache keeps answers for a minute."""
    for generation in (1, 2):
        held = [Paper(f"{generation}-{n}", f"A virus of the lung {n}") for n in range(8)]
        other.index("a", [Paper("liked", "A virus"), *held], fresh=True)
        for answers in (
            [hit.id for hit in service.search("", "virus", {"mode": "lexical"})],
            [hit.id for hit in service.similar("", "liked", {})],
            [hit.id for hit in service.similar_text("", "A virus", {})],
            [point.paper.id for point in service.map("", "virus", {"mode": "lexical"}).points],
        ):
            assert {one for one in answers if one != "liked"} == {one.id for one in held}


@pytest.mark.slow
def test_a_map_and_a_feed_are_made_once(other, service):
    other.index("a", papers(40))
    first = service.map("", "virus", {"size": 10})
    assert service.map("a", "virus", {"size": 10}) is first
    assert service.map("a", "virus", {"size": 9}) is not first
    feed = Feed("a", "", ("p00001",))
    made = [service.feed(feed, list, size=size) for size in (5, 5, 6)]
    assert made[0] is made[1]
    assert made[0] is not made[2]
    other.index("a", papers(41))
    assert service.map("", "virus", {"size": 10}) is not first
    assert service.feed(feed, list, size=5) is not made[0]


def test_a_query_is_encoded_once(other, service):
    other.index("a", papers(10))
    encoder = service.opened().models.of_leg(service.opened().index)
    first = encoder.encode(["virus"])
    first[:] = 0  # what a caller does with it is its own
    assert encoder.encode(["virus"]).any()
    text = service.metrics.text().decode()
    assert 'ses_cache_total{cache="vectors",result="hit"} 1.0' in text
    assert 'ses_encoded_texts_total{format="prx"} 1.0' in text


@pytest.mark.slow
def test_an_engine_that_is_away_is_found_again(other, service, tmp_path, monkeypatch):
    other.index("a", papers(10))
    assert len(service.search("", "virus", {"mode": "lexical"})) > 0
    (tmp_path / "indexes").rename(tmp_path / "away")
    (tmp_path / "indexes").write_text("no folder")
    with pytest.raises(UnavailableError, match="is missing"):
        service.search("a", "lung", {"mode": "lexical"})
    (tmp_path / "indexes").unlink()
    (tmp_path / "away").rename(tmp_path / "indexes")
    monkeypatch.setattr("ses.service.index_watcher.AWAY_SECONDS", 0)
    while True:
        try:
            assert len(service.search("a", "lung", {"mode": "lexical"})) > 0
            break
        except UnavailableError:
            time.sleep(0.05)


@pytest.mark.slow
def test_a_service_is_ready_when_the_default_index_was_searched(other, service):
    with pytest.raises(UnavailableError, match="just started"):
        service.ready()
    service.warm()
    while True:
        try:
            service.ready()
        except NotFoundError:
            break
        except UnavailableError:
            time.sleep(0.01)
    other.index("a", papers(10))
    while True:
        try:
            assert service.ready() == "a"
            break
        except NotFoundError:
            time.sleep(0.01)


@pytest.mark.slow
def test_a_second_index_changes_nothing_until_somebody_chooses_it(other):
    from starlette.testclient import TestClient

    other.index("first", papers(10))
    asked = ("/", "/help", "/tags", "/papers/p00001", "/map", "/v1/search?query=virus", "/v1/suggest?query=v")
    for again in (False, True):  # as the service runs, and in one that starts then
        with TestClient(service_over(other, fresh_seconds=0)) as client:
            while client.get("/readyz").status_code != 200:
                time.sleep(0.01)
            if not again:
                other.index("second", papers(12))
                other.index("first", papers(11), fresh=True)
            for path in asked:
                answer = client.get(path)
                assert answer.status_code == 200, (path, answer.text)
            assert client.get("/readyz").json()["index"] == "first"
            assert client.get("/v1/search").json()["index"] == "first"
            assert client.post("/v1/encode", json={"texts": ["virus"]}).status_code == 200
            assert client.post("/v1/embeddings", json={"input": "virus"}).status_code == 200
    _check_default(other)  # `ses serve` begins with it
    other.use("second")
    with TestClient(service_over(other, fresh_seconds=0)) as client:
        assert client.get("/v1/search").json()["index"] == "second"


def test_suggestions_are_read_when_the_service_is_ready(other, service, monkeypatch):
    other.index("a", papers(10))
    read = threading.Event()

    def complete(opened, text, *, size=5):
        assert service.ready() == "a"
        read.set()

    monkeypatch.setattr(OpenIndex, "complete", complete)
    service.warm()
    assert read.wait(30)


def test_the_groups_of_routes_are_imported_when_the_service_is_ready(other, service):
    other.index("a", papers(10))
    ready, imported = [], threading.Event()

    def after():
        ready.append(service.ready())
        imported.set()

    service.warm(after)
    assert imported.wait(30)
    assert ready == ["a"]


def test_a_revision_changes_with_settings_that_change_answers(other, service, tmp_path):
    other.index("a", papers(10))
    words = tmp_path / "synonyms.txt"
    words.write_text("flu, influenza\n")
    settings = dataclasses.replace(other._settings, synonyms=words)
    same, changed = (Service(ses.Library(one), ServiceSettings()) for one in (other._settings, settings))
    assert same.revision() == service.revision()
    assert changed.revision() != service.revision()
    same.close()
    changed.close()


def test_the_size_of_a_page_grows_with_its_hits_and_texts(other):
    other.index("a", papers(40))
    searched = [other["a"].search("virus", mode="lexical", size=size) for size in (1, 10)]
    sizes = [answer_bytes(one) for one in searched]
    assert 6_000 < sizes[0] < sizes[1] < 40 * 20_000
    counted = other["a"].search("virus", mode="lexical", size=1, facets="year")
    assert answer_bytes(counted) == sizes[0] + 200 * len(counted.facets.counts["year"])
    assert 6_000 * 11 < answer_bytes(other["a"].map("virus", size=10, projection="pca")) < 40 * 20_000
    assert 6_000 * 11 < answer_bytes(other.feeds.preview(index="a", liked=["p00001"], size=10)) < 40 * 20_000
