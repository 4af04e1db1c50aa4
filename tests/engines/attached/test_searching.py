"""Searches of an attached index: all legs, filters, facets, spellings, authors."""

from __future__ import annotations

import pytest

from search_plugin.words.works import works
from tests.engines.attached.conftest import attach, beside, matching
from tests.engines.conftest import NEWEST_CLUSTERS, emptied
from tests.engines.copying import languages, run
from tests.engines.foreign import document
from tests.engines.test_requests import counts_of


@pytest.fixture(scope="module", params=NEWEST_CLUSTERS)
def server(request):
    """Each version, with what the tests of this file only read."""
    yield from emptied(request.param, None)


@pytest.fixture(scope="module")
def library(server, model, tmp_path_factory):
    yield from beside(server, model, tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def attached(library):
    return attach(library)


def test_all_legs_find_what_the_index_has(attached):
    number = 17
    title = attached.show(f"id-{number}").title
    assert title == document(number)["title_t"]
    for mode in ("hybrid", "lexical"):
        assert attached.search(title, mode=mode).hits[0].id == f"id-{number}"
    page = attached.search(title, mode="vector", size=20)
    assert len(page.hits) == 20
    exact = attached.search(title, mode="vector", size=20, exact=True)
    assert all(abs(a.score - b.score) < 1e-5 for a, b in zip(exact, page, strict=True))


@pytest.mark.parametrize(
    ("filter_", "test"),
    [
        ("year>=2005", lambda one: one["pub_year"] >= 2005),
        ("journal=nature", lambda one: one["journal"]["name"] == "Nature"),
        ("shelf='B 1' and not year<2000", lambda one: one["extra"]["shelf"] == "B 1" and one["pub_year"] >= 2000),
        ("author='Sample, Ana'", lambda one: bool(one["authors"])),
        ("not author='Bo Example1'", lambda one: all(a["name"] != "Bo Example1" for a in one["authors"])),
        ("shelf='B 2'", lambda one: one["extra"]["shelf"] == "B 2"),
        ("acquired=2020-03", lambda one: one["acquired"].startswith("2020-03")),
        ("acquired=2020-03-15", lambda one: one["acquired"].startswith("2020-03-15")),
        ("acquired>2020-03-15", lambda one: one["acquired"] > "2020-03-16"),
        ("authors exists", lambda one: bool(one["authors"])),
        ("id=id-7", lambda one: one == document(7)),
        ("doi=10.1000/abc.7", lambda one: one == document(7)),
        ("text says 'cafe 7'", lambda one: one == document(7)),
    ],
)  # fmt: skip
def test_filters_hold_for_every_leg(attached, filter_, test):
    expected = matching(test)
    assert expected
    listed = attached.search(filter=filter_, size=60)
    assert {hit.id for hit in listed} == expected
    assert listed.candidates == len(expected)
    nearest = attached.search("virus lung", mode="vector", filter=filter_, size=60, literal=True)
    assert {hit.id for hit in nearest} == expected


def test_facets_highlights_and_records_are_those_of_the_index(attached):
    page = attached.search(filter="year>=1990", facets=["year", "author", "shelf", "journal"], size=60)
    documents = [document(n) for n in range(60)]
    shelves = sorted({one["extra"]["shelf"] for one in documents})
    counts = page.facets.counts
    assert dict(counts["shelf"]) == {s: sum(one["extra"]["shelf"] == s for one in documents) for s in shelves}
    assert dict(counts["author"])["Ana Sample"] == sum(bool(one["authors"]) for one in documents)
    assert dict(counts["year"])[1991] == 3
    assert dict(counts["journal"]) == {"Nature": 30, "The Lancet": 30}
    years = [hit.paper.year for hit in page]
    assert years == sorted(years, reverse=True)
    hit = attached.search("cafe", mode="lexical").hits[0]
    assert "Café" in hit.paper.abstract
    paper = attached.show("10.1000/ABC.11")
    assert (paper.id, paper.authors, paper.venue) == ("id-11", ("Ana Sample", "Bo Example2"), "Nature")
    assert paper.extra == {"shelf": ("B 3",), "acquired": "2020-12-15T23:30:00Z"[:10]}
    assert attached.show("id-9").title == document(9)["title_t"][0]


def test_misspelled_words_and_other_spellings_are_searched(attached):
    page = attached.search("viurs", mode="lexical", size=60)
    assert page.notes == ('No paper says "viurs": searched for "virus". Search verbatim for the words as typed.',)
    found = {hit.id for hit in attached.search("virus", mode="lexical", size=60, verbatim=True)}
    assert {hit.id for hit in page} == found
    synonyms = {("xyzzy",): ("virus",)}
    assert {hit.id for hit in attached.search("xyzzy", mode="lexical", size=60, synonyms=synonyms)} == found
    assert attached.search("xyzzy", mode="lexical").hits == ()


def test_an_author_and_similar_papers_are_found(attached):
    page = attached.search("papers by Bo Example2", size=60)
    assert {hit.id for hit in page} == {
        f"id-{n}" for n in range(60) if any(a["name"] == "Bo Example2" for a in document(n)["authors"])
    }
    similar = attached.similar("10.1000/abc.3", size=5)
    assert len(similar.hits) == 5
    assert "id-3" not in {hit.id for hit in similar}


@pytest.mark.parametrize("call", [{}, {"mode": "lexical"}, {"join": "engine"}])
def test_requests_to_copy_are_in_the_names_of_the_owner(library, attached, call, tmp_path):
    options = {"filter": "year>=1995 and authors exists", "facets": ["journal", "shelf", "authors"], "size": 5, **call}
    requests = library.cluster.request("virus lung", index=attached.name, **options)
    (*_, last) = run("curl", requests.text("curl"), tmp_path)
    replies = last.get("responses", [last])
    hits = [hit for reply in replies for hit in reply["hits"]["hits"]]
    page = attached.search("virus lung", **options)
    if call.get("join") != "engine":
        assert sorted(hit["_id"] for hit in hits) == sorted(hit.id for hit in page)
    assert len(hits) == 5
    assert all({"title_t"} <= hit["_source"].keys() and "ses" not in hit["_source"] for hit in hits)
    assert any("<em>" in text for hit in hits for texts in hit.get("highlight", {}).values() for text in texts)
    total, counts = counts_of(replies)
    assert total == page.facets.matches
    assert [b["doc_count"] for b in counts["journal"]["buckets"]] == [n for _, n in page.facets.counts["journal"]]


@pytest.mark.parametrize("language", languages("curl", "python"))
def test_scripts_let_neighbours_count_in_the_names_of_the_owner(library, attached, language, tmp_path):
    options = {"filter": "year>=1995", "size": 8, "neighbours": 0.6}
    page = attached.search("virus lung", **options)
    requests = library.cluster.request("virus lung", index=attached.name, **options)
    (found,) = run(language, requests.text(language), tmp_path)
    assert [hit["_id"] for hit in found["hits"]["hits"]] == [hit.id for hit in page]
    assert [hit["_score"] for hit in found["hits"]["hits"]] == pytest.approx([hit.score for hit in page], abs=1e-6)
    assert [hit.id for hit in page] != [hit.id for hit in attached.search("virus lung", **options | {"neighbours": 0})]
    assert not requests.notes


def test_versions_of_a_work_are_one_hit(attached):
    title = attached.show("id-17").title
    every = attached.search(title, size=50)
    page = attached.search(title, size=50, collapse="work")
    papers = {hit.id: hit.paper for hit in every}
    groups = works(list(papers.values()), language=attached.index.schema.language)
    hidden = {version.id for hit in page for version in hit.versions}
    assert hidden == {id_ for group in groups for id_ in group} - {hit.id for hit in page}
    assert [hit.id for hit in page] == [hit.id for hit in every if hit.id not in hidden]
