"""Vectors of an attached index: written, brought up to date, resumed, removed again."""

from __future__ import annotations

import time

import numpy as np
import orjson
import pytest

from corpora.errors import InputError, StoppedError, UnavailableError
from indexer.block_files import read_block
from indexer.storage import storage_at
from search_plugin.contract.engine import Refused
from search_plugin.engines.cluster import bulk
from search_plugin.engines.cluster.attached.field_mappings import record_of
from search_plugin.engines.cluster.attached.index import AttachedIndex
from tests.commands import ses
from tests.engines.attached.conftest import matching, opened
from tests.engines.conftest import every_version, newest_version
from tests.engines.foreign import ALIAS, ATTACHED, INDEXES, MAPPING, document, drop, make, sources, write
from tests.faults import FaultProxy


@every_version
def test_documents_are_as_they_were_after_detaching(server, library):
    before, mapping = sources(server.cluster), server.cluster.call("GET", f"/{ALIAS}/_mapping")
    library.attach(ALIAS, **ATTACHED)
    during = {key: orjson.loads(source) for key, source in sources(server.cluster).items()}
    assert all(set(source) - {"ses"} == set(orjson.loads(before[key])) for key, source in during.items())
    assert {key: orjson.dumps({n: v for n, v in one.items() if n != "ses"}) for key, one in during.items()} == before
    done = library.detach(ALIAS)
    assert (done.restored, done.left) == (60, INDEXES)
    assert sources(server.cluster) == before
    after = server.cluster.call("GET", f"/{ALIAS}/_mapping")
    for index in INDEXES:
        assert after[index]["mappings"]["properties"].pop("ses")
    assert after == mapping
    assert ALIAS not in library
    assert server.cluster.call("GET", "/ses.attached*") == {}


@newest_version
def test_detaching_passes_over_a_document_that_its_owner_deletes_meanwhile(server, library, attached, monkeypatch):
    strip, deleted = AttachedIndex.strip, []

    def after_deleting(self, hits):
        if not deleted:
            deleted.append(hits[0]["_id"])
            server.cluster.call("DELETE", f"/{hits[0]['_index']}/_doc/{deleted[0]}", params={"refresh": True})
        return strip(self, hits)

    monkeypatch.setattr(AttachedIndex, "strip", after_deleting)
    library.detach(ALIAS)
    assert not any("ses" in orjson.loads(source) for source in sources(server.cluster).values())
    assert len(deleted) == 1
    assert len(sources(server.cluster)) == 59


@newest_version
def test_a_document_that_cannot_be_restored_is_told(server, library, attached, monkeypatch):
    refused = [Refused("id-1", "It is kept."), Refused("id-2", bulk.MISSING)]
    monkeypatch.setattr("search_plugin.engines.cluster.attached.writing.update", lambda *_, **__: refused)
    with pytest.raises(UnavailableError, match="The document id-1 can't be restored: It is kept"):
        library.detach(ALIAS)


@newest_version
def test_an_update_follows_the_owner(server, library, attached):
    cluster = server.cluster
    vectors = attached.index.vectors(["id-1", "id-3", "id-5"], "prx")
    changed = {**document(3), "title_t": "Ocean climate"}
    write(cluster, INDEXES[0], {"id-3": changed, "id-4": document(4)})  # whole, so the vectors are gone
    write(cluster, INDEXES[1], {"id-100": document(100)})
    cluster.call("POST", f"/{INDEXES[0]}/_update/id-5", {"doc": {"title_t": "Galaxy star"}}, params={"refresh": True})
    cluster.call("POST", f"/{INDEXES[0]}/_update/id-6", {"doc": {"pub_year": 2001}}, params={"refresh": True})
    cluster.call("DELETE", f"/{INDEXES[0]}/_doc/id-7", params={"refresh": True})
    assert attached.show("id-6").year == 2001
    assert "id-100" in {hit.id for hit in attached.search(document(100)["title_t"], mode="lexical")}
    with pytest.raises(UnavailableError, match="The document id-100 has no vector yet"):
        attached.similar("id-100")
    report = library.follow(ALIAS)
    assert (report.new, report.updated, report.unchanged, report.papers) == (3, 1, 56, 60)
    now = attached.index.vectors(["id-1", "id-3", "id-5"], "prx")
    assert [bool(np.allclose(now[id_], vectors[id_], atol=1e-5)) for id_ in now] == [id_ == "id-1" for id_ in now]
    assert attached.similar("id-100", size=1).hits
    again = library.follow(ALIAS)
    assert (again.updated, again.unchanged) == (0, 60)


