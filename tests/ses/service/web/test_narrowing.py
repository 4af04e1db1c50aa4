"""What a reader has chosen of the facets, as a filter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from search_plugin.contract.schema import Field, IndexSchema
from search_plugin.contract.tree import Compare, OneOf
from search_plugin.filters.parse import parse_filter
from ses.service.web.narrowing import Narrowing, chosen

pytestmark = pytest.mark.serve

SCHEMA = IndexSchema("m", "f", ())


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40), min_size=1, max_size=4))
def test_any_text_is_one_value(values):
    (text,) = Narrowing({"venue": values}).filters(SCHEMA)
    assert parse_filter(text) == OneOf("venue", tuple(values))


def test_fields_and_years_must_all_hold():
    asked = Narrowing(chosen(["venue:a:b", "venue:c", "retracted:true", "venue:c"]), 1990, 2000)
    expected = ['venue == ("a:b", "c")', 'retracted in ("true")', "year >= 1990", "year <= 2000"]
    assert asked.filters(SCHEMA) == expected
    assert asked.filters(SCHEMA, but="venue") == expected[1:]
    assert asked.filters(SCHEMA, but="year") == expected[:2]
    assert parse_filter(expected[1]) in (Compare("retracted", "=", True), OneOf("retracted", (True,)))
    assert Narrowing().filters(SCHEMA) == []


def test_only_fields_that_are_counted_can_be_chosen():
    for wrong in ("nothing:x", "title:x", "x or year>0:y", ":"):
        with pytest.raises(InputError):
            Narrowing(chosen([wrong])).filters(SCHEMA)
    own = IndexSchema("m", "f", (), fields=(*SCHEMA.fields, Field("shelf", "keyword")))
    assert Narrowing(chosen(["shelf:1"])).filters(own) == ['shelf == ("1")']
