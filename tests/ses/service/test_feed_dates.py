"""The time that feeds show: when the papers changed, the same for all processes, and not when somebody asks."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from lxml import etree

import ses
from ses.service.changes import Changes
from tests.serving import service_over
from tests.tiny import papers

pytestmark = pytest.mark.serve

UPDATED = "{http://www.w3.org/2005/Atom}updated"


def at(seconds):
    return datetime.fromtimestamp(seconds, UTC)


def test_a_revision_has_the_time_at_which_it_was_seen_first(tmp_path, monkeypatch):
    clock = [1_000.7]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    one, other = Changes(tmp_path / "a"), Changes(tmp_path / "a")
    assert one.changed_at("x", "1", 500.2) == at(500)
    assert one.changed_at("x", "1", 900.0) == at(500)
    assert other.changed_at("x", "1", 900.0) == at(500)
    assert one.changed_at("y", "1", 0) == at(1000)
    clock[0] = 2_000.0
    assert one.changed_at("x", "2", 500.0) == at(2000)
    clock[0] = 3_000.0
    assert other.changed_at("x", "2", 500.0) == at(2000)
    assert Changes(tmp_path / "a").changed_at("x", "2", 500.0) == at(2000)
    assert one.changed_at("y", "1", 0) == at(1000)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"revision": "1", "seen": "x"}'])
def test_a_damaged_file_is_written_again(tmp_path, content):
    Changes(tmp_path).changed_at("x", "1", 5.0)
    (path,) = tmp_path.iterdir()
    path.write_text(content)
    assert Changes(tmp_path).changed_at("x", "1", 7.0) == at(7)
    assert Changes(tmp_path).changed_at("x", "1", 8.0) == at(7)


def test_times_are_kept_in_memory_where_they_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    changes = Changes(tmp_path / "file" / "folder")
    assert changes.changed_at("x", "1", 5.0) == at(5)
    assert changes.changed_at("x", "1", 6.0) == at(5)
    assert changes.changed_at("x", "2", 6.0) > at(6)


@pytest.mark.slow
def test_feeds_have_the_time_of_the_papers_and_an_etag(tmp_path, small_model):
    from starlette.testclient import TestClient

    library = ses.open(
        tmp_path / "indexes", model=small_model, data_dir=tmp_path / "data", cache_dir=tmp_path / "cache"
    )
    library.index("a", papers(20))
    library.feeds.create("air", index="a", liked=["p00001"])
    published = library.describe("a").published.replace(microsecond=0).isoformat().replace("+00:00", "Z")
    places = ("/search.atom?query=virus", "/feeds/like.atom?id=p00001", "/v1/feeds/air.atom")

    def asked(client):
        answers = [client.get(place) for place in places]
        assert [one.status_code for one in answers] == [200] * 3
        for place, answer in zip(places, answers, strict=True):
            assert client.get(place, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
        return [etree.fromstring(one.content).findtext(UPDATED) for one in answers], [one.content for one in answers]

    for _ in range(2):  # also after a start
        with TestClient(service_over(library, fresh_seconds=0)) as client:
            time.sleep(1.1)
            first = asked(client)
            assert first[0] == [published] * 3
    with TestClient(service_over(library, fresh_seconds=0)) as client:
        assert asked(client) == first
        before = client.get(places[0]).headers["etag"]
        library.index("a", papers(21))
        changed = client.get(places[0], headers={"If-None-Match": before})
        assert changed.status_code == 200
        times, _ = asked(client)
        assert min(times) > published
        assert max(times) == min(times)
        time.sleep(1.1)
        library.feeds.add("air", liked=["p00002"])
        later, _ = asked(client)
        assert later[:2] == times[:2]
        assert later[2] > times[2]
