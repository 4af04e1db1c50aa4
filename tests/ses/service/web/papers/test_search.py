"""The page of a search: what it says and where its links lead, without a browser."""

import html
import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from corpora.errors import UnavailableError
from ses.service.service import Service

pytestmark = pytest.mark.serve


def links(text, holding):
    """The parameters of the links that hold some text, in order."""
    found = re.findall(r'<a[^>]*href="([^"]*)"[^>]*>(.*?)</a>', text, re.DOTALL)
    return [dict(parse_qsl(urlsplit(html.unescape(place)).query)) for place, said in found if holding in said]


def counts(text, field):
    """The values of a facet with their counts, and those that are chosen."""
    (block,) = re.findall(rf'data-field="{field}".*?</fieldset>', text, re.DOTALL)
    rows = re.findall(rf'value="{field}:([^"]*)"( checked)?>(.*?)</label>', block, re.DOTALL)
    numbers = [re.findall(r"facet-count\">([\d,]+)", rest) for _, _, rest in rows]
    held = {html.unescape(value): int(found[0]) for (value, _, _), found in zip(rows, numbers, strict=True) if found}
    return held, [html.unescape(value) for value, chosen, _ in rows if chosen]


@pytest.mark.slow
def test_the_first_page_begins_with_the_subjects_of_the_index(client, library):
    text = client.get("/").text
    for subject, _ in library["papers"].index.value_counts("fields", 3):
        # An example of a search, and a bar of the picture.
        assert links(text, subject) == [{"query": subject}, {"only": f"fields:{subject}"}]
    assert f"Browse all {len(library['papers'])} papers" in text


def test_facets_are_those_of_the_search(client, library):
    text = client.get("/", params={"query": "virus"}).text
    expected = library["papers"].search("virus", facets=["venue", "fields"], facet_size=200).facets
    assert counts(text, "venue") == (dict(expected.counts["venue"]), [])
    assert counts(text, "fields") == (dict(expected.counts["fields"]), [])


def test_values_of_a_field_are_alternatives_and_fields_must_all_hold(client, library):
    index = library["papers"]
    asked = {"query": "", "only": ["venue:Nature", "venue:The Lancet", "fields:Medicine"], "size": 100}
    text = client.get("/", params=asked).text
    expected = index.search(filter="venue in (Nature, 'The Lancet') and fields=Medicine", size=100)
    assert re.findall(r'class="hit" value="(\d+)"', text) == [str(hit.rank) for hit in expected]
    assert f"{len(expected)} papers found" in text
    # A field's own values are counted without its own choice, so that another one can be added.
    others = index.search(filter="fields=Medicine", facets="venue", facet_size=200).facets.counts["venue"]
    assert counts(text, "venue") == (dict(others), ["Nature", "The Lancet"])
    (without,) = [dict(one) for one in links(text, "The Lancet") if one.get("only") == "fields:Medicine"]
    assert without == {"query": "", "only": "fields:Medicine", "size": "100"} or "query" not in without


@pytest.mark.parametrize(
    ("asked", "filter_"),
    [
        ({"only": "venue:J. of <X>"}, 'venue = "J. of <X>"'),
        ({"year_from": "2000", "year_to": ""}, "year>=2000"),
        (
            {"year_from": "2000", "year_to": "2005", "filter": "venue=Nature"},
            "year>=2000 and year<=2005 and venue=Nature",
        ),
        ({"only": 'venue:x" or year>0 or venue = "'}, "year > 9000"),
        ({"only": "retracted:true"}, "retracted = true"),
    ],
)
def test_what_is_chosen_is_a_filter_and_nothing_more(client, library, asked, filter_):
    text = client.get("/", params={"query": "", "size": "100", **asked}).text
    expected = library["papers"].search(filter=filter_, size=100)
    assert len(re.findall('class="hit"', text)) == len(expected)


def test_pages_follow_each_other(client, library):
    first = client.get("/", params={"query": "", "size": 20, "sort": "title"}).text
    (place,) = re.findall(r'<link rel="next" href="([^"]*)"', first)
    second = client.get(html.unescape(place)).text
    titles = [hit.title for hit in library["papers"].search(sort="title", size=61)]
    ranks = re.findall(r'class="hit" value="(\d+)"', second)
    assert ranks == [str(rank) for rank in range(21, 41)]
    assert html.escape(titles[20], quote=False) in second
    last = client.get("/", params={"query": "", "size": 20, "sort": "title", "offset": 60}).text
    assert 'rel="next"' not in last
    assert 'rel="prev"' in last
    assert "There are no papers on this page" in client.get("/", params={"query": "", "offset": 80}).text


