"""Answers over HTTP: formats, what a hit holds, validators, links, methods, problems."""

import asyncio
import csv
import gzip
import io
import json
from dataclasses import asdict
from pathlib import PurePath
from xml.etree import ElementTree

import pytest

from ses.service.http_layer import EveryMethod

pytestmark = pytest.mark.serve

ATOM = "{http://www.w3.org/2005/Atom}"


def get(client, path, accept="", **asked):
    return client.get(path, params=asked, headers={"accept": accept} if accept else {})


@pytest.mark.parametrize(
    ("name", "accept", "media_type", "suffix"),
    [
        ("jsonl", "application/x-ndjson", "application/jsonl", "jsonl"),
        ("csv", "text/csv;q=0.9, text/html", "text/csv; charset=utf-8; header=present", "csv"),
        ("bibtex", "application/x-bibtex", "application/x-bibtex; charset=utf-8", "bib"),
        (
            "ris",
            "application/json;q=0.1, application/x-research-info-systems",
            "application/x-research-info-systems; charset=utf-8",
            "ris",
        ),
    ],
)
def test_hits_are_sent_in_the_format_asked_for(client, library, name, accept, media_type, suffix):
    asked = {"query": "virus", "mode": "lexical", "size": 3}
    by_name, by_header = get(client, "/v1/search", format=name, **asked), get(client, "/v1/search", accept, **asked)
    assert by_name.text == by_header.text == library["papers"].search(**asked).format(name)
    for reply in (by_name, by_header):
        assert reply.headers["content-type"] == media_type
        assert reply.headers["content-disposition"] == f'attachment; filename="search.{suffix}"'
        assert "Accept" in reply.headers["vary"]


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("*/*", 200),
        ("text/html, */*;q=0.1", 200),
        ("application/*", 200),
        ("*", 200),
        (" ", 200),
        ("text/html", 406),
        ("application/json;q=0", 406),
        ("image/png, text/*;q=0", 406),
        ("application/json;q=nan", 406),
        ("application/json;q=2", 406),
    ],
)
def test_json_is_sent_unless_the_client_wants_none(client, accept, status):
    reply = get(client, "/v1/search", accept, query="virus", mode="lexical")
    assert reply.status_code == status
    if status == 406:
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json()["hint"] == "add format= with one of json, jsonl, csv, bibtex, ris, csl"
    else:
        assert reply.headers["content-type"] == "application/json"


def test_the_most_specific_part_of_accept_counts(client):
    accepted = "*/*;q=0.5, application/*;q=0.9, application/json;q=0, text/csv;q=0.7"
    assert get(client, "/v1/search", accepted, size=1).headers["content-type"] == "application/jsonl"


def test_head_sends_no_body(client):
    sent = []

    async def send(message):
        sent.append(message)

    async def layer_below(scope, receive, send):
        assert scope["method"] == "GET"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"text"})

    asyncio.run(EveryMethod(layer_below)({"type": "http", "method": "HEAD"}, None, send))
    assert sent[0]["headers"] == [(b"content-length", b"4")]
    assert sent[1]["body"] == b""


def test_a_hit_holds_what_was_chosen(client, library):
    asked = {"query": "virus", "mode": "lexical", "size": 2}
    page = library["papers"].search(**asked)
    whole = get(client, "/v1/search", **asked).json()
    expected = json.loads(page.format("json"))
    for hit, found in zip(page, expected["hits"], strict=True):
        del found["legs"]
        found |= {"link": hit.link, "doi": hit.doi}
    del expected["milliseconds"], expected["requests"]
    assert whole == expected
    assert [*whole] == [*expected]

    for given in ("year,snippets,shelf", ["year", "snippets", "shelf"]):
        for hit in get(client, "/v1/search", fields=given, **asked).json()["hits"]:
            assert [*hit] == ["rank", "paper", "snippets"]
            assert [*hit["paper"]] == ["id", "year", "extra"]
    (odd,) = get(client, "/v1/search", filter="shelf='<i>'", fields="shelf,doi").json()["hits"]
    assert odd == {"rank": 1, "paper": {"id": "<b>", "extra": {"shelf": "<i>"}}, "doi": "10.1000/1"}

    explained = get(client, "/v1/search", explain="true", **asked).json()
    assert explained["hits"][0]["legs"]["lexical"]["rank"] == 1
    assert "retrieve" in explained["milliseconds"]
    assert "requests" in explained
    wrong = get(client, "/v1/search", fields="yaer").json()
    assert wrong["detail"] == "A hit holds no field 'yaer', the nearest is year."
    assert "'zz'; choose fields from id, title" in get(client, "/v1/search", fields="zz").json()["detail"]
    assert get(client, "/v1/search", fields="year", format="csv").status_code == 400


