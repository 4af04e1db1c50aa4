"""The map of results: the drawing, its table, and the same as values."""

from urllib.parse import parse_qsl

import pytest
from lxml import html

from tests.ses.service.web.papers.conftest import HARM, HOSTILE

pytestmark = pytest.mark.serve


def page_of(reply):
    assert reply.status_code == 200, reply.text
    return html.fromstring(reply.text)


@pytest.mark.slow
def test_the_map_is_that_of_python(client, library):
    asked = {"query": "virus lung", "size": 20, "filter": "year>=2000", "mode": "lexical"}
    made = library["papers"].map(**asked)
    values = client.get("/map.json", params=asked).json()
    assert [point["id"] for point in values["points"]] == [point.paper.id for point in made.points]
    assert [(point["x"], point["y"], point["topic"] - 1) for point in values["points"]] == [
        (point.x, point.y, point.topic) for point in made.points
    ]
    assert [topic["label"] for topic in values["topics"]] == [topic.label for topic in made.topics]
    assert client.get("/v1/maps", params=asked).json() == values
    found = library["papers"].search(**asked)
    assert [point["rank"] for point in values["points"]] == [hit.rank for hit in found]
    assert values["candidates"] == found.candidates


def test_the_table_has_what_the_drawing_has(client):
    page = page_of(client.get("/map", params={"query": "virus"}))
    points, rows = page.find_class("map-point"), page.xpath("//tbody/tr")
    assert len(points) == len(rows) > 20
    for point, row in zip(points, rows, strict=True):
        link = row.xpath(".//a")[0]
        assert point.get("href") == link.get("href")
        assert point.xpath("./title")[0].text.startswith(link.text_content())
        assert point.get("data-topic") == row.get("data-topic")
    counts = [int(one.text) for one in page.find_class("map-count")]
    assert sum(counts) == len(points)
    assert counts == sorted(counts, reverse=True)


def test_marks_lie_in_the_drawing_and_topics_differ_in_colour_and_shape(client):
    page = page_of(client.get("/map", params={"topics": 12}))
    (drawn,) = page.find_class("map-drawing")
    assert drawn.get("viewbox") == "0 0 1000 640"
    for point in page.find_class("map-point"):
        assert 0 < float(point.get("data-x")) < 1000
        assert 0 < float(point.get("data-y")) < 640
    marks = [(one.get("class"), one.xpath("./path/@d")[0]) for one in page.xpath("//nav//svg")]
    assert len(marks) == len(set(marks)) == 12
    labels = [
        (float(one.get("data-x")), float(one.get("data-y"))) for one in page.xpath("//*[@class='map-labels']/text")
    ]
    assert len(set(labels)) == 12


def test_a_topic_is_chosen_by_a_link(client):
    page = page_of(client.get("/map", params={"query": "virus", "size": 30}))
    second = page.xpath("//nav//a[@data-topic='2']/@href")[0]
    chosen = page_of(client.get(second))
    shown = [row for row in chosen.xpath("//tbody/tr") if row.get("hidden") is None]
    assert {row.get("data-topic") for row in shown} == {"2"}
    assert len(shown) == int(page.find_class("map-count")[1].text)
    assert len(chosen.xpath("//a[contains(@class, 'map-dim')]")) == 30 - len(shown)
    assert chosen.xpath("//*[@aria-current]")[0].get("data-topic") == "2"
    again = chosen.xpath("//nav//a[@data-topic='2']/@href")[0]
    assert not page_of(client.get(again)).find_class("map-dim")
    values = client.get(second.replace("/map?", "/map.json?")).json()
    assert {point["topic"] for point in values["points"]} == {2}
    assert len(values["points"]) == len(shown)


def test_its_links_ask_for_the_same_papers(client):
    given = {"query": "virus", "filter": "year>=2000", "mode": "lexical", "window": "80", "lang": "de"}
    drawn = {**given, "size": "30", "topics": "3", "projection": "pca", "topic": "2"}
    page = page_of(client.get("/map", params=drawn))
    (said,) = page.find_class("map-said")
    links = [one.partition("?") for one in said.xpath("./a[position()>1]/@href")]
    asked = [(path, dict(parse_qsl(query))) for path, _, query in links]
    assert asked == [
        ("/", given),
        ("/map.json", {name: value for name, value in drawn.items() if name != "lang"}),
        ("/map", {**drawn, "projection": "tsne"}),
    ]
    form = {one.get("name"): one.get("value") for one in page.xpath("//form[@class='map-form']/input")}
    assert form == {name: value for name, value in drawn.items() if name != "topic"}
    (everything,) = page.xpath("//nav//a[@data-topic='all']/@href")
    assert dict(parse_qsl(everything.partition("?")[2])) == {n: value for n, value in drawn.items() if n != "topic"}


def test_what_papers_hold_is_escaped(client):
    reply = client.get("/map", params={"query": f"virus {HARM}", "mode": "lexical"})
    assert "<script>window" not in reply.text
    assert "<img" not in reply.text
    page = page_of(reply)
    assert not page.xpath("//@*[starts-with(name(), 'on') or name() = 'style']")
    (point,) = [one for one in page.find_class("map-point") if one.xpath("./title")[0].text.startswith(HOSTILE.title)]
    assert point.get("href").isascii()
    assert client.get(f"{point.get('href')}.json").json()["paper"]["id"] == HOSTILE.id
    assert point.get("data-facts") == f"2020 · {HARM}"


@pytest.mark.parametrize(
    ("asked", "detail"),
    [
        ({"size": 501}, "size can't be 501; give a whole number from 1 to 500"),
        ({"size": 0}, "size can't be 0; give a whole number from 1 to 500"),
        ({"topics": 51}, "topics can't be 51; give a whole number from 1 to 50"),
        ({"projection": "umap"}, "projection"),
        ({"sizes": 3}, "There is no parameter sizes"),
    ],
)
def test_a_wrong_request_is_refused(client, asked, detail):
    for path in ("/map.json", "/v1/maps"):
        reply = client.get(path, params=asked)
        assert reply.status_code == 400
        assert detail in reply.json()["detail"]


def test_nothing_found_is_said(client):
    page = page_of(client.get("/map", params={"query": "zzzz", "mode": "lexical"}))
    assert not page.find_class("map-drawing")
    assert "No paper was found" in page.text_content()
