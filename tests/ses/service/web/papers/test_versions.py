"""Versions of one work are one hit of the page, which links to the others; programs get every paper unless they ask."""

from __future__ import annotations

import re

import pytest

import ses
from corpora.paper import Paper

pytestmark = pytest.mark.serve

TITLE = "Aerosol transmission of a respiratory virus in schools"
AUTHORS = ("Ada Byron", "Eric A. Toth")
PAPERS = [
    Paper(
        "a<b>", TITLE, "Masks in schools.", AUTHORS, 2020, "medRxiv", identifiers=("doi:10.1101/2020.04.01.20049999v1",)
    ),
    Paper("c", TITLE.upper(), "", ("Byron A",), 2021, "J. of <X>", retracted=True),
    Paper("d", f"Retraction: {TITLE}", "", AUTHORS, 2021),
    Paper("e", "Masks and a virus", "", ("Jo Kim",), 2019),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory, small_model):
    folder = tmp_path_factory.mktemp("versions")
    opened = ses.open(folder / "indexes", model=small_model, data_dir=folder / "data", cache_dir=folder / "cache")
    opened.index("papers", PAPERS)
    return opened


def hits_of(page):
    return re.findall(r'<li class="hit".*?</article>', page, re.DOTALL)


ASKED = "/?query=aerosol+transmission+virus&mode=lexical"


def test_a_hit_links_to_its_other_versions_and_says_that_one_is_retracted(client):
    hits = hits_of(client.get(ASKED).text)
    assert len(hits) == 3
    (joined,) = [hit for hit in hits if "versions" in hit]
    assert re.search(r"<summary>2 versions\s*<span class=\"badge bad\">A version is retracted</span>", joined) or (
        'href="/papers/a%3Cb%3E' in joined.partition("versions")[2]  # the retracted one is shown
    )
    assert "J. of &lt;X&gt;" in joined
    assert "share its value" not in joined
    apart = hits_of(client.get(f"{ASKED}&collapse=none").text)
    assert len(apart) == 4
    assert not any("versions" in hit for hit in apart)
    assert "2 Fassungen" in client.get(f"{ASKED}&lang=de").text


def test_a_list_shows_every_paper(client):
    assert len(hits_of(client.get("/?query=").text)) == 4
    assert len(hits_of(client.get("/?query=&filter=year>=2019").text)) == 4


def test_papers_like_one_are_grouped_too(client):
    assert "2 versions" in client.get("/similar/e").text
    assert "versions" not in client.get("/similar/e?collapse=none").text
    manuscript = client.post(
        "/similar", data={"text": TITLE}, headers={"content-type": "application/x-www-form-urlencoded"}
    )
    assert "2 versions" in manuscript.text


def test_programs_get_every_paper_unless_they_ask(client):
    asked = {"query": "aerosol transmission virus", "mode": "lexical"}
    for address in ("/v1/search", "/search.json"):
        every = client.get(address, params=asked).json()["hits"]
        assert len(every) == 4
        assert all(hit["versions"] == [] for hit in every)
        grouped = client.get(address, params={**asked, "collapse": "work"}).json()["hits"]
        assert sorted(len(hit["versions"]) for hit in grouped) == [0, 0, 1]
    told = next(hit for hit in grouped if hit["versions"])
    other = next(paper for paper in PAPERS[:2] if paper.id != told["paper"]["id"])
    assert told["versions"] == [
        {"id": other.id, "title": other.title, "year": other.year, "venue": other.venue, "retracted": other.retracted}
    ]
    only = client.get("/v1/search", params={**asked, "collapse": "work", "fields": "versions"}).json()["hits"]
    assert {frozenset(hit) for hit in only} == {frozenset(("rank", "paper", "versions"))}
    everything = client.get("/v1/search", params={**asked, "collapse": "work", "cursor": "*", "size": 2}).json()
    assert len(everything["hits"]) == 2
    rest = client.get(
        "/v1/search", params={**asked, "collapse": "work", "cursor": everything["next_cursor"], "size": 2}
    ).json()
    assert [*everything["hits"], *rest["hits"]] == grouped
    assert len(client.get("/export", params={**asked, "format": "csv"}).text.strip().splitlines()) == 5


def test_the_page_is_exported_as_it_is_shown(client):
    page = client.get(ASKED).text
    assert '<input type="hidden" name="collapse" value="work">' in page
    assert 'name="collapse" value="work"' not in client.get(f"{ASKED}&collapse=none").text
    assert 'name="collapse"' not in client.get("/?query=").text