def test_a_client_that_has_the_answer_gets_304(client):
    asked = {"query": "virus", "size": 2}
    first = get(client, "/v1/search", **asked)
    tag = first.headers["etag"]
    assert tag.startswith('W/"')
    assert first.headers["cache-control"] == "private, no-cache"
    for given in (tag, tag.removeprefix("W/"), f'"x", {tag}', "*"):
        again = client.get("/v1/search", params=asked, headers={"if-none-match": given})
        assert (again.status_code, again.text, again.headers["etag"]) == (304, "", tag)
    for other in ({"size": 3}, {"format": "csv"}, {"fields": "year"}, {"query": "lung"}):
        assert get(client, "/v1/search", **asked | other).headers["etag"] != tag
        reply = client.get("/v1/search", params=asked | other, headers={"if-none-match": tag})
        assert reply.status_code == 200
    elsewhere = client.get("/v1/search", params=asked, headers={"if-none-match": tag, "host": "other.example"})
    assert elsewhere.status_code == 200
    wrong = client.get("/v1/search", params={"filter": "yaer=1"}, headers={"if-none-match": "*"})
    assert wrong.status_code == 400
    service = client.app.state.service
    before, service.revision = service.revision, lambda name="": "another"
    try:
        assert client.get("/v1/search", params=asked, headers={"if-none-match": tag}).status_code == 200
    finally:
        service.revision = before


def test_links_lead_through_all_hits_and_back(client, library):
    expected = [hit.id for hit in library["papers"].search(filter="year>=2000", size=100)]
    found, place, back = [], "/v1/search?filter=year%3E%3D2000&size=7&fields=id", []
    while place:
        reply = client.get(place)
        found += [hit["paper"]["id"] for hit in reply.json()["hits"]]
        back.append(reply.links.get("prev", {}).get("url"))
        place = reply.links.get("next", {}).get("url", "")
        place = place and f"/v1/search{place}"
    assert found == expected
    assert back[0] is None
    second = client.get(f"/v1/search{back[1]}").json()["hits"]
    assert [hit["paper"]["id"] for hit in second] == expected[:7]
    assert "link" not in get(client, "/v1/search", filter="year>=2000", size=len(expected)).headers
    # The window of a search ends it, also where its last page is shorter.
    last = get(client, "/v1/search", query="virus", mode="vector", window=10, size=6).links["next"]["url"]
    assert len(client.get(f"/v1/search{last}").json()["hits"]) == 4


