"""`GET /v1/search`: the same page as in Python."""

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


@pytest.mark.parametrize(
    ("asked", "status", "detail"),
    [
        ({"size": "many"}, 400, "size can't be 'many'"),
        ({"sizes": 3}, 400, "There is no parameter sizes, the nearest is size."),
        ({"filter": "yaer=2000"}, 400, "yaer"),
        ({"index": "zz"}, 404, "There is no index 'zz'"),
        ({"query": "a" * 10_001}, 400, "10,001 characters"),
    ],
)
def test_a_wrong_request_is_a_problem(client, asked, status, detail):
    reply = client.get("/v1/search", params=asked)
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert detail in reply.json()["detail"]
