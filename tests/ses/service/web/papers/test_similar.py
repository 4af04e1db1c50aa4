"""Papers like one, and papers like a manuscript."""

import pytest

pytestmark = pytest.mark.serve

TEXT = "Masks against a virus\nThe virus, the lung,\nand a mask."


@pytest.mark.slow
def test_papers_like_one_are_those_of_python(client, library):
    asked = {"filter": ["year>=2000", "venue=Nature"], "size": 3}
    assert client.get("/similar/p00001", params={"filter": ["", "year>=2000"]}).status_code == 200
    found = client.get("/similar/p00001.json", params=asked).json()
    page = library["papers"].similar("p00001", **asked)
    assert [hit["paper"]["id"] for hit in found["hits"]] == [hit.id for hit in page]
    text = client.get("/similar/p00001", params=asked).text
    assert all(f'href="/papers/{hit.id}"' in text for hit in page)
    assert 'value="venue=Nature"' in text


def test_its_pages_go_on_to_the_end(client, library):
    seen, place = [], "/similar/p00001?size=25&filter=id!%3Dcited"
    while place:
        text = client.get(place).text
        seen += [line.partition('"')[0] for line in text.split('class="unapi-id" title="')[1:]]
        _, _, rest = text.partition('rel="next" href="')
        place = rest.partition('"')[0].replace("&amp;", "&")
        assert "filter=id" in place or not place
    page = library["papers"].similar("p00001", size=100, filter="id!=cited", collapse="work")
    assert len(seen) == len(page)
    assert seen[:5] == [hit.id for hit in page[:5]]


def test_another_identifier_leads_to_its_id(client):
    reply = client.get("/similar/pmid:123", params={"filter": ["year>2000", "language=en"], "index": "papers"})
    assert reply.status_code == 302
    assert reply.headers["location"] == "/similar/cited?index=papers&filter=year%3E2000&filter=language%3Den"
    assert client.get("/similar/zz").status_code == 404


def test_a_manuscript_is_a_form(client, library):
    assert '<textarea id="text"' in client.get("/similar").text
    found = client.post("/similar.json", data={"text": TEXT, "filter": ["year>=2000", ""], "size": 4}).json()
    index = library["papers"]
    page = index.similar_text(TEXT, filter="year>=2000", size=4)
    assert [hit["paper"]["id"] for hit in found["hits"]] == [hit.id for hit in page]
    venues = index.suggest("venues", text=TEXT, size=5)
    assert [one["name"] for one in found["venues"]] == [one.name for one in venues]
    assert len(found["reviewers"]) > 0
    reply = client.post("/similar", data={"text": TEXT, "size": "4"})
    assert "Masks against a virus" in reply.text
    assert venues[0].name in reply.text


def test_a_manuscript_stays_in_the_language_and_the_index_that_its_reader_chose(client):
    assert 'action="/similar?lang=de"' in client.get("/similar?lang=de").text
    reply = client.post("/similar?lang=de", data={"text": TEXT, "size": "2", "index": "papers"})
    assert reply.headers["content-language"] == "de"
    assert 'href="/papers/cited?index=papers&amp;lang=de"' in reply.text
    shown = client.get("/papers/cited?index=papers&lang=de").text
    assert 'href="/similar/cited?index=papers&amp;lang=de"' in shown
    assert 'href="/map?lang=de&amp;index=papers"' in shown


def test_a_manuscript_gets_labels_of_the_papers_like_it(client, library):
    index = library["papers"]
    found = client.post("/similar.json", data={"text": TEXT}).json()["labels"]
    text = client.post("/similar", data={"text": TEXT}).text
    labels = index.suggest("labels", text=TEXT, field="fields", size=5)
    wanted = [one.name for one in labels if len(one.because) > 1]
    assert [one["name"] for one in found["fields"]] == wanted != []
    assert "Subject, suggested by the papers most like it" in text
    # Each paper has a value of its own here.
    assert index.suggest("labels", text=TEXT, field="orcid")
    assert "orcid" not in found


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        ({"text": " "}, "The text is empty"),
        ({"text": "a" * 20_001}, "text can't be"),
        ({"text": "a", "textt": "b"}, "There is no parameter textt"),
        ({"text": "a", "filter": "yaer=2000"}, "yaer"),
        ({"text": "a", "size": "many"}, "size can't be 'many'"),
    ],
)
def test_a_wrong_form_is_a_problem(client, data, detail):
    reply = client.post("/similar", data=data)
    assert reply.status_code == 400
    assert detail in reply.json()["detail"]
