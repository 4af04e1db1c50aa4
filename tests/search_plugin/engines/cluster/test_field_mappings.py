"""Attached indexes without a server: which fields they have, and what is asked of the owner's fields."""

from __future__ import annotations

import pytest

from search_plugin.engines.cluster.attached.field_mappings import FieldMapping, fields_of
from search_plugin.engines.cluster.attached.translation import Translation
from search_plugin.engines.cluster.elasticsearch import ElasticsearchDialect
from search_plugin.engines.cluster.product import Product

TITLE = FieldMapping("title", "headline", "headline", "text")
DAY = FieldMapping("year", "issued", "issued", "date")


def test_users_can_name_the_id_and_identifiers_beside_the_fields_that_are_kept():
    shelf = FieldMapping("shelf", "place", "place", "keyword")
    names = [field.name for field in fields_of((TITLE, FieldMapping("doi", "doi", "doi", "keyword"), shelf))]
    assert names == ["id", "title", "identifiers", "shelf"]
    assert [field.name for field in fields_of((TITLE, shelf))] == ["id", "title", "shelf"]
    assert [field.facet for field in fields_of((TITLE, shelf))] == [True, False, True]


def test_a_year_of_dates_is_the_days_from_its_first_to_its_last():
    def days(first, last):
        return {"range": {"issued": {"gte": first, "lte": last, "format": "yyyy-MM-dd"}}}

    translation = Translation((TITLE, DAY))
    assert translation.query({"term": {"year": 2020}}) == {
        "bool": {"should": [days("2020-01-01", "2020-12-31")], "minimum_should_match": 1}
    }
    assert translation.query({"range": {"year": {"gte": 2019, "lte": 2021}}}) == days("2019-01-01", "2021-12-31")
    assert translation.query({"exists": {"field": "year"}}) == {"exists": {"field": "issued"}}


@pytest.mark.parametrize(
    ("type_", "kept"),
    [("int8_hnsw", "int8"), ("int8_flat", "int8"), ("int4_hnsw", "int4"), ("bbq_hnsw", "1bit"), ("hnsw", "none")],
)
def test_an_owners_vectors_are_kept_as_the_mapping_says(type_, kept):
    mapping = {"type": "dense_vector", "dims": 64, "similarity": "cosine", "index_options": {"type": type_}}
    assert ElasticsearchDialect(Product("elasticsearch", "9.4.3", (9, 4))).read_vector(mapping, {}).quantization == kept


def test_vectors_whose_mapping_names_no_kind_of_index_are_whole():
    read = ElasticsearchDialect(Product("elasticsearch", "9.4.3", (9, 4))).read_vector
    for options in ({}, {"index_options": {}}):
        found = read({"type": "dense_vector", "dims": 64, **options}, {})
        assert (found.dimension, found.similarity, found.quantization, found.graph) == (64, "cosine", "none", True)
    bare = read({"type": "dense_vector", "dims": 64, "index": False}, {})
    assert (bare.dimension, bare.similarity, bare.quantization, bare.graph) == (64, None, "none", False)
