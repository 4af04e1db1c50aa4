"""Reading the documents of an index that something else has written."""

from itertools import islice

import orjson
import pytest

import ses
from corpora.errors import InputError, NotFoundError, UnavailableError
from search_plugin.engines.cluster.scan import scan
from ses.papers import of_corpus
from tests.engines.conftest import every_version
from tests.tiny import make_model

INDEXES = ("foreign-a", "foreign-b")
MAPPING = {
    "properties": {
        "title_t": {"type": "text"},
        "authors": {"type": "nested", "properties": {"name": {"type": "text"}}},
        "year": {"type": "integer"},
        "extra": {"properties": {"shelf": {"type": "keyword"}}},
    }
}


def document(number):
    return {
        "title_t": f"The {number}th catalogue entry",
        "authors": [{"name": "Ana Sample"}, {"name": f"B. Example {number}"}],
        "year": 1900 + number % 100,
        "extra": {"shelf": f"B {number}"},
        "vector": [0.5, float(number)],
    }


@pytest.fixture
def catalogue(server):
    """An alias with two indexes behind it, of two shards each and 450 documents in all, with vectors among them."""
    cluster = server.cluster
    opensearch = cluster.product.kind == "opensearch"
    vector = (
        {"type": "knn_vector", "dimension": 2} if opensearch else {"type": "dense_vector", "dims": 2, "index": False}
    )
    for name, numbers in zip(INDEXES, (range(300), range(300, 450)), strict=True):
        cluster.call(
            "PUT",
            f"/{name}",
            {
                "settings": {"number_of_shards": 2, "number_of_replicas": 0},
                "mappings": {"properties": {**MAPPING["properties"], "vector": vector}},
                "aliases": {"foreign": {}},
            },
        )
        lines = [line for n in numbers for line in ({"index": {"_index": name, "_id": f"id-{n}"}}, document(n))]
        body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
        assert not cluster.call("POST", "/_bulk", body, params={"refresh": True})["errors"]
    yield cluster
    for name in INDEXES:
        cluster.call("DELETE", f"/{name}")


def scrolls(cluster):
    nodes = cluster.call("GET", "/_nodes/stats/indices/search")["nodes"]
    return sum(node["indices"]["search"]["scroll_current"] for node in nodes.values())


@every_version
def test_every_document_is_read_once_and_without_vectors(catalogue):
    found = {read["_id"]: read for read in scan(catalogue, "foreign")}
    expected = {f"id-{n}": document(n) | {"_id": f"id-{n}"} for n in range(450)}
    for whole in expected.values():
        del whole["vector"]
    assert found == expected
    assert len(list(scan(catalogue, "foreign-b"))) == 150
    assert scrolls(catalogue) == 0


def test_a_reader_that_stops_early_leaves_no_scroll(catalogue):
    reading = scan(catalogue, "foreign")
    assert len(list(islice(reading, 250))) == 250
    assert scrolls(catalogue) > 0
    reading.close()
    assert scrolls(catalogue) == 0


def test_a_missing_index_and_an_empty_one(server):
    with pytest.raises(NotFoundError, match=f"{server.url} has no index foreign-none; check its name"):
        list(scan(server.cluster, "foreign-none"))
    server.cluster.call("PUT", "/foreign-empty")
    try:
        assert list(scan(server.cluster, "foreign-empty")) == []
    finally:
        server.cluster.call("DELETE", "/foreign-empty")


def test_documents_that_get_lost_are_an_error(catalogue):
    lossy = Lossy(catalogue)
    with pytest.raises(UnavailableError, match="sent 200 of 450 documents of foreign; try again"):
        list(scan(lossy, "foreign"))


class Lossy:
    """A cluster whose second page is empty, as after an answer that got lost."""

    def __init__(self, cluster):
        self._cluster, self.url = cluster, cluster.url

    def call(self, method, path, *args, **kwargs):
        reply = self._cluster.call(method, path, *args, **kwargs)
        if path == "/_search/scroll" and method == "POST":
            reply["hits"]["hits"] = []
        return reply


def test_an_index_becomes_a_corpus(catalogue, tmp_path):
    model = make_model(tmp_path / "model")
    library = ses.open(tmp_path / "library", model=str(model), data_dir=tmp_path, cache_dir=tmp_path / "cache")
    url = f"{catalogue.url}/foreign"
    columns = {"title": "title_t", "authors": "authors.name", "shelf": "extra.shelf"}
    report = library.index("mine", url, corpus="index", columns=columns, fields={"shelf": "keyword"}, limit=5)
    assert (report.new, report.rejected, report.origin) == (5, 0, f"index:{url.removeprefix('http://')}")
    (hit,) = library["mine"].search("catalogue", mode="lexical", size=1)
    number = hit.id.removeprefix("id-")
    assert hit.paper.title == f"The {number}th catalogue entry"
    assert hit.paper.authors == ("Ana Sample", f"B. Example {number}")
    assert (hit.paper.year, hit.paper.extra) == (1900 + int(number) % 100, {"shelf": f"B {number}"})


@pytest.mark.parametrize("url", ["papers.csv", "http://localhost:9200", "http://u:secret@localhost:9200/a"])
def test_a_path_that_is_no_index_is_refused(tmp_path, url):
    with pytest.raises(InputError) as caught:
        list(of_corpus("index", url, tmp_path, columns={}).records())
    assert "secret" not in str(caught.value)
