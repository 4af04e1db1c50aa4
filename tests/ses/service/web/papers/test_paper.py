"""A paper's own page, and what other programs read of it."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from tests.ses.service.web.papers.conftest import CITED, HARM, HOSTILE

pytestmark = pytest.mark.serve


class Tags(HTMLParser):
    """The elements of a page with their attributes, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        self._script = tag == "script"

    def handle_data(self, data):
        if self.found and self.found[-1][0] == "script":
            self.scripts.append(data)

    def named(self, tag, **attributes):
        return [has for kind, has in self.found if kind == tag and attributes.items() <= has.items()]


def test_a_page_shows_the_paper(client):
    reply = client.get("/papers/cited")
    assert reply.status_code == 200
    for text in (
        "A virus of the lung",
        "The virus, the lung, and a mask.",
        "Nature",
        "2021",
        "Lung &amp; heart",
        "top",
    ):
        assert text in reply.text
    page = Tags(reply.text)
    links = [one["href"] for one in page.named("a")]
    assert "/authors/Byron,%20Ada" in links
    assert "/venues/Nature" in links
    assert "https://doi.org/10.1000/a(1)b" in links
    assert "https://pubmed.ncbi.nlm.nih.gov/123/" in links
    assert "/?filter=shelf%3D%22top%22" in links
    assert "/?filter=topic%3D%22lungs%22" in links
    assert "cited more than 72 of 100 papers of its field and year, by the forecast (40 to 90)" in reply.text
    notice = "The source of this record says that the paper was retracted."
    assert notice not in reply.text
    assert notice in client.get("/papers/citing/2").text


def test_its_links_find_what_they_say(client, library):
    page = Tags(client.get("/papers/cited").text)
    for link in [one["href"] for one in page.named("a") if one["href"].startswith("/?filter=")]:
        reply = client.get(link.replace("/?", "/v1/search?"))
        assert "cited" in [hit["paper"]["id"] for hit in reply.json()["hits"]], link


def test_references_and_citing_papers_are_those_of_the_index(client):
    found = client.get("/papers/citing/1.json").json()
    assert [(one["identifier"], one["id"]) for one in found["references"]] == [
        ("doi:10.1000/a(1)b", "cited"),
        ("cited", "cited"),
        ("doi:10.1000/unknown", None),
        ("p00001", "p00001"),
    ]
    cited = client.get("/papers/cited.json").json()["cited_by"]
    assert {hit["paper"]["id"] for hit in cited["hits"]} == {"citing/1", "citing/2", HOSTILE.id}
    assert cited["candidates"] == 3
    text = client.get("/papers/citing/1").text
    assert "3 of 4 are in this index." in text
    assert 'DOI <a href="https://doi.org/10.1000/unknown"' in text


def test_papers_like_it_are_those_of_python(client, library):
    found = client.get("/papers/cited.json").json()["similar"]["hits"]
    assert [hit["paper"]["id"] for hit in found] == [hit.id for hit in library["papers"].similar("cited")]
    assert all(f'href="/papers/{hit["paper"]["id"]}"' in client.get("/papers/cited").text for hit in found[:3])


@pytest.mark.parametrize("name", ["https://doi.org/10.1000/A(1)b", "PMID: 123", "arXiv:2101.00001v2"])
@pytest.mark.parametrize("ending", ["", ".json", ".ris"])
def test_any_identifier_leads_to_the_page(client, name, ending):
    reply = client.get(f"/papers/{quote(name)}{ending}", params={"index": "papers"})
    assert (reply.status_code, reply.headers["location"]) == (302, f"/papers/cited{ending}?index=papers")


def test_an_identifier_of_several_papers_lists_them(client):
    reply = client.get("/papers/doi:10.1000/twin")
    assert reply.status_code == 200
    assert all(f'href="/papers/twin-{one}"' in reply.text for one in "ab")
    found = client.get("/papers/doi:10.1000/twin.json").json()["papers"]
    assert [one["id"] for one in found] == ["twin-a", "twin-b"]
    assert client.get("/papers/doi:10.1000/twin.ris").text.count("ER  -") == 2


def test_an_id_with_an_ending_is_an_id(client):
    assert "An id with an ending" in client.get("/papers/data.json").text
    assert client.get("/papers/data.json.json").json()["paper"]["id"] == "data.json"
    assert client.get("/papers/zz.json").status_code == 404
    assert client.get("/papers/").status_code == 404


def test_every_identifier_of_a_paper_can_be_an_address(client):
    from ses.service.web.address import address

    for name in (HOSTILE.id, "//a", "../a", "a//b?c#d", "a%2Fb", "é 李"):
        place = address("/papers/", name=name)
        assert place.isascii()
        assert not {"", ".", ".."} & set(place.split("/")[1:])
    reply = client.get(address("/papers/", name=HOSTILE.id))
    assert (reply.status_code, reply.text.count(HARM)) == (200, 0)
    assert address("/a", b="", c=[], d="1&", e=["x", "y"]) == "/a?d=1%26&e=x&e=y"


def test_a_page_keeps_its_language(client):
    reply = client.get("/papers/pmid:123", params={"lang": "de"})
    assert reply.headers["location"] == "/papers/cited?lang=de"
    links = [one["href"] for one in Tags(client.get("/papers/cited?lang=de").text).named("a")]
    assert "/similar/cited?lang=de" in links
    assert "/papers/citing/1?lang=de" in links
    assert client.get("/similar/pmid:123?lang=de").headers["location"] == "/similar/cited?lang=de"
    assert 'name="lang" value="en"' in client.get("/similar?lang=en").text


