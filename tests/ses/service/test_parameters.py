"""The parameters of requests: whatever a client sends, the answer is Python's or a problem."""

import json
import string
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.errors import SesError
from ses.service.parameters import SearchParameters, SimilarParameters

pytestmark = pytest.mark.serve

small = st.integers(-2, 120)
words = st.sampled_from(["", "virus", "lung cell", '"virus"', "author:byron", "p00003", "-", "(", "10.1000/1", "vrius"])
names = st.sampled_from(["venue", "year", "authors", "shelf", "title", "nothing"])
OPTIONS = {
    "mode": st.sampled_from(["lexical", "vector", "hybrid"]),
    "fusion": st.sampled_from(["minmax", "rrf", "zscore", "none"]),
    "weights": st.lists(st.sampled_from(["lexical=0.7", "prx=0.2", "x=1", "lexical"]), min_size=1, max_size=2),
    "title_boost": st.sampled_from([0.0, 0.5, -1.0, 2.0]),
    "filter": st.lists(
        st.sampled_from(["year>=2000", "venue=Nature", "year>", "authors=byron", "(", "zz=1", "not year=2001"]),
        min_size=1,
        max_size=2,
    ),
    "facets": st.lists(names, min_size=1, max_size=2),
    "sort": st.sampled_from(["title", "-year", "year", "shelf", "zz"]),
    "size": small,
    "offset": small,
    "window": small,
    "exact": st.booleans(),
    "collapse": names,
    # Unknown ones are told in other words, since a service takes those alone that its settings list.
    "rerank": st.just("complete"),
    "literal": st.booleans(),
    "verbatim": st.booleans(),
}
asked = st.fixed_dictionaries({"query": words}, optional=OPTIONS)
anything = st.text(max_size=30) | st.text(string.printable, max_size=60)
unicode = st.text(st.characters(), max_size=12)
"""Also with lone surrogates, which JSON can hold."""
fixtures = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(value):
    return str(value).lower() if isinstance(value, bool) else value


def searched(index, given):
    """Return the page of Python, or None and its error."""
    try:
        return index.search(**given), ""
    except SesError as error:
        return None, error.message()


def test_every_option_of_python_is_a_parameter():
    from search_plugin.request import search_options

    options = {option.name for option in search_options() if option.typed}
    assert options | {"index", "query"} == set(SearchParameters.model_fields)
    assert OPTIONS.keys() <= options
    assert not {"literal", "verbatim", "query"} & SimilarParameters.model_fields.keys()


@pytest.mark.slow
@fixtures
@given(asked)
def test_a_search_is_that_of_python(client, library, given):
    reply = client.get("/v1/search", params={name: written(value) for name, value in given.items()})
    page, problem = searched(library["papers"], given)
    if page is None:
        assert (reply.status_code, reply.json()["detail"]) == (400, problem)
        return
    assert reply.status_code == 200, reply.text
    found = reply.json()
    assert [(hit["paper"]["id"], hit["score"], hit["rank"]) for hit in found["hits"]] == [
        (hit.id, hit.score, hit.rank) for hit in page
    ]
    assert found["notes"] == list(page.notes)
    assert (found["candidates"], found["mode"], found["sort"]) == (page.candidates, page.mode, page.sort)
    if page.facets:
        assert found["facets"]["counts"] == {
            name: [list(one) for one in counts] for name, counts in page.facets.counts.items()
        }
    # What a page links to can be asked for.
    for link in reply.links.values():
        assert client.get(f"/v1/search{link['url']}").status_code == 200


@fixtures
@given(
    st.lists(
        st.tuples(st.sampled_from([*SearchParameters.model_fields, "fields", "format", "explain"]) | anything, anything)
    )
)
def test_no_query_string_is_a_fault(client, pairs):
    reply = client.get("/v1/search", params=pairs)
    assert reply.status_code in (200, 400, 404)
    assert reply.headers["content-type"].startswith("application/")


@fixtures
@given(st.sampled_from(["/v1/papers/", "/v1/similar/", "/v1/feeds/", "/v1/"]), anything, anything)
def test_no_address_and_no_header_is_a_fault(client, place, name, header):
    kept = "".join(char for char in header if char.isprintable()).strip().encode("latin-1", "replace")
    reply = client.get(place + quote(name), headers={"accept": kept, "if-none-match": kept, "accept-encoding": kept})
    assert reply.status_code < 500, reply.text


@fixtures
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | unicode,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*SimilarParameters.model_fields, "title", "abstract"]) | unicode, inner)
        ),
        max_leaves=8,
    )
)
def test_no_body_is_a_fault(client, body):
    for content in (body, {"title": body}, {"title": "virus", "filter": body}, {"title": "virus", "size": body}):
        reply = client.post("/v1/similar", content=json.dumps(content), headers={"content-type": "application/json"})
        assert reply.status_code in (200, 400, 404), reply.text