def test_every_method_is_answered(client):
    for path in ("/v1/search", "/v1/indexes", "/v1/papers/p00001", "/healthz", "/"):
        head, got = client.head(path), client.get(path)
        assert (head.status_code, head.text) == (200, "")
        assert head.headers.get("etag") == got.headers.get("etag")
        assert head.headers["content-type"] == got.headers["content-type"]
        options = client.options(path)
        assert (options.status_code, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")
        refused = client.put(path)
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
        assert refused.json()["detail"] == f"PUT is not allowed at {path}; use GET, HEAD, OPTIONS."
    assert client.options("/v1/similar").headers["allow"] == "POST, OPTIONS"
    for method in ("GET", "OPTIONS", "HEAD", "POST"):
        assert client.request(method, "/v1/zz").status_code == 404
    assert client.get("/v1/zz").json()["detail"] == "There is nothing at /v1/zz."


@pytest.mark.parametrize(("accepted", "compressed"), [("gzip", True), ("br, gzip;q=0.5", True), ("gzip;q=0", False)])
def test_a_large_body_is_compressed_where_the_client_accepts_it(client, accepted, compressed):
    with client.stream("GET", "/v1/search?query=virus", headers={"accept-encoding": accepted}) as reply:
        raw = b"".join(reply.iter_raw())
    assert ("content-encoding" in reply.headers) == compressed
    assert json.loads(gzip.decompress(raw) if compressed else raw)["query"] == "virus"
    assert reply.headers["etag"].startswith("W/")
    small = client.get("/healthz", headers={"accept-encoding": accepted})
    assert "content-encoding" not in small.headers


def test_the_time_of_each_stage_is_a_header(client):
    timing = get(client, "/v1/search", query="virus").headers["server-timing"]
    stages = dict(part.split(";dur=") for part in timing.split(", "))
    assert {"read", "retrieve", "render"} <= stages.keys()
    assert all(float(spent) > 0 for spent in stages.values())


@pytest.mark.parametrize("name", ["p00001", "10.1000/1", "https://doi.org/10.1000/1", "doi:10.1000/1", "<b>"])
def test_papers_like_one_are_those_of_python(client, library, name):
    page = library["papers"].similar(name, size=4, filter="year>=2000")
    found = get(client, f"/v1/similar/{name}", size=4, filter="year>=2000").json()
    assert [hit["paper"]["id"] for hit in found["hits"]] == [hit.id for hit in page]
    assert [hit["score"] for hit in found["hits"]] == [hit.score for hit in page]


def test_papers_like_a_text_are_those_of_python(client, library):
    page = library["papers"].similar_text("virus lung\ncell protein", size=4, facets=["venue"])
    asked = {"title": " virus\nlung ", "abstract": "cell\nprotein", "size": 4, "facets": "venue"}
    reply = client.post("/v1/similar", json=asked)
    assert [hit["paper"]["id"] for hit in reply.json()["hits"]] == [hit.id for hit in page]
    assert [*reply.json()["facets"]["counts"]] == ["venue"]
    assert "etag" not in reply.headers
    assert client.post("/v1/similar", json={**asked, "format": "ris"}).text == page.format("ris")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("{", "The body is not JSON: character 1 can't stand there, or is missing."),
        ("[1]", "The body can't be [1]; give an object."),
        ("{}", "title is missing."),
        ('{"title": 3}', "title can't be 3; give a text."),
        ('{"title": " "}', "The title is empty; give the title of the text."),
        ('{"title": "a", "size": "3"}', "size can't be '3'; give a whole number."),
        ('{"title": "a", "size": 1.5}', "size can't be 1.5; give a whole number."),
        ('{"title": "a", "exact": 1}', "exact can't be 1; give true or false."),
        ('{"title": "a", "filter": 1}', "filter can't be 1; give a list."),
        ('{"title": "a", "facets": [1]}', "facets.0 can't be 1; give a text."),
        ('{"title": "a", "mode": "x"}', "mode can't be 'x'; choose one of lexical, vector, hybrid."),
        ('{"title": "a", "sise": 3}', "There is no parameter sise, the nearest is size."),
    ],
)
def test_a_wrong_body_is_a_problem_in_plain_words(client, body, sentence):
    reply = client.post("/v1/similar", content=body, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()["detail"]) == (400, sentence)


def test_a_body_of_another_type_is_refused(client):
    reply = client.post("/v1/similar", content='{"title": "a"}', headers={"content-type": "text/plain"})
    assert (reply.status_code, reply.headers["accept"]) == (415, "application/json")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("size=", ""),
        ("query=virus&mode=&sort=&facets=&window=", ""),
        ("size=3&size=3", "The parameter size is given several times; give it once."),
        ("size=1.5", "size can't be '1.5'; give a whole number."),
        pytest.param(f"size={'9' * 5000}", f"size can't be '{'9' * 79}…; give a smaller number.", id="digits"),
        ("title_boost=x", "title_boost can't be 'x'; give a number."),
        ("exact=x&mode=y", "mode can't be 'y'; choose one of lexical, vector, hybrid. exact can't be 'x'; give true"),
        ("size=-1", "size can't be -1"),
        ("format=xml", "format can't be 'xml'; choose one of json, jsonl, csv, bibtex, ris, csl."),
    ],
)
def test_a_wrong_parameter_is_a_problem_in_plain_words(client, asked, sentence):
    reply = client.get(f"/v1/search?{asked}")
    assert reply.status_code == (400 if sentence else 200)
    assert not sentence or sentence in reply.json()["detail"]