@pytest.mark.parametrize(
    ("query", "undo", "said"),
    [
        ("viruss", {"verbatim": "true"}, "Search the words as typed"),
        ("title:virus", {"literal": "true"}, "Search without operators"),
        ("virus", {"verbatim": "true"}, "Search only the words as typed"),
    ],
)
def test_what_was_changed_is_said_and_undone_by_a_link(client, query, undo, said):
    (asked,) = links(client.get("/", params={"query": query}).text, said)
    assert asked == {"query": query, **undo}
    again = client.get("/", params=asked).text
    assert links(again, said) == []
    assert {} != links(again, "again")[0] == {"query": query}


@pytest.mark.parametrize(
    ("query", "mode", "reason"),
    [
        ("virus", "lexical", "Matches in words"),
        ("virus", "vector", "Matches in meaning"),
        ("10.1000/a(1)b", "hybrid", "The query names it by its DOI 10.1000/a(1)b"),
        ("Ludwig van der Berg", "hybrid", "The query names an author of it"),
        ("an id with an ending", "hybrid", "The query is its title"),
    ],
)
def test_a_hit_says_why_it_was_found(client, query, mode, reason):
    text = html.unescape(client.get("/", params={"query": query, "mode": mode}).text)
    assert f"<summary>{reason}</summary>" in text


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ({"query": "virus", "filter": "yaer=2000"}, 400, "yaer"),
        ({"query": "virus", "index": "zz"}, 404, "zz"),
        ({"query": "virus", "index": "<i>zz"}, 400, "<i>zz"),
        ({"query": "a" * 10_001}, 400, "10,001 characters"),
        ({"query": "virus", "only": "nothing:x"}, 400, "nothing"),
    ],
)
def test_a_search_that_cannot_be_answered_says_what_to_do(client, asked, status, said):
    reply = client.get("/", params=asked)
    assert reply.status_code == status
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert html.escape(said) in reply.text
    assert "<i>zz" not in reply.text


def test_an_engine_that_is_away_is_a_page_that_says_so(client, monkeypatch):
    def away(*_):
        raise UnavailableError("The engine does not answer")

    monkeypatch.setattr(Service, "opened", away)
    reply = client.get("/", params={"query": "virus"})
    assert reply.status_code == 503
    assert int(reply.headers["retry-after"]) > 0
    assert links(reply.text, "Try again") == [{"query": "virus"}]


def test_the_language_is_that_of_the_reader(client):
    reply = client.get("/", headers={"accept-language": "xx, en;q=0.5"})
    assert 'lang="en"' in reply.text
    assert "Accept-Language" in reply.headers["vary"]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [("/nothing<i>", 404, "There is nothing at /nothing<i>."), ("/?sizes=3", 400, "There is no parameter sizes")],
)
def test_a_problem_is_a_page_for_a_browser_and_json_for_others(client, path, status, said):
    reply = client.get(path, headers={"accept": "text/html,*/*;q=0.8"})
    assert (reply.status_code, reply.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert html.escape(said) in reply.text
    assert client.get(path).headers["content-type"] == "application/problem+json"
    api = client.get(f"/v1{path}", headers={"accept": "text/html"})
    assert api.headers["content-type"] == "application/problem+json"


def test_hits_can_be_exported_followed_and_drawn_with_what_is_chosen(client):
    text = client.get("/", params={"query": "virus", "only": "venue:Nature", "year_from": "1995", "lang": "en"}).text
    expected = {"query": "virus", "narrow": "year >= 1995"}
    assert links(text, "Map")[-1] == {**expected, "lang": "en"}
    assert links(text, "Feed")[-1] == {"query": "virus", "only": "venue:Nature", "year_from": "1995"}
    sent = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text.partition('id="export"')[2]))
    assert html.unescape(sent["narrow"]) == "year >= 1995"
    for place in re.findall(r'href="(/(?:search.atom|v1/search)\?[^"]*)"', text):
        assert client.get(html.unescape(place)).status_code == 200
