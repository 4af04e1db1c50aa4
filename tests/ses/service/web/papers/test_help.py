"""Help and tags: made from the index, and every example finds something."""

import pytest
from lxml import html

from search_plugin.contract.schema import PAPER_FIELDS
from search_plugin.filters.parse import parse_filter
from ses.service.web.help import OPERATORS
from tests.ses.service.web.papers.conftest import HARM

pytestmark = pytest.mark.serve


def page_of(reply):
    assert reply.status_code == 200, reply.text
    return html.fromstring(reply.text)


@pytest.mark.slow
def test_every_field_is_explained_and_every_example_finds_papers(client, library):
    opened = library["papers"]
    values = client.get("/help.json").json()
    assert [one["name"] for one in values["fields"]] == [field.name for field in opened.index.schema.fields]
    page = page_of(client.get("/help"))
    assert page.xpath("//@data-field") == [one["name"] for one in values["fields"]]
    examples = [one["example"] for one in values["fields"] if one["example"]]
    assert len(examples) > 10
    for example in examples:
        assert len(opened.search(filter=example)) > 0, example
    by_name = {one["name"]: one for one in values["fields"]}
    assert by_name["venue"]["aliases"] == ["journal"]
    assert by_name["topic"]["origin"] == "tag"
    held = {value for value, _ in opened.index.value_counts("venue", 3)}
    assert set(by_name["venue"]["values"]) == held


@pytest.mark.slow
def test_every_query_to_try_finds_papers(client, library):
    queries = client.get("/help.json").json()["queries"]
    assert len(queries) >= 8
    for one in queries:
        page = library["papers"].search(one["query"], mode="lexical")
        assert len(page) > 0, one
        assert one["meaning"].endswith(".")
    page = page_of(client.get("/help"))
    for link in page.xpath("//*[@data-query]//a/@href"):
        assert client.get(link).status_code == 200


def test_filters_can_say_what_the_help_lists():
    values = {"keyword": "x", "keywords": "x", "number": "2020", "date": "2020-01", "boolean": "true"}
    for field in PAPER_FIELDS:
        for sign in OPERATORS[field.kind]:
            after = "" if sign == "exists" else "(x)" if sign == "in" and field.kind in ("keyword", "keywords") else ""
            value = values.get(field.kind, '"words"')
            after = after or {"exists": "", "in": f"({value})"}.get(sign, value)
            if sign == "says" and field.name != "title":
                continue
            assert parse_filter(f"{field.name} {sign} {after}")


def test_tags_link_to_their_papers(client, library):
    values = client.get("/tags.json").json()
    fields = {one["name"]: dict(one["labels"]) for one in values["fields"]}
    assert fields["topic"] == {"lungs": 1, "viruses": 1, HARM: 1}
    assert fields["fields"] == {
        str(value): count for value, count in library["papers"].index.value_counts("fields", 100)
    }
    page = page_of(client.get("/tags"))
    links = page.xpath("//ul[@class='tag-list']//a")
    assert len(links) == sum(map(len, fields.values()))
    for link in links:
        assert client.get(link.get("href")).status_code == 200
    assert HARM in [link.text for link in links]


@pytest.mark.parametrize("place", ["/help", "/tags", "/saved", "/history", "/feeds", "/feeds/new"])
def test_a_page_holds_no_scripts_of_papers_or_readers(client, place):
    reply = client.get(place)
    page = page_of(reply)
    assert "<script>window" not in reply.text
    assert "<img" not in reply.text
    assert not page.xpath("//@*[starts-with(name(), 'on') or name() = 'style']")
    assert not [one for one in page.xpath("//script") if one.text]
    assert client.get(place, params={"x": 1}).status_code == 400
    assert len(page.xpath("//h1")) == 1


@pytest.mark.parametrize("place", ["/saved", "/history"])
def test_pages_of_the_browser_say_what_they_need(client, place):
    reply = client.get(place)
    assert "This page needs JavaScript" in reply.text
    assert "set-cookie" not in reply.headers


def test_a_wrong_index_is_said(client):
    assert client.get("/help", params={"index": "zz"}).status_code == 404
    assert client.get("/tags.json", params={"index": "zz"}).status_code == 404