def test_a_paper_is_found_by_its_identifiers(client, library):
    for name in ("<b>", "10.1000/1", "https://doi.org/10.1000/1"):
        found = client.get(f"/v1/papers/{name}").json()
        assert found["paper"]["title"] == "Masks & <script>alert(1)</script>"
        assert (found["link"], found["doi"], found["others"]) == ("https://doi.org/10.1000/1", "10.1000/1", [])
    assert get(client, "/v1/papers/p00001", fields="year").json()["paper"] == {
        "id": "p00001",
        "year": library["papers"]["p00001"].year,
    }
    reply = client.get("/v1/papers/10.1000/1?format=csv")
    assert next(csv.DictReader(io.StringIO(reply.text)))["doi"] == "10.1000/1"
    assert reply.headers["content-disposition"] == 'attachment; filename="b.csv"'
    assert reply.headers["vary"] == "Accept"
    assert client.get("/v1/papers/nothing").status_code == 404


def test_what_can_be_searched_is_listed_without_places_of_the_machine(client, library):
    reply = client.get("/v1/indexes")
    (entry,) = reply.json()["indexes"]
    facts = library.describe("papers")
    assert (entry["name"], entry["papers"], entry["default"]) == ("papers", facts.papers, True)
    assert {field["name"] for field in entry["fields"]} == {field.name for field in facts.schema.fields}
    assert "/" not in entry["model"]
    assert entry.pop("model") == PurePath(facts.schema.model).name
    known = json.loads(json.dumps({**asdict(facts.schema), **asdict(facts)}, default=lambda one: one.isoformat()))
    same = {name for name in entry if name in known and name not in ("fields", "default")}
    assert {"generation", "published", "papers", "vectors", "origins", "language", "fingerprint", "bm25"} < same
    assert {name: entry[name] for name in same} == {name: known[name] for name in same}
    assert str(library._settings.data_dir) not in reply.text
    assert client.get("/v1/indexes?size=1").json()["detail"] == "There is no parameter size."


def test_tags_and_feeds_are_listed(client, library):
    library.feeds.create("air", liked=["p00001"], title="Air & <b>")
    library.feeds.create("saved", query="virus")
    listed = client.get("/v1/feeds").json()["feeds"]
    assert [(one["name"], one["title"], one["index"]) for one in listed] == [
        ("air", "Air & <b>", "papers"),
        ("saved", "saved", "papers"),
    ]
    reply = client.get(listed[1]["atom"], params={"size": 3})
    assert reply.headers["content-type"] == "application/atom+xml; charset=utf-8"
    feed = ElementTree.fromstring(reply.text)  # noqa: S314 - our own
    assert feed.find(f"{ATOM}link").attrib["href"] == f"{listed[1]['atom']}?size=3"
    assert [entry.find(f"{ATOM}title").text for entry in feed.iter(f"{ATOM}entry")] == [
        entry.paper.title for entry in library.feeds.show("saved", size=3)
    ]
    again = client.get(listed[1]["atom"], params={"size": 3}, headers={"if-none-match": reply.headers["etag"]})
    assert again.status_code == 304
    assert client.get("/v1/feeds/none.atom").status_code == 404
    for place in ("/v1/feeds", "/v1/tags"):
        tag = client.get(place).headers["etag"]
        assert client.get(place, headers={"if-none-match": tag}).status_code == 304
    taggers = client.get("/v1/tags").json()["taggers"]
    assert "arxiv" in [one["name"] for one in taggers]


def test_the_twin_of_the_page_takes_its_parameters(client):
    chosen = {"query": "virus", "size": 3, "only": ["venue:Nature"], "year_from": "2000", "year_to": "", "lang": "de"}
    filters = ["venue=Nature", "year>=2000"]
    found = get(client, "/search.json", **chosen, fields="id").json()["hits"]
    expected = get(client, "/v1/search", query="virus", size=3, filter=filters, fields="id").json()["hits"]
    assert found == expected != []
    shown = client.get("/", params=chosen).text
    assert all(f"/papers/{hit['paper']['id']}" in shown for hit in found)
    assert get(client, "/search.json", query="virus", offset=95, size=10).status_code == 200
    assert get(client, "/search.json", format="ris", size=1).text.startswith("TY  - ")
    assert get(client, "/search.json", only="zz:1").status_code == 400
