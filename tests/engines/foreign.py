"""A library's catalogue as somebody else has made it: an alias with two indexes, nested authors, multi-fields."""

from __future__ import annotations

import orjson

from tests.tiny import WORDS

INDEXES = ("catalogue-a", "catalogue-b")
ALIAS = "catalogue"
FIELDS = {
    "year": "pub_year",
    "journal": "journal.name",
    "authors": "authors.name",
    "doi": "doi_s",
    "shelf": "extra.shelf",
    "acquired": "acquired",
}
ATTACHED = {"title": "title_t", "abstract": "summary_t", "fields": FIELDS}

MAPPING = {
    "dynamic": "strict",
    "properties": {
        "title_t": {"type": "text", "analyzer": "house", "fields": {"raw": {"type": "keyword", "ignore_above": 256}}},
        "summary_t": {"type": "text", "analyzer": "house"},
        "pub_year": {"type": "short"},
        "journal": {"properties": {"name": {"type": "text", "fields": {"exact": {"type": "keyword"}}}}},
        "authors": {
            "type": "nested",
            "properties": {
                "name": {"type": "text", "fields": {"exact": {"type": "keyword"}}},
                "orcid": {"type": "text"},
            },
        },
        "doi_s": {"type": "keyword"},
        "extra": {"properties": {"shelf": {"type": "keyword"}, "price": {"type": "double"}}},
        "acquired": {"type": "date", "format": "strict_date_time_no_millis||epoch_millis"},
        "place": {"type": "geo_point"},
        "uncounted": {"type": "keyword", "doc_values": False},
        "unsearched": {"type": "keyword", "index": False, "doc_values": False},
    },
}
_ANALYSIS = {
    "analyzer": {"house": {"type": "custom", "tokenizer": "standard", "filter": ["lowercase", "asciifolding"]}}
}


def document(number: int) -> dict:
    """A document with keys in an order of its own, numbers as they are written, and empty values."""
    first, second, third = (WORDS[(number * step) % len(WORDS)] for step in (1, 3, 7))
    return {
        "title_t": [f"The {first} of {second} number{number}"]
        if number % 9 == 0
        else f"The {first} of {second} n{number}",
        "pub_year": 1990 + number % 20,
        "summary_t": f"About {third} and {second}, Café {number}" if number % 4 else None,
        "authors": [{"name": "Ana Sample", "orcid": "0"}, {"name": f"Bo Example{number % 3}"}] if number % 5 else [],
        "extra": {"price": 12.5 + number, "shelf": f"B {number % 4}"},
        "journal": {"name": "Nature" if number % 2 else "The Lancet"},
        "doi_s": f"https://doi.org/10.1000/ABC.{number}",
        "acquired": f"2020-{1 + number % 12:02}-15T23:30:00Z",
    }


def make(cluster, *, knn=True, numbers=(range(40), range(40, 60)), mapping=MAPPING, settings=None):
    """Make the two indexes and their alias."""
    vectors = {"knn": True} if knn and cluster.product.kind == "opensearch" else {}
    for name, kept in zip(INDEXES, numbers, strict=True):
        body = {
            "settings": {
                "index": {
                    "number_of_shards": 2,
                    "number_of_replicas": 0,
                    "analysis": _ANALYSIS,
                    **vectors,
                    **(settings or {}),
                }
            },
            "mappings": mapping,
            "aliases": {ALIAS: {}},
        }
        cluster.call("PUT", f"/{name}", body)
        write(cluster, name, {f"id-{n}": document(n) for n in kept})


def write(cluster, index, documents):
    """Write documents whole, as their owner does."""
    lines = [line for id_, one in documents.items() for line in ({"index": {"_index": index, "_id": id_}}, one)]
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    assert not cluster.call("POST", "/_bulk", body, params={"refresh": True})["errors"]


def drop(cluster):
    """Delete the two indexes."""
    for name in INDEXES:
        cluster.call("DELETE", f"/{name}", params={"ignore_unavailable": True})


def sources(cluster, name=ALIAS):
    """All documents by index and id, as JSON text, in the order of their keys."""
    cluster.call("POST", f"/{name}/_refresh")
    hits = cluster.call("POST", f"/{name}/_search", {"size": 1000, "query": {"match_all": {}}})["hits"]["hits"]
    return {(hit["_index"], hit["_id"]): orjson.dumps(hit["_source"]) for hit in hits}