@newest_version
def test_vectors_that_a_slow_cluster_has_written_are_not_written_again(server, library, model, tmp_path, monkeypatch):
    def late(request, forward):
        reply = forward()
        time.sleep(1.5)
        return reply

    monkeypatch.setenv("SES_ENGINE_TIMEOUT", "1")
    with FaultProxy(server.url) as proxy:
        proxy.handle(late, match="_bulk")
        assert opened(proxy, model, tmp_path).attach(ALIAS, **ATTACHED).new == 60
        assert len([one for one in proxy.requests if "_bulk" in one.path]) == 1
    report = library.follow(ALIAS)
    assert (report.new, report.updated, report.unchanged) == (0, 0, 60)


@newest_version
@pytest.mark.parametrize("beside", [False, True])
def test_vectors_are_kept_in_fewer_bits(server, library, beside):
    library.attach(ALIAS, **ATTACHED, beside=beside, quantization="int8")
    kept = "ses.attached.catalogue.v1" if beside else INDEXES[0]
    mapping = server.cluster.call("GET", f"/{kept}/_mapping")[kept]["mappings"]["properties"]
    held = {"prx": mapping["vector_prx"]} if beside else mapping["ses"]["properties"]
    (own,) = (field for name, field in held.items() if name.startswith("prx"))
    encoder = own.get("method", {}).get("parameters", {}).get("encoder", {}).get("name")
    assert (encoder or own["index_options"]["type"]) in ("sq", "int8_hnsw")
    index = library[ALIAS]
    # Candidates of the graph are ranked again by the float vectors.
    pages = [index.search("virus", mode="vector", size=60, exact=exact) for exact in (True, False)]
    assert [hit.id for hit in pages[0]] == [hit.id for hit in pages[1]]
    with pytest.raises(InputError, match="attached with the quantization int8; detach it first, or leave"):
        library.attach(ALIAS, **ATTACHED, quantization="none")
    assert library.attach(ALIAS, **ATTACHED).unchanged == 60
    assert library.follow(ALIAS).unchanged == 60
    library.detach(ALIAS)
    # The unused field stays in the mapping, and is not in the way.
    library.attach(ALIAS, **ATTACHED)
    assert "vectors in its documents" in library.describe(ALIAS).attached


@pytest.fixture
def reads(monkeypatch):
    """The ids of the documents that were read, in order."""
    read = []

    def seen(number, hit, places):
        read.append(hit["_id"])
        return record_of(number, hit, places)

    monkeypatch.setattr("indexer.attaching.record_of", seen)
    return read


@every_version
def test_an_update_reads_what_was_written_since_the_last_one(server, library, reads):
    cluster = server.cluster
    drop(cluster)
    make(cluster, settings={"number_of_shards": 1})
    write(cluster, INDEXES[1], {"untitled": {"pub_year": 2000}})
    library.attach(ALIAS, **ATTACHED)
    reads.clear()
    assert (library.follow(ALIAS).unchanged, reads) == (60, ["untitled"])
    write(cluster, INDEXES[0], {"id-3": {**document(3), "title_t": "Ocean climate"}})
    cluster.call("POST", f"/{INDEXES[0]}/_update/id-5", {"doc": {"title_t": "Galaxy star"}})  # without a refresh
    cluster.call("POST", f"/{INDEXES[1]}/_update/id-50", {"doc": {"pub_year": 2001}})
    reads.clear()
    report = library.follow(ALIAS)
    assert (report.new, report.updated, report.unchanged, report.rejected, report.papers) == (1, 1, 58, 1, 60)
    assert sorted(reads) == ["id-3", "id-5", "id-50", "untitled"]
    reads.clear()
    assert (library.follow(ALIAS).unchanged, reads) == (60, ["untitled"])
    # An index that was made again has changes of its own, and its documents are read.
    cluster.call("DELETE", f"/{INDEXES[1]}")
    settings = cluster.call("GET", f"/{INDEXES[0]}/_settings")[INDEXES[0]]["settings"]["index"]
    kept = {name: settings[name] for name in ("analysis", "knn") if name in settings}
    cluster.call("PUT", f"/{INDEXES[1]}", {"mappings": MAPPING, "settings": {"index": kept}, "aliases": {ALIAS: {}}})
    write(cluster, INDEXES[1], {f"id-{n}": document(n) for n in range(40, 43)})
    reads.clear()
    report = library.follow(ALIAS)
    assert (report.new, report.unchanged, sorted(reads)) == (3, 40, ["id-40", "id-41", "id-42"])
    # Attaching it again may name other fields, so all are read.
    reads.clear()
    assert library.attach(ALIAS, **ATTACHED).unchanged == len(reads) == 43


