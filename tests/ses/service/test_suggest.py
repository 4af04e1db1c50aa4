"""`GET /v1/suggest` and `GET /v1/facets/{field}`: what the Python API returns."""

import pytest

pytestmark = pytest.mark.serve


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
    ("path", "asked", "detail"),
    [
        ("suggest", {"size": 0}, "0 suggestions can't be made"),
        ("suggest", {"q": "x"}, "There is no parameter q."),
        ("facets/zzz", {}, "There is no field 'zzz'"),
        ("facets/url", {}, "Values of url can't be counted"),
        ("facets/venue", {"size": 5000}, "can't be 5,000; give a whole number from 1 to 1,000"),
        ("facets/venue", {"facets": "year"}, "There is no parameter facets."),
    ],
)
def test_a_wrong_request_is_a_problem(client, path, asked, detail):
    reply = client.get(f"/v1/{path}", params=asked)
    assert reply.status_code == 400
    assert detail in reply.json()["detail"]
