"""An owner copies an attached index into a new one, and moves the alias."""

from __future__ import annotations

import pytest

from corpora.errors import UnavailableError
from tests.engines.conftest import every_version
from tests.engines.foreign import ALIAS, ATTACHED, INDEXES, MAPPING, drop

NEW = "catalogue-new"


@pytest.fixture
def copy(server):
    """A function that copies the first index of the catalogue as its owner would."""

    def copied(mapping, excludes=()):
        knn = {"settings": {"index.knn": True}} if server.cluster.product.kind == "opensearch" else {}
        settings = server.cluster.call("GET", f"/{INDEXES[0]}/_settings")[INDEXES[0]]["settings"]["index"]["analysis"]
        body = {"settings": {**knn.get("settings", {}), "index.number_of_replicas": 0, "analysis": settings}}
        server.cluster.call("PUT", f"/{NEW}", {**body, "mappings": mapping})
        asked = {"source": {"index": INDEXES[0], "_source": {"excludes": list(excludes)}}, "dest": {"index": NEW}}
        return server.cluster.call("POST", "/_reindex", asked, params={"refresh": True})

    def away():
        server.cluster.call("DELETE", f"/{NEW}", params={"ignore_unavailable": True})

    away()
    yield copied
    away()
    drop(server.cluster)


def move(cluster):
    old = [{"remove": {"index": INDEXES[0], "alias": ALIAS}}]
    cluster.call("POST", "/_aliases", {"actions": [*old, {"add": {"index": NEW, "alias": ALIAS}}]})


def scores(index):
    """The papers near a query; an engine rounds the same vectors otherwise where they are in other segments."""
    hits = index.search("virus", mode="vector", size=60)
    assert len(hits) == 60
    return {hit.id: hit.legs["prx"].raw for hit in hits}


@every_version
def test_an_owner_reindexes_without_downtime(server, library, attached, copy):
    copy(MAPPING, ["ses"])
    before = scores(attached)
    library.attach(NEW, **ATTACHED, name="moving")
    move(server.cluster)
    assert scores(library[ALIAS]) == pytest.approx(before, abs=0.01)
    done = library.detach("moving")
    assert (done.restored, done.shared) == (0, (ALIAS,))
    report = library.follow(ALIAS)
    assert (report.new, report.updated, report.unchanged) == (0, 0, 60)
    assert scores(library[ALIAS]) == pytest.approx(before, abs=0.01)


@every_version
def test_copied_vectors_are_told_with_the_way_out(server, library, attached, copy):
    copy({**MAPPING, "dynamic": True})
    move(server.cluster)
    told = (
        rf"The index {NEW}, to which {ALIAS} leads, has the field ses of another index .*_reindex.*; copy .* Reindexing"
    )
    for act in (lambda: library[ALIAS].search("virus"), lambda: library.follow(ALIAS)):
        with pytest.raises(UnavailableError, match=told):
            act()
    library.attach(NEW, **ATTACHED, name="copied")
    assert "has a copy of the field ses of another index" in library.describe("copied").attached
    assert library["copied"].search("virus", mode="vector").hits
