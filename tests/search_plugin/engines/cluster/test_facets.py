"""Counts by field as a cluster is asked for them and gives them."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from search_plugin.contract.engine import MOST_VALUES
from search_plugin.contract.schema import Field
from search_plugin.engines.cluster.facets import (
    counted,
    matching_values_body,
    read_matching_values,
    read_value_counts,
    value_counts_body,
)

VENUE, YEAR, SEEN, OPEN = (
    Field("venue", "keyword"),
    Field("year", "number"),
    Field("seen", "date"),
    Field("open", "boolean"),
)
ORDER = [{"_count": "desc"}, {"_key": "asc"}]


def test_the_most_frequent_values_are_asked_for_equal_counts_by_value():
    terms = {"field": "venue", "size": 6, "shard_size": 105, "order": ORDER}
    assert counted(VENUE, 5) == {"terms": terms}
    assert counted(VENUE, 5, ["Cell"]) == {"terms": {**terms, "include": ["Cell"]}}
    assert value_counts_body(VENUE, 5) == {"size": 0, "aggs": {"venue": {"terms": terms}}}
    years = {"field": "seen", "calendar_interval": "year", "format": "yyyy", "min_doc_count": 1, "order": ORDER}
    assert counted(SEEN, 5) == {"date_histogram": years}


@pytest.mark.parametrize(
    ("field", "buckets", "counts"),
    [
        (VENUE, [("", 9), ("Cell", 3), ("Nature", 3), ("Science", 1)], [("Cell", 3), ("Nature", 3)]),
        (YEAR, [(2001.0, 4), (2001.5, 3)], [(2001, 4), (2001.5, 3)]),
        (OPEN, [(1, 4, "true"), (0, 2, "false")], [("true", 4), ("false", 2)]),
        (SEEN, [(1577836800000, 4, "2020"), (1, 2, "1970")], [(2020, 4), (1970, 2)]),
    ],
)
def test_values_are_read_by_their_kind(field, buckets, counts):
    found = [dict(zip(("key", "doc_count", "key_as_string"), bucket, strict=False)) for bucket in buckets]
    reply = {"aggregations": {field.name: {"buckets": found}}}
    read = read_value_counts(reply, field, 2)
    assert read == counts
    assert [type(value) for value, _ in read] == [type(value) for value, _ in counts]


def test_values_that_expressions_match_are_listed_each_once():
    asked = [("venue", "N.*"), ("authors", "T.*"), ("venue", ".*e")]
    body = matching_values_body(asked)
    assert (body["size"], body["track_total_hits"]) == (0, False)
    assert body["aggs"] == {
        str(place): {"terms": {"field": field, "include": expression, "size": MOST_VALUES + 1}}
        for place, (field, expression) in enumerate(asked)
    }
    held = {"0": ["Nature", "Neuron"], "1": ["Toth, E."], "2": ["Nature", "Science"]}
    reply = {"aggregations": {place: {"buckets": [{"key": one} for one in values]} for place, values in held.items()}}
    assert read_matching_values(reply, asked) == {"venue": ["Nature", "Neuron", "Science"], "authors": ["Toth, E."]}


@pytest.mark.parametrize("more", [0, 1])
def test_too_many_values_are_refused(more):
    values = [{"key": str(at)} for at in range(MOST_VALUES + more)]
    reply = {"aggregations": {"0": {"buckets": []}, "1": {"buckets": values}}}
    asked = [("authors", "x"), ("venue", "y")]
    if more:
        with pytest.raises(InputError, match="venue"):
            read_matching_values(reply, asked)
    else:
        assert len(read_matching_values(reply, asked)["venue"]) == MOST_VALUES
