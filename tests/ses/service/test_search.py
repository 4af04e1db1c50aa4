"""`GET /v1/search`, `/v1/suggest` and `/v1/facets/{field}`: what the Python API returns."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.serve


@pytest.mark.parametrize(
    "asked",
    [
        {"query": "virus"},
        {"query": "virus lung", "mode": "lexical", "filter": ["year>=2000", "venue=Nature"], "size": 3},
        {"filter": "year>=2015", "facets": ["venue", "year"], "sort": "title"},
    ],
)
def test_a_page_is_that_of_python(client, library, asked):
    reply = client.get("/v1/search", params=asked)
    assert reply.status_code == 200
    page = library["papers"].search(**asked)
    found = reply.json()
    assert [hit["paper"]["id"] for hit in found["hits"]] == [hit.id for hit in page]
    assert found["candidates"] == page.candidates
    if page.facets:
        assert found["facets"]["counts"] == {name: [list(one) for one in v] for name, v in page.facets.counts.items()}


def test_suggestions_are_those_of_python(client, library):
    reply = client.get("/v1/suggest", params={"query": "vir", "size": 2})
    assert reply.status_code == 200
    assert reply.json() == {"query": "vir", **library["papers"].complete("vir", size=2).to_dict()}
    assert 0 < len(reply.json()["titles"]) <= 2


def test_nothing_is_suggested_for_nothing(client):
    empty = {"query": "", "titles": [], "authors": [], "subjects": [], "venues": []}
    assert client.get("/v1/suggest").json() == empty


@pytest.mark.parametrize(
    "asked",
    [{"value": "nat"}, {"query": "virus", "mode": "lexical", "size": 2}, {"filter": ["year>=2000", "venue=Nature"]}],
)
def test_values_of_a_field_are_those_of_python(client, library, asked):
    reply = client.get("/v1/facets/venue", params=asked)
    assert reply.status_code == 200
    found = library["papers"].facet("venue", **asked)
    assert [(one["value"], one["count"]) for one in reply.json()["values"]] == list(found.counts["venue"])
    assert reply.json()["values"]
    assert (reply.json()["matches"], reply.json()["counted"]) == (found.matches, found.counted)


@pytest.mark.parametrize(
    ("path", "asked", "status", "detail"),
    [
        ("search", {"size": "many"}, 400, "size can't be 'many'"),
        ("search", {"sizes": 3}, 400, "There is no parameter sizes, the nearest is size."),
        ("search", {"filter": "yaer=2000"}, 400, "yaer"),
        ("search", {"index": "zz"}, 404, "There is no index 'zz'"),
        ("search", {"query": "a" * 10_001}, 400, "10,001 characters"),
        ("suggest", {"size": 0}, 400, "size can't be 0; give a whole number from 1 to 100."),
        ("suggest", {"q": "x"}, 400, "There is no parameter q."),
        ("facets/zzz", {}, 400, "There is no field 'zzz'"),
        ("facets/url", {}, 400, "Values of url can't be counted"),
        ("facets/venue", {"size": 5000}, 400, "can't be 5,000; give a whole number from 1 to 1,000"),
        ("facets/venue", {"facets": "year"}, 400, "There is no parameter facets."),
    ],
)
def test_a_wrong_request_is_a_problem(client, path, asked, status, detail):
    reply = client.get(f"/v1/{path}", params=asked)
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert detail in reply.json()["detail"]