@newest_version
def test_what_others_write_during_an_update_is_read_by_the_next_one(server, library, attached, monkeypatch):
    cluster, finish = server.cluster, AttachedIndex.finish

    def meanwhile(index):
        finish(index)
        cluster.call("POST", f"/{INDEXES[0]}/_update/id-5", {"doc": {"title_t": "Galaxy star"}})

    monkeypatch.setattr(AttachedIndex, "finish", meanwhile)
    write(cluster, INDEXES[0], {"id-3": {**document(3), "title_t": "Ocean climate"}})
    assert library.follow(ALIAS).new == 1
    monkeypatch.undo()
    assert library.follow(ALIAS).updated == 1
    assert library.follow(ALIAS).unchanged == 60


@every_version
def test_an_index_that_can_not_hold_vectors_gets_a_companion(server, library):
    cluster = server.cluster
    drop(cluster)
    opensearch = cluster.product.kind == "opensearch"
    mapping = MAPPING if opensearch else {**MAPPING, "_source": {"excludes": ["unsearched"]}}
    make(cluster, knn=False, mapping=mapping)
    before = sources(cluster)
    report = library.attach(ALIAS, **ATTACHED)
    assert (report.new, report.papers) == (60, 60)
    assert sources(cluster) == before
    reason = "was made without index.knn" if opensearch else "keeps some fields out of _source"
    assert reason in library.describe(ALIAS).attached
    index = library[ALIAS]
    expected = matching(lambda one: one["pub_year"] >= 2005 and bool(one["authors"]))
    for options in ({"mode": "vector"}, {"mode": "hybrid", "window": 60}):
        page = index.search("virus", filter="year>=2005 and author='Ana Sample'", size=60, **options)
        assert {hit.id for hit in page} == expected
    cluster.call("DELETE", f"/{INDEXES[0]}/_doc/id-7", params={"refresh": True})
    page = index.search("virus", mode="vector", size=60)
    assert ("id-7" in {hit.id for hit in page}, page.candidates) == (False, 59)
    write(cluster, INDEXES[0], {"id-8": {**document(8), "pub_year": 1850}})
    report = library.follow(ALIAS)
    assert (report.updated, report.unchanged, report.deleted, report.papers) == (1, 58, 1, 59)
    assert [hit.id for hit in index.search("virus", mode="vector", filter="year=1850")] == ["id-8"]
    assert index.similar("id-9", size=3).hits
    before = sources(cluster)
    done = library.detach(ALIAS)
    assert (done.restored, done.left) == (0, ())
    assert sources(cluster) == before
    assert cluster.call("GET", "/ses.attached*") == {}


@every_version
def test_a_document_that_was_written_back_without_its_vectors_gets_new_ones(server, library, attached):
    cluster = server.cluster
    # Elasticsearch from 9.2 shows hits without vectors.
    hit = cluster.call("GET", f"/{INDEXES[0]}/_doc/id-3")
    hit["_source"]["ses"] = {"hash": hit["_source"]["ses"]["hash"]}
    write(cluster, INDEXES[0], {"id-3": hit["_source"]})
    (found,) = server.diagnose(ALIAS).indexes
    assert "1 of 60 documents have no vector; attach it with <update>" in found.troubles[0]
    with pytest.raises(UnavailableError, match="The document id-3 has no vector yet"):
        attached.similar("id-3")
    report = library.follow(ALIAS)
    assert (report.new, report.unchanged, report.papers) == (1, 59, 60)
    assert attached.similar("id-3", size=1).hits
    write(cluster, INDEXES[0], {"id-3": hit["_source"]})
    library.detach(ALIAS)
    assert cluster.call("POST", f"/{ALIAS}/_count", {"query": {"exists": {"field": "ses.hash"}}})["count"] == 0


def test_a_new_index_behind_the_alias_is_told_and_attached_by_an_update(server, library, attached):
    cluster = server.cluster
    cluster.call("DELETE", f"/{INDEXES[1]}")
    make_one(cluster, INDEXES[1], range(40, 45))
    with pytest.raises(UnavailableError, match="the index catalogue-b has no vectors yet; attach it again with update"):
        library[ALIAS].search("virus")
    report = library.follow(ALIAS)
    assert (report.new, report.updated, report.unchanged) == (5, 0, 40)
    assert library[ALIAS].search("virus").hits


