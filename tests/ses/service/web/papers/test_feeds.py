"""The pages of feeds: built by links alone, held in an address, saved under a name."""

from urllib.parse import unquote

import pytest
from lxml import etree, html
from pydantic import TypeAdapter

from ses.service.web.address import PaperName
from tests.ses.service.web.papers.conftest import HARM, HOSTILE

pytestmark = pytest.mark.serve

ATOM = "{http://www.w3.org/2005/Atom}"
HERE = {"Origin": "https://library.example"}
SITE = "https://library.example/ses"


@pytest.fixture(scope="module")
def writer(library):
    """A client of a service on which everybody may write."""
    from starlette.testclient import TestClient

    from ses.library import Library
    from ses.service.app import make_app
    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

    settings = ServiceSettings(public_url=SITE, anonymous=("search", "write"))
    app = make_app(Service(Library(library._settings), settings))
    with TestClient(app, raise_server_exceptions=False, follow_redirects=False) as opened:
        yield opened


def page_of(reply):
    assert reply.status_code == 200, reply.text
    return html.fromstring(reply.text)


def ids_of(page, place):
    return [
        TypeAdapter(PaperName).validate_python(unquote(one.partition("/papers/")[2].partition("?")[0]))
        for one in page.xpath(f"//*[@data-{place}]/li/a[1]/@href")
    ]


def choice(page, place, row, text):
    """Follow a link beside a paper."""
    return page.xpath(f"//*[@data-{place}]/li[{row}]//a[contains(., '{text}')]/@href")[0]


@pytest.mark.slow
def test_a_feed_is_built_by_links_and_is_that_of_python(client, library):
    page = page_of(client.get("/feeds/new", params={"query": "virus"}))
    assert len(ids_of(page, "found")) == 10
    first, second = ids_of(page, "found")[:2]
    page = page_of(client.get(choice(page, "found", 1, "More like this")))
    page = page_of(client.get(choice(page, "found", 2, "Less like this")))
    assert ids_of(page, "liked") == [first]
    assert ids_of(page, "disliked") == [second]
    expected = library.feeds.preview(liked=[first], disliked=[second], size=10)
    assert ids_of(page, "entries") == [entry.paper.id for entry in expected]

    address = page.xpath("//input[@id='feed-atom']/@value")[0]
    assert address.startswith(f"{SITE}/feeds/like.atom?")
    document = etree.fromstring(client.get(address.removeprefix(SITE)).content)
    entries = [one.findtext(f"{ATOM}id") for one in document.findall(f"{ATOM}entry")]
    assert list(map(unquote, entries[:10])) == [f"urn:ses:paper:{entry.paper.id}" for entry in expected]
    assert document.find(f"{ATOM}link[@rel='self']").get("href") == address

    changed = page_of(client.get(choice(page, "disliked", 1, "More like this")))
    assert ids_of(changed, "liked") == [first, second]
    assert ids_of(changed, "disliked") == []
    dropped = page_of(client.get(choice(changed, "liked", 1, "Take out")))
    assert ids_of(dropped, "liked") == [second]
    assert ids_of(dropped, "found"), "the search for papers stays"


@pytest.mark.slow
def test_readers_who_ask_again_get_the_same_feed(client):
    asked = {"id": ["p00001"], "title": "Mine & yours", "size": 3}
    reply = client.get("/feeds/like.atom", params=asked)
    assert reply.headers["content-type"].startswith("application/atom+xml"), reply.text
    document = etree.fromstring(reply.content)
    assert document.findtext(f"{ATOM}title") == "Mine & yours"
    assert len(document.findall(f"{ATOM}entry")) == 3
    kept = client.get("/feeds/like.atom", params=asked, headers={"If-None-Match": reply.headers["etag"]})
    assert kept.status_code == 304
    other = etree.fromstring(client.get("/feeds/like.atom", params={**asked, "id": ["p00002"]}).content)
    assert other.findtext(f"{ATOM}id") != document.findtext(f"{ATOM}id")
    values = client.get("/feeds/like.json", params=asked).json()
    found = [one.findtext(f"{ATOM}id").removeprefix("urn:ses:paper:") for one in document.findall(f"{ATOM}entry")]
    assert [one["paper"]["id"] for one in values["entries"]] == found
    assert values["entries"][0]["near"][0]["id"] == "p00001"


def test_a_saved_query_says_which_words_its_papers_hold(writer, library):
    library.feeds.create("lungs", query="lung")
    (word,) = library.feeds.show("lungs")[0].words
    assert word in ("lung", "lungs")
    assert f"Holds: {word}" in page_of(writer.get("/feeds/lungs")).text_content()
    assert writer.get("/feeds/lungs.json").json()["entries"][0]["words"] == [word]
    library.feeds.delete("lungs")


