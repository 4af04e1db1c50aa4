"""What other programs find in a cluster: fields that can be searched, marked, sorted and counted as they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from search_plugin.contract.schema import Field
from tests.engines.conftest import SCHEMA, documents, every_version

PAPER = replace(
    documents(1)[0].paper,
    title="Masks against viruses",
    abstract="We studied infections.",
    authors=("Zoë Müller-Smith",),
)


@pytest.fixture
def published(server):
    schema = SCHEMA.with_fields([Field("published", "date")])
    index = server.build("papers", schema, "source")
    others = [replace(d, paper=replace(d.paper, extra={"published": "2019-05-01"})) for d in documents(3)[1:]]
    index.upsert([replace(documents(1)[0], paper=replace(PAPER, extra={"published": "2020-03"})), *others])
    index.finish()
    server.publish(index)
    return lambda body: server.cluster.call("POST", "/papers/_search", body)


@every_version
def test_title_and_abstract_are_each_searched_and_marked(published):
    for field, word, marked in [("title", "mask", "<em>Masks</em>"), ("abstract", "infection", "<em>infections</em>")]:
        body = {"query": {"match": {field: word}}, "highlight": {"fields": {field: {}}}}
        hits = [hit for hit in published(body)["hits"]["hits"] if hit["_id"] == PAPER.id]
        assert marked in hits[0]["highlight"][field][0]
    both = {"query": {"multi_match": {"query": "mask infection", "fields": ["title", "abstract"]}}}
    assert published(both)["hits"]["hits"][0]["_id"] == PAPER.id


@every_version
def test_authors_are_found_by_a_part_of_the_name_and_counted_whole(published):
    for part in ("muller", "SMITH", "Zoe"):
        found = published({"query": {"match": {"authors.analyzed": part}}})["hits"]["hits"]
        assert [hit["_id"] for hit in found] == [PAPER.id], part
    counted = published({"size": 0, "aggs": {"names": {"terms": {"field": "authors", "size": 20}}}})
    assert "Zoë Müller-Smith" in {bucket["key"] for bucket in counted["aggregations"]["names"]["buckets"]}


@every_version
def test_dates_are_dates(published):
    years = {"date_histogram": {"field": "published", "calendar_interval": "year", "format": "yyyy"}}
    reply = published({"size": 3, "sort": [{"published": "desc"}], "aggs": {"years": years}})
    assert reply["hits"]["hits"][0]["_id"] == PAPER.id
    assert [b["key_as_string"] for b in reply["aggregations"]["years"]["buckets"]] == ["2019", "2020"]
