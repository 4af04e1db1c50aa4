"""Documents of others as papers, and filters by what they hold; no server is needed."""

from __future__ import annotations

from corpora.publication import Publication
from search_plugin.engines.cluster.attached.field_mappings import (
    FieldMapping,
    find_field_mappings,
    read_from,
    record_of,
)
from search_plugin.engines.cluster.attached.translation import Translation

TITLE = FieldMapping("title", "t", "t", "text")
DATES = (
    TITLE,
    FieldMapping("year", "when", "when", "date"),
    FieldMapping("seen", "when", "when", "date"),
    FieldMapping("nested", "in.when", "in.when", "date", "in"),
)


def test_days_are_asked_of_the_columns_of_dates():
    assert read_from(DATES) == {
        "_source": ["in.when", "t", "when"],
        "docvalue_fields": [{"field": "when", "format": "yyyy-MM-dd"}],
    }
    assert read_from([TITLE]) == {"_source": ["t"]}


def test_a_day_is_the_one_that_the_cluster_has_read():
    source = {"t": "Title", "when": 1072828800000, "in": [{"when": "2001-01-01"}]}
    paper = record_of(1, {"_id": "x", "_source": source, "fields": {"when": ["2003-12-31"]}}, DATES).paper
    assert (paper.id, paper.year) == ("x", 2003)
    assert paper.extra == {"seen": "2003-12-31", "nested": "2001-01-01"}


def test_the_first_of_several_days_is_that_of_the_document():
    source = {"t": "Title", "when": ["2003-12-31", "1990-01-01"]}
    hit = {"_id": "x", "_source": source, "fields": {"when": ["1990-01-01", "2003-12-31"]}}
    assert record_of(1, hit, DATES).paper.year == 2003


def test_names_with_dots_are_found_where_subobjects_are_off():
    mapping = {"subobjects": False, "properties": {"m.title": {"type": "text"}, "m.by": {"type": "keyword"}}}
    found = find_field_mappings({"i": {"mappings": mapping}}, {"title": "m.title", "authors": "m.by"}, "i")
    assert [(mapped.path, mapped.source) for mapped in found] == [("m.title", "m.title"), ("m.by", "m.by")]


def test_identifiers_in_one_field_are_found():
    translation = Translation((TITLE, FieldMapping("identifiers", "all_ids", "all_ids", "keywords")))
    expected = {"term": {"all_ids": {"value": "doi:10.1/x", "case_insensitive": True}}}
    for query in ({"term": {"identifiers": "doi:10.1/x"}}, {"terms": {"identifiers": ["doi:10.1/x"]}}):
        assert translation.query(query)["bool"]["should"] == [expected]
    assert translation.query({"exists": {"field": "identifiers"}})["bool"]["should"] == [
        {"exists": {"field": "all_ids"}}
    ]


def test_volume_and_issn_are_fields_to_filter_by_and_are_cited_too():
    field_mappings = (
        FieldMapping("title", "t", "t", "text"),
        FieldMapping("issn", "i", "i", "keywords"),
        FieldMapping("volume", "v", "v", "keyword"),
    )
    paper = record_of(1, {"_id": "a", "_source": {"t": "A", "i": ["1234-5679"], "v": "12"}}, field_mappings).paper
    assert paper.extra == {"issn": ("1234-5679",), "volume": "12"}
    assert paper.publication == Publication(volume="12", issn=("1234-5679",))