def test_a_feed_is_saved_shown_and_deleted(writer, library):
    form = {"name": "air", "id": ["p00001", "p00002"], "not": ["p00003"], "title": "Air", "filter": "year>=2000"}
    saved = writer.post("/feeds", data=form, headers=HERE)
    assert (saved.status_code, saved.headers["location"]) == (303, "/feeds/air")
    feed = library.feeds["air"]
    assert (feed.liked, feed.disliked, feed.title) == (("p00001", "p00002"), ("p00003",), "Air")
    page = page_of(writer.get("/feeds/air"))
    assert ids_of(page, "entries") == [entry.paper.id for entry in library.feeds.show("air")]
    assert "/v1/feeds/air.atom" in page.xpath("//a/@href")
    assert [one["name"] for one in writer.get("/feeds.json").json()["feeds"]] == ["air"]
    assert writer.get("/feeds/air.json").json()["liked"] == ["p00001", "p00002"]
    assert "/feeds/air" in page_of(writer.get("/feeds")).xpath("//a/@href")
    assert writer.post("/feeds/air/delete", headers=HERE).status_code == 303
    assert "air" not in library.feeds.names()
    assert writer.get("/feeds/air").status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://library.example"},
        {"Origin": "https://library.example:8443"},
        {"Sec-Fetch-Site": "cross-site", **HERE},
        {"Sec-Fetch-Site": "same-site", **HERE},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_forms_of_other_sites_change_nothing(writer, library, headers):
    for place in ("/feeds", "/feeds/air/delete"):
        reply = writer.post(place, data={"name": "air", "id": ["p00001"]}, headers=headers)
        assert reply.status_code == 403
        assert "not sent by a page of this site" in reply.json()["detail"]
    assert "air" not in library.feeds.names()


def test_fetch_metadata_of_this_site_is_enough(writer, library):
    data = {"name": "same", "id": ["p00001"]}
    assert writer.post("/feeds", data=data, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303
    library.feeds.delete("same")


@pytest.mark.parametrize(
    ("place", "asked", "status", "detail"),
    [
        ("/feeds/like.atom", {}, 400, "no liked paper"),
        ("/feeds/like.atom", {"id": ["p00001"], "not": ["p00001"]}, 400, "both liked and disliked"),
        ("/feeds/like.atom", {"id": ["zz"]}, 404, "zz"),
        ("/feeds/like.atom", {"id": ["p00001"], "size": 501}, 400, "size can't be 501; give a whole number"),
        ("/feeds/like.atom", {"id": ["p00001"], "sise": 5}, 400, "sise"),
        ("/feeds/new", {"id": [f"p{one:05d}" for one in range(101)]}, 400, "101 papers"),
        ("/feeds/none", {}, 404, "no feed 'none'"),
    ],
)
def test_a_wrong_request_is_a_problem(client, place, asked, status, detail):
    reply = client.get(place, params=asked)
    assert reply.status_code == status
    assert detail in reply.json()["detail"]


@pytest.mark.parametrize(
    ("form", "detail"),
    [
        ({"name": "new", "id": "p00001"}, "named 'new'"),
        ({"name": "../x", "id": "p00001"}, "'../x'"),
        ({"name": "x", "id": "zz"}, "zz"),
    ],
)
def test_a_wrong_form_is_refused(writer, library, form, detail):
    reply = writer.post("/feeds", data=form, headers=HERE)
    assert reply.status_code in (400, 404)
    assert detail in reply.json()["detail"]
    assert not library.feeds.names()


def test_a_form_of_another_type_is_refused(writer):
    reply = writer.post("/feeds", json={"name": "x"}, headers=HERE)
    assert reply.status_code == 400
    assert "takes a form only" in reply.json()["detail"]


def test_who_may_not_write_saves_nothing_and_sees_no_form(client, writer, library):
    assert client.post("/feeds", data={"name": "air", "id": "p00001"}, headers=HERE).status_code == 401
    assert client.post("/feeds/air/delete", headers=HERE).status_code == 401
    assert not library.feeds.names()
    forms = [page_of(one.get("/feeds/new?id=p00001")).xpath("//form[@method='post']") for one in (client, writer)]
    assert [len(one) for one in forms] == [0, 1]


def test_a_filter_that_cannot_be_read_keeps_the_papers(client):
    page = page_of(client.get("/feeds/new", params={"id": "p00001", "filter": "yaer>=2000"}))
    assert ids_of(page, "liked") == ["p00001"]
    assert "yaer" in page.xpath("//*[@role='alert']")[0].text


def test_what_papers_and_readers_write_is_escaped(client):
    reply = client.get("/feeds/new", params={"query": HARM, "id": HOSTILE.id, "title": HARM, "since": HARM})
    assert "<script>window" not in reply.text
    assert "<img" not in reply.text
    page = page_of(reply)
    assert page.xpath("//*[@data-liked]/li/a[1]")[0].text == HOSTILE.title
    assert page.xpath("//input[@id='feed-title']/@value") == [HARM]
    document = etree.fromstring(client.get("/feeds/like.atom", params={"id": HOSTILE.id}).content)
    assert document.findtext(f"{ATOM}title") == f"Like: {HOSTILE.title}"
