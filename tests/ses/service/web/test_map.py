"""The map of results: the drawing, its table, and the same as values."""

import pytest
from lxml import etree, html

pytestmark = pytest.mark.serve


def page_of(reply):
    assert reply.status_code == 200, reply.text
    return html.fromstring(reply.text)


def test_the_map_is_that_of_python(client, library):
    asked = {"query": "virus lung", "size": 20, "filter": "year>=2000", "mode": "lexical"}
    made = library["papers"].map(**asked)
    values = client.get("/map.json", params=asked).json()
    assert [point["id"] for point in values["points"]] == [point.paper.id for point in made.points]
    assert [(point["x"], point["y"], point["topic"] - 1) for point in values["points"]] == [
        (point.x, point.y, point.topic) for point in made.points
    ]
    assert [topic["label"] for topic in values["topics"]] == [topic.label for topic in made.topics]
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


def test_what_papers_hold_is_escaped(client):
    reply = client.get("/map", params={"query": '<script>alert(2)</script>" masks', "mode": "lexical"})
    assert reply.status_code == 200
    assert "<script>alert" not in reply.text
    page = page_of(reply)
    assert not page.xpath("//@*[starts-with(name(), 'on') or name() = 'style']")
    assert "Masks & <script>alert(1)</script>" in [link.text for link in page.xpath("//tbody//a")]
    assert "/papers/%3Cb%3E" in [point.get("href") for point in page.find_class("map-point")]
    drawing = page.find_class("map-drawing")[0]
    assert etree.fromstring(etree.tostring(drawing)) is not None


@pytest.mark.parametrize(
    ("asked", "detail"),
    [
        ({"size": 501}, "A map can't show 501 papers"),
        ({"size": 0}, "A map can't show 0 papers"),
        ({"topics": 51}, "topics"),
        ({"projection": "umap"}, "projection"),
        ({"sizes": 3}, "There is no parameter sizes, the nearest is size."),
    ],
)
def test_a_wrong_request_is_refused(client, asked, detail):
    reply = client.get("/map.json", params=asked)
    assert reply.status_code == 400
    assert detail in reply.json()["detail"]


def test_nothing_found_is_said(client):
    page = page_of(client.get("/map", params={"query": "zzzz", "mode": "lexical"}))
    assert not page.find_class("map-drawing")
    assert "No paper was found" in page.text_content()