def test_files_are_those_of_python(client, library):
    page = library["papers"].search(filter='id="cited"')
    assert client.get("/papers/cited.bib").text == page.format("bibtex")
    reply = client.get("/papers/cited.ris")
    assert reply.text == page.format("ris")
    assert reply.headers["content-type"].startswith("application/x-research-info-systems")
    assert reply.headers["content-disposition"] == 'attachment; filename="cited.ris"'
    assert json.loads(client.get("/papers/cited.jsonl").text)["doi"] == "10.1000/a(1)b"
    assert client.get("/papers/cited.csv").text.count("\r\n") == 2


def test_highwire_tags_say_all_that_scholar_asks_for(client):
    # https://scholar.google.com/intl/en/scholar/inclusion.html#indexing
    page = Tags(client.get("/papers/cited").text)
    tags = [(one["name"], one["content"]) for one in page.named("meta") if one.get("name", "").startswith("citation_")]
    assert tags == [
        ("citation_title", "A virus of the lung"),
        ("citation_author", "Byron, Ada"),
        ("citation_author", "van der Berg, Ludwig"),
        ("citation_author", "World Health Organization"),
        ("citation_publication_date", "2021"),
        ("citation_journal_title", "Nature"),
        ("citation_doi", "10.1000/a(1)b"),
        ("citation_pmid", "123"),
        ("citation_arxiv_id", "2101.00001"),
        ("citation_language", "en"),
        ("citation_keywords", "Medicine"),
        ("citation_keywords", "Lung & heart"),
        ("citation_abstract", "The virus, the lung, and a mask."),
        ("citation_abstract_html_url", "https://library.example/ses/papers/cited"),
        ("citation_pdf_url", "https://papers.example/a.pdf"),
    ]
    assert page.named("link", rel="canonical") == [
        {"rel": "canonical", "href": "https://library.example/ses/papers/cited"}
    ]


def test_json_ld_is_a_scholarly_article(client):
    page = Tags(client.get("/papers/cited").text)
    assert page.named("script", type="application/ld+json")
    found = json.loads("".join(page.scripts))
    assert found["@context"] == "https://schema.org"
    assert found["@type"] == "ScholarlyArticle"
    assert found["@id"] == found["sameAs"] == "https://doi.org/10.1000/a(1)b"
    assert found["author"][0] == {"@type": "Person", "name": "Byron, Ada"}
    assert found["author"][2] == {"name": "World Health Organization"}
    assert found["isPartOf"] == {"@type": "Periodical", "name": "Nature"}
    assert {"@type": "PropertyValue", "propertyID": "pmid", "value": "123"} in found["identifier"]


def test_json_ld_of_a_hostile_paper_stays_in_its_element(client):
    from ses.service.web.address import address

    reply = client.get(address("/papers/", name=HOSTILE.id))
    page = Tags(reply.text)
    assert len(page.named("script")) == 2
    assert json.loads("".join(page.scripts))["abstract"] == HARM
    assert not page.named("img")


def test_typed_links_are_those_of_signposting(client):
    # https://signposting.org/FAIR/ level 1
    value = client.get("/papers/cited").headers["link"]
    links = {(rel, place) for place, rel in re.findall(r'<([^>]*)>; rel="([^"]*)"', value)}
    assert ("cite-as", "https://doi.org/10.1000/a(1)b") in links
    assert ("author", "https://orcid.org/0000-0002-1825-0097") in links
    assert ("type", "https://schema.org/AboutPage") in links
    assert ("describedby", "https://library.example/ses/papers/cited.bib") in links
    assert len([rel for rel, _ in links if rel == "author"]) == 1
    assert 'papers/cited.json>; rel="describedby"; type="application/json"' in value
    odd = client.get("/papers/p00001").headers["link"]
    assert "cite-as" not in odd


def test_headers_of_a_hostile_paper_are_no_headers(client):
    from ses.service.web.address import address

    reply = client.get(address("/papers/", name=HOSTILE.id))
    assert "set-cookie" not in reply.headers
    assert reply.headers["link"].isascii()
    assert "script>" not in reply.headers["link"]
    file = client.get(address("/papers/", name=HOSTILE.id, ending=".ris"))
    assert re.fullmatch(r'attachment; filename="[\w.-]+\.ris"', file.headers["content-disposition"])


def test_only_safe_addresses_become_links(client):
    from ses.service.web.address import address

    page = Tags(client.get(address("/papers/", name=HOSTILE.id)).text)
    links = [
        has[name]
        for _, has in page.found
        if has.get("rel") != "icon"
        for name in ("href", "src", "action")
        if name in has
    ]
    assert links
    assert [one for one in links if not re.match("/(?!/)|https://|#main$", one)] == []


def test_a_citation_is_a_line(client):
    from ses.service.web.citation import citation

    assert citation(CITED) == (
        "Byron, Ada; van der Berg, Ludwig; World Health Organization (2021). A virus of the lung. Nature. "
        "https://doi.org/10.1000/a(1)b"
    )
    assert citation(CITED) == client.get("/papers/cited.json").json()["citation"]
