"""What browsers, feed readers and reference managers find by themselves."""

import pytest
from lxml import etree

from tests.ses.service.web.papers.conftest import HOSTILE

pytestmark = pytest.mark.serve

OPENSEARCH = {"o": "http://a9.com/-/spec/opensearch/1.1/"}
ATOM = {"a": "http://www.w3.org/2005/Atom"}


@pytest.mark.slow
def test_a_browser_can_add_the_search(client):
    reply = client.get("/opensearch.xml", params={"index": "papers"})
    assert reply.headers["content-type"].startswith("application/opensearchdescription+xml")
    root = etree.fromstring(reply.content)
    assert root.tag == "{http://a9.com/-/spec/opensearch/1.1/}OpenSearchDescription"
    assert 0 < len(root.findtext("o:ShortName", namespaces=OPENSEARCH)) <= 16
    assert root.findtext("o:Description", namespaces=OPENSEARCH)
    places = {(one.get("type"), one.get("rel")): one.get("template") for one in root.findall("o:Url", OPENSEARCH)}
    site = "https://library.example/ses"
    assert places == {
        ("text/html", "results"): f"{site}/?query={{searchTerms}}&index=papers",
        ("application/atom+xml", "results"): f"{site}/search.atom?query={{searchTerms}}&index=papers",
        ("application/x-suggestions+json", "suggestions"): f"{site}/suggest.json?query={{searchTerms}}&index=papers",
        ("application/opensearchdescription+xml", "self"): f"{site}/opensearch.xml?index=papers",
    }
    plain = etree.fromstring(client.get("/opensearch.xml").content)
    assert plain.findall("o:Url", OPENSEARCH)[-1].get("template") == f"{site}/opensearch.xml"
    for place in (one for one in places.values() if "Terms" in one):
        assert client.get(place.removeprefix(site).replace("{searchTerms}", "virus")).status_code == 200


def test_suggestions_are_titles(client):
    query, titles = client.get("/suggest.json", params={"query": "a virus of the lu"}).json()
    assert query == "a virus of the lu"
    assert "A virus of the lung" in titles
    assert len(titles) <= 8
    assert client.get("/suggest.json", params={"query": " "}).json() == [" ", []]


def test_a_saved_search_is_atom(client, library):
    asked = {"query": "virus <lung>", "filter": ["year>=2000"], "size": 5, "sort": "-year"}
    reply = client.get("/search.atom", params=asked)
    assert reply.headers["content-type"].startswith("application/atom+xml")
    root = etree.fromstring(reply.content)
    page = library["papers"].search(**asked)
    titles = [one.findtext("a:title", namespaces=ATOM) for one in root.findall("a:entry", ATOM)]
    assert titles == [hit.title for hit in page]
    links = {one.get("rel"): one.get("href") for one in root.findall("a:link", ATOM)}
    given = "query=virus+%3Clung%3E&filter=year%3E%3D2000&size=5&sort=-year"
    assert links["self"] == f"https://library.example/ses/search.atom?{given}"
    assert links["alternate"] == f"https://library.example/ses/?{given}"
    assert root.findtext("a:id", namespaces=ATOM) == links["self"]
    assert root.findtext("a:updated", namespaces=ATOM).endswith("Z")
    first = root.find("a:entry/a:link", ATOM).get("href")
    assert first == f"https://library.example/ses/papers/{page[0].id}"
    assert client.get("/search.atom", params={"qurey": "a"}).status_code == 400


def test_unapi_offers_ris_and_then_bibtex(client):
    for place in ("/unapi", "/unapi/papers"):
        root = etree.fromstring(client.get(place).content)
        assert [one.get("name") for one in root] == ["ris", "bibtex"]
        assert all(one.get("type") for one in root)
    offered = client.get("/unapi/papers", params={"id": "cited"})
    assert (offered.status_code, etree.fromstring(offered.content).get("id")) == (300, "cited")
    assert client.get("/unapi/papers", params={"id": "cited", "format": "mods"}).status_code == 406
    assert client.get("/unapi/papers", params={"id": "zz", "format": "ris"}).status_code == 404
    assert client.get("/unapi/zz").status_code == 404
    ris = client.get("/unapi/papers", params={"id": "cited", "format": "ris"}).text
    assert ris == client.get("/papers/cited.ris").text


def test_unapi_understands_ids_as_zotero_sends_them(client):
    from ses.service.web.export import unapi_id

    ris = client.get(f"/unapi?id={unapi_id(HOSTILE.id)}&format=ris").text
    assert "TI  - virus" in ris
    assert client.get("/unapi", params={"id": unapi_id(HOSTILE.id), "format": "ris"}).text == ris