def make_one(cluster, name, numbers):
    mappings = {"properties": MAPPING["properties"]}
    body = {
        "settings": {"index": {"knn": True}} if cluster.product.kind == "opensearch" else {},
        "aliases": {ALIAS: {}},
    }
    text = orjson.dumps({**body, "mappings": mappings}).replace(b',"analyzer":"house"', b"")
    cluster.call("PUT", f"/{name}", text)
    write(cluster, name, {f"id-{n}": document(n) for n in numbers})


def test_attaching_resumes_and_may_change_the_fields(library, attached):
    report = library.attach(ALIAS, title="title_t", abstract="summary_t", fields={"shelf": "extra.shelf"})
    assert (report.new, report.updated, report.unchanged) == (0, 0, 60)
    assert [field.name for field in library[ALIAS].index.schema.fields] == ["id", "title", "abstract", "shelf"]
    with pytest.raises(InputError, match="There is no field 'year'"):
        library[ALIAS].search("virus", filter="year>2000")
    assert library[ALIAS].search(size=3).hits
    assert library.attach(ALIAS, title="title_t").updated == 60 - sum(not document(n)["summary_t"] for n in range(60))


def test_workers_make_the_vectors_of_documents_too(server, library, tmp_path):
    storage = storage_at(tmp_path / "shards")
    library.attach(ALIAS, **ATTACHED, workers=1, shards=tmp_path / "shards")
    assert len(read_block(storage, 0).hashes) == 60
    ids = [f"id-{n}" for n in range(60)]
    worked = library[ALIAS].index.vectors(ids, "prx")
    write(server.cluster, INDEXES[1], {"id-100": document(100)})
    assert library.follow(ALIAS, workers=1, shards=tmp_path / "shards").new == 1
    assert len(read_block(storage, 0).hashes) == 1
    library.detach(ALIAS)
    library.attach(ALIAS, **ATTACHED)
    alone = library[ALIAS].index.vectors(ids, "prx")
    assert worked.keys() == alone.keys() == set(ids)
    assert all(np.allclose(worked[id_], alone[id_], atol=1e-2) for id_ in ids)
    for call in (library.follow, library.attach):
        with pytest.raises(InputError, match="here the papers of an index are encoded; give workers too"):
            call(ALIAS, shards=tmp_path / "shards")
    for option in ([], ["--update"]):
        done = ses(tmp_path, "attach", f"{server.url}/{ALIAS}", *option, "--shards", "x")
        assert done.returncode == 2
        assert "here the papers of an index are encoded; give --workers too" in done.stderr


class Stopping:
    """A progress that presses Ctrl-C after the first batch of a stage."""

    def __init__(self, name):
        self.name, self.now = name, ""

    def stage(self, name, total):
        self.now = name

    def advance(self, papers, rejected=0, **_):
        if self.now == self.name and papers:
            raise KeyboardInterrupt


def test_stopped_runs_resume(server, library):
    before = sources(server.cluster)
    with pytest.raises(StoppedError, match=r"Stopped: .* attach it again to resume"):
        library.attach(ALIAS, **ATTACHED, progress=Stopping("indexing"))
    assert library.attach(ALIAS, **ATTACHED).papers == 60
    with pytest.raises(StoppedError, match="still hold vectors; detach it again"):
        library.detach(ALIAS, progress=Stopping("restoring"))
    library.detach(ALIAS)
    assert sources(server.cluster) == before


def test_a_write_of_the_owner_in_between_is_not_lost(server, library):
    class Changing(Stopping):
        def stage(self, name, total):
            if name == "indexing":
                write(server.cluster, INDEXES[0], {"id-3": {**document(3), "title_t": "Galaxy"}})
                server.cluster.call("DELETE", f"/{INDEXES[0]}/_doc/id-4", params={"refresh": True})

        def advance(self, papers, rejected=0, **_):
            pass

    report = library.attach(ALIAS, **ATTACHED, progress=Changing(""))
    assert "It was deleted while it was read." in report.dead_letter.read_text()
    assert library[ALIAS].show("id-3").title == "Galaxy"
    again = library.follow(ALIAS)  # its vector was that of the earlier title
    assert (again.new, again.updated, again.papers) == (0, 1, 59)
