"""Elasticsearch and OpenSearch find what filters mean, whatever is missing, nested, long or large."""

from __future__ import annotations

import json
import os
import uuid

import pytest
from hypothesis import HealthCheck, given, settings

from corpora.errors import InputError
from corpora.paper import is_empty
from search_plugin.contract.tree import And, Begun, Compare, Exists, Nearness, Not, OneOf, Or, Says, TermLike
from search_plugin.engines.cluster.dialect import as_json
from search_plugin.engines.cluster.dialects import dialect_of
from search_plugin.engines.cluster.dsl import MAX_CLAUSES, MAX_VALUES, to_query
from search_plugin.engines.cluster.mapping import property_of
from search_plugin.engines.cluster.product import Product
from tests.search_plugin.filters.filtered import EXTREME, PAPERS, WITHOUT_VALUE, exact_filter, expected, nested, rows_of
from tests.search_plugin.filters.test_filters import FIELDS, filters

FAR = 99_999_999_999
NONE = {"match_none": {}}
LONG = "\N{CLOSED BOOK}" * 9000
"""Within the bounds of the grammar, but longer than a term of Lucene."""

FULL = [
    " and ".join(f"type=a{number}" for number in range(MAX_CLAUSES)),
    " and ".join(f"year>{-number}" for number in range(MAX_CLAUSES // 2)),
    " or ".join(f"type!=a{number}" for number in range(MAX_CLAUSES // 2)),
    " or ".join(f"year={1900 + number} and venue exists" for number in range(MAX_CLAUSES // 3)),
]
"""Filters of as many clauses as one may have."""


def start(text):
    return text[:20]


def bool_of(**occurrences):
    return {"bool": occurrences}


def term(field, value):
    return {"term": {field: value}}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("journal='x'", term("venue", "x")),
        ("type in (a, b, a)", {"terms": {"types": ["a", "b"]}}),
        ("year>=2000", {"range": {"year": {"gte": 2000}}}),
        ("not year exists", bool_of(must_not=[{"exists": {"field": "year"}}])),
        (
            "year<2000 and (author=a and id!=b) and not (id in (c, d) or year=1)",
            bool_of(
                filter=[{"range": {"year": {"lt": 2000}}}, term("authors", "a")],
                must_not=[{"terms": {"id": ["b", "c", "d"]}}, term("year", 1)],
            ),
        ),
        (
            "id=a or (id in (b, c) or year=1) or type exists",
            bool_of(
                should=[{"terms": {"id": ["a", "b", "c"]}}, term("year", 1), {"exists": {"field": "types"}}],
                minimum_should_match=1,
            ),
        ),
        (
            "not not (id=a and not (year=1 and id=a))",
            bool_of(filter=[term("id", "a")], must_not=[bool_of(filter=[term("year", 1), term("id", "a")])]),
        ),
        (" or ".join(f"id={number}" for number in range(900)), {"terms": {"id": [str(n) for n in range(900)]}}),
        (
            " and ".join(f"id!={number}" for number in range(800)),
            bool_of(must_not=[{"terms": {"id": [str(n) for n in range(800)]}}]),
        ),
    ],
)
def test_renders_flat_queries(text, query):
    assert to_query(exact_filter(text)) == query


@pytest.mark.parametrize(
    ("where", "query"),
    [
        (Compare("year", "=", FAR), NONE),
        (Compare("year", ">", FAR), NONE),
        (Compare("year", "<=", -FAR), NONE),
        (Compare("year", "<", 2**31), {"exists": {"field": "year"}}),
        (Compare("year", ">=", -FAR), {"exists": {"field": "year"}}),
        (Compare("year", "<=", 2**31 - 1), {"range": {"year": {"lte": 2**31 - 1}}}),
        (OneOf("year", (FAR, 1)), term("year", 1)),
        (Or((Compare("id", "=", ""), Compare("id", "=", "a"))), term("id", "a")),
        (Compare("authors", "=", ""), term("authors", "")),
        (Compare("authors", "=", LONG), NONE),
    ],
)
def test_decides_tests_of_what_no_index_holds(where, query):
    assert to_query(where) == query


def test_refuses_what_no_server_takes():
    for text in FULL:
        to_query(exact_filter(text))
    with pytest.raises(InputError, match=r"comes to 1,110 clauses.* take 512 .*in \("):
        to_query(exact_filter(" and ".join(f"id={chr(20000 + number)}" for number in range(1110))))
    half = range(MAX_CLAUSES // 2 + 1)
    for costly in (
        And(tuple(Compare("year", ">", number) for number in half)),
        Or(tuple(Not(Compare("types", "=", str(number))) for number in half)),
    ):
        with pytest.raises(InputError, match="514 clauses"):
            to_query(costly)
    with pytest.raises(InputError, match=r"65,537 values of id.* 65,536"):
        to_query(OneOf("id", tuple(map(str, range(MAX_VALUES + 1)))))


@pytest.mark.parametrize(
    ("part", "cost"),
    [
        (Exists("venue"), 1),
        (Exists("year"), 1),
        (Compare("venue", "=", "x"), 1),
        (Compare("year", "=", 1), 2),
        (Compare("year", ">", 1), 2),
        (OneOf("venue", ("x", "y")), 1),
        (OneOf("year", (1, 2)), 2),
        (Says("text", "one two"), 1),
        (Begun("viro"), 3),  # as a word, as a beginning, and as its stem
        (TermLike("text", ("a", "b"), ""), 1),
        (TermLike("text", ("a", "b"), "a.*"), 2),
        (TermLike("text", (), ""), 1),
        (Nearness("text", "one", "two", 3), 1),
        (Not(Exists("venue")), 1),
        (Or((Not(Exists("venue")), Exists("year"))), 3),  # the server adds a clause to what is excluded alone
    ],
)
def test_each_kind_of_condition_costs_clauses(part, cost):
    others = [Says("text", f"word{number}") for number in range(MAX_CLAUSES - cost + 1)]
    to_query(And((*others[1:], part)))
    with pytest.raises(InputError, match=f"{MAX_CLAUSES + 1} clauses"):
        to_query(And((*others, part)))


def levels(query):
    """Levels of queries inside each other, one number for the query and one for each that is wrapped in it."""
    (kind, body), *_ = query.items()
    if kind == "wrapper":
        return [1, *levels(body["query"].query)]
    if kind != "bool":
        return [1]
    parts = [levels(part) for occurrence in body.values() if isinstance(occurrence, list) for part in occurrence]
    return [1 + max(part[0] for part in parts), *max(part[1:] for part in parts)]


def test_keeps_within_the_levels_a_server_takes():
    text = nested("type=x", 30, "id!=0 and (type=y or ", ")")
    assert levels(to_query(exact_filter(text))) == [14, 24, 24]
    assert levels(to_query(exact_filter(nested("type=x", 8, "id!=0 and (type=y or ", ")")))) == [16]


class Server:
    """An index of the papers, over plain HTTP."""

    def __init__(self, url):
        import urllib3  # comes with the clients of both products

        self.http = urllib3.PoolManager()
        self.index = f"{url}/ses-test-filters-{uuid.uuid4().hex}"

    def ask(self, method, path="", body=None):
        response = self.http.request(
            method, self.index + path, body=body, headers={"Content-Type": "application/json"}, timeout=60
        )
        assert response.status < 300, response.data[:2000]
        return json.loads(response.data)

    def fill(self):
        types = {field.name: property_of(field, {}) for field in FIELDS if field.kind != "text"}
        mappings = {"dynamic": "strict", "properties": types}
        self.ask("PUT", body=json.dumps({"settings": {"number_of_replicas": 0}, "mappings": mappings}))
        lines = []
        for paper in PAPERS:
            lines += [{"index": {}}, {name: value for name, value in rows_of(paper).items() if not is_empty(value)}]
        reply = self.ask("POST", "/_bulk?refresh=true", "".join(json.dumps(line) + "\n" for line in lines))
        assert not reply["errors"]

    def found(self, query):
        body = {"size": len(PAPERS), "_source": ["id"], "query": query}
        reply = self.ask("POST", "/_search", as_json(body))
        assert reply["_shards"]["failed"] == 0
        return {hit["_source"]["id"] for hit in reply["hits"]["hits"]}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(lane, marks=getattr(pytest.mark, lane))
        for lane in ("opensearch", "opensearch2", "elasticsearch", "elasticsearch9")
    ],
)
def server(request):
    server = Server(os.environ[f"SES_TEST_{request.param.upper()}"])
    server.fill()
    yield server
    server.ask("DELETE")


def inside(query, levels):
    for _ in range(levels):
        query = {"bool": {"filter": [query]}}
    return query


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=filters)
def test_servers_find_what_the_filter_means(server, where):
    assert server.found(to_query(where, FIELDS)) == expected(where)


@pytest.mark.parametrize("where", WITHOUT_VALUE)
def test_empty_strings_mean_missing_on_servers_too(server, where):
    for either in (where, Not(where)):
        assert server.found(to_query(either)) == expected(either)


@pytest.mark.parametrize("far", [FAR, -FAR, 2**31, 2**31 - 1, -(2**31), -(2**31) - 1])
def test_numbers_beyond_32_bits_compare_as_numbers(server, far):
    for op in ("=", "<", "<=", ">", ">="):
        where = Compare("year", op, far)
        for either in (where, Not(where), Or((where, Compare("year", "=", 2000))), And((where, Exists("venue")))):
            assert server.found(to_query(either)) == expected(either)


@pytest.mark.parametrize("text", [*EXTREME, f"id!='{LONG}'"], ids=start)
def test_servers_read_whatever_the_grammar_allows(server, text):
    where = exact_filter(text)
    assert server.found(inside(to_query(where, FIELDS), 6)) == expected(where)


@pytest.mark.parametrize("text", FULL, ids=start)
def test_servers_take_a_full_filter_and_half_of_their_clauses_beside_it(server, text):
    where = exact_filter(text)
    words = [{"term": {"id": f"word{number}"}} for number in range(512 - 1)] + [{"exists": {"field": "id"}}]
    query = {"bool": {"must": [{"bool": {"should": words}}], "filter": [to_query(where)]}}
    assert server.found(query) == expected(where)


def test_servers_take_as_many_values_as_one_field_may_be_asked_for(server):
    where = OneOf("id", tuple(map(str, range(MAX_VALUES))))
    assert server.found(to_query(where, FIELDS)) == expected(where)


@pytest.mark.parametrize(
    ("product", "in_order"),
    [
        (Product("opensearch", "2.19.0", (2, 19)), {"mode": "ordered"}),
        (Product("elasticsearch", "9.4.3", (9, 4)), {"ordered": True}),
    ],
)
def test_each_product_says_in_its_own_way_that_words_stand_in_their_order(product, in_order):
    query = to_query(Nearness("title", "heart failure", "death", 2), FIELDS, dialect_of(product).in_order)
    one, other = query["intervals"]["title"]["all_of"]["intervals"]
    assert one == {"match": {"query": "heart failure", "max_gaps": 0, **in_order}}
    assert other == {"match": {"query": "death", "max_gaps": 0, **in_order}}
