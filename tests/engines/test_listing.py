"""A search without words lists papers: the same order on every engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corpora.errors import InputError
from search_plugin.contract.legs import BY_ID, parse_sort
from search_plugin.contract.schema import Field
from search_plugin.filters.matching import matches
from search_plugin.filters.parse import parse_filter
from search_plugin.request import SearchRequest, make_request
from search_plugin.search import search
from tests.engines.conftest import ENGINES, SCHEMA, by_http_too, documents, emptied, publish
from tests.engines.test_search import ENCODER

FIELDS = SCHEMA.with_fields([Field("seen", "date"), Field("impact", "number")])
DATES = ("2020", "2020-01-01", "2020-03", "2021-05-06", "2019-12-31", None, "2020-03-02")
IMPACTS = (0, 3, -2.5, None, 3.0, 1e9, 0.25)
TITLES = ["10 mice", "Ångström units", "Élan vital", "elan: Vital", "“Quoted” words", "zebra", "β-catenin", "病毒"]
"""In order; those of equal keys are ordered by id, and a title without a letter is last."""


def with_values(document, number):
    extra = {"seen": DATES[number % 7], "impact": IMPACTS[(number * 3) % 7]}
    extra = {name: value for name, value in extra.items() if value is not None}
    return replace(document, paper=replace(document.paper, extra=extra))


WRITTEN = [with_values(document, number) for number, document in enumerate(documents(200))]
PAPERS = {document.paper.id: document.paper for document in WRITTEN}


def published(engine):
    return publish(engine, WRITTEN, schema=FIELDS)


@pytest.fixture(scope="module", params=ENGINES)
def kept(request, tmp_path_factory):
    """An engine whose index these tests only read; those that change it make their own."""
    for engine in emptied(request.param, tmp_path_factory.mktemp("kept")):
        published(engine)
        yield engine


@pytest.fixture
def listed(kept):
    return kept.open("papers")


def listing(index, **options):
    return search(index, make_request("", fields=FIELDS.fields, **options))


def ids(page):
    return [hit.id for hit in page]


def in_order(name, where=None):
    """By the formula: those with a value, by value and id, then the others by id."""

    def key(paper):
        value = paper.value(name.removeprefix("-"))
        if isinstance(value, str):
            year, month, day = (*map(int, value.split("-")), 1, 1)[:3]
            value = year * 10_000 + month * 100 + day
        return (value is None, -(value or 0) if name.startswith("-") else value or 0, paper.id)

    passing = [paper for paper in PAPERS.values() if where is None or matches(where, paper, FIELDS.fields)]
    return [paper.id for paper in sorted(passing, key=key)]


@pytest.mark.parametrize("condition", ["", "year>=2000 and not journal=Nature", "not seen exists"])
def test_numbers_and_dates_are_sorted_page_by_page(listed, condition):
    where = parse_filter(condition, FIELDS.fields) if condition else None
    for sort in ("year", "-year", "seen", "-seen", "impact", "-impact"):
        expected = in_order(sort, where)
        assert len(expected) > 20
        pages = [listing(listed, sort=sort, filter=where, size=35, offset=offset) for offset in range(0, 200, 35)]
        assert [id_ for page in pages for id_ in ids(page)] == expected
        assert [hit.rank for page in pages for hit in page] == list(range(1, len(expected) + 1))
        assert {page.candidates for page in pages} == {len(expected)}
        assert pages[0][0].paper == PAPERS[expected[0]]
        assert {(page.sort, page.mode, page.query) for page in pages} == {(sort, "listing", "")}


@by_http_too
def test_the_newest_come_first_by_default(listed):
    page = listing(listed, size=200)
    assert ids(page) == in_order("-year")
    assert page.sort == "-year"
    assert all(hit.score == 0 and not hit.legs and not hit.snippets for hit in page)


@by_http_too
@pytest.mark.parametrize("descending", [False, True])
def test_titles_are_sorted_without_case_accents_and_signs(engine, descending):
    index = engine.build("papers", SCHEMA, "source")
    titles = ["!!!", *reversed(TITLES), "elan   VITAL?"]
    made = [replace(d, paper=replace(d.paper, title=title)) for d, title in zip(documents(10), titles, strict=True)]
    index.upsert(made)
    index.finish()
    engine.publish(index)
    by_key = [
        ["10 mice"],
        ["Ångström units"],
        ["elan: Vital", "Élan vital", "elan   VITAL?"],
        *([t] for t in TITLES[4:]),
    ]
    expected = [title for group in (reversed(by_key) if descending else by_key) for title in group]
    page = listing(engine.open("papers"), sort="-title" if descending else "title", size=20)
    assert [hit.title for hit in page] == [*expected, "!!!"]


@by_http_too
def test_changes_since_the_last_finish_are_listed(engine):
    published(engine)
    with engine.lock("papers"):
        index = engine.open("papers")
        index.delete(["p00001"])
        index.update({"p00002": {"impact": 1e12}, "p00003": {"impact": None}})
        index.finish()
    after = engine.open("papers")
    assert listing(after).candidates == 199
    assert ids(listing(after, sort="-impact", size=1)) == ["p00002"]
    assert "p00003" in ids(listing(after, sort="impact", size=200))[-29:]


@by_http_too
def test_facets_alone_read_no_paper(listed):
    page = listing(listed, size=0, facets=["journal", "year"])
    venues = [paper.venue for paper in PAPERS.values() if paper.venue]
    counts = {venue: venues.count(venue) for venue in venues}
    assert dict(page.facets.counts["journal"]) == counts
    assert (page.hits, page.candidates, page.facets.matches) == ((), 200, 200)
    assert page.facets.counted == "all that match the filter"
    some = listing(listed, size=0, facets="year", filter="year=2001")
    assert some.facets.counts["year"] == ((2001, some.candidates),)
    words = search(listed, SearchRequest("virus", mode="lexical", window=200, size=0, facets=("year",)))
    assert (words.hits, words.facets.matches) == ((), words.candidates)
    assert words.candidates > 20
    assert listing(listed, size=0).hits == ()


@by_http_too
def test_papers_found_are_sorted_on_wish_and_the_page_says_which(listed):
    best = search(listed, SearchRequest("virus lung", window=30, size=30), ENCODER)
    legs = [
        search(listed, SearchRequest("virus lung", window=30, size=30, mode=mode), ENCODER)
        for mode in ("lexical", "vector")
    ]
    by_year = search(listed, SearchRequest("virus lung", window=30, size=30, sort=parse_sort("-year")), ENCODER)
    found = by_year.candidates
    whole = [
        hit
        for offset in (0, 30)
        for hit in search(
            listed, SearchRequest("virus lung", window=60, size=30, offset=offset, sort=parse_sort("title")), ENCODER
        )
    ]
    assert by_year.notes == (
        f"Only the {found:,} papers that the search found are sorted; a larger window finds more.",
    )
    everything = search(listed, SearchRequest("virus lung", window=5_000, sort=parse_sort("-year")), ENCODER)
    assert everything.notes[0].endswith("papers that the search found are sorted.")
    assert [hit.id for hit in by_year] == [i for i in in_order("-year") if i in set(ids(by_year))]
    years = {hit.id: hit.paper.year or 0 for leg in legs for hit in leg}
    assert len(years) == found
    assert by_year[0].paper.year == max(years.values())
    assert [hit.title for hit in whole] == sorted(hit.title for hit in whole)
    assert by_year[0].legs
    assert best.notes == ()


def positions(index, order, where=None, size=23):
    """All ids of a listing, page by page by the position of the last one."""
    found, after = [], None
    for _ in range(100):
        page = index.listed(where, parse_sort(order, FIELDS.fields) if order != "id" else BY_ID, size, after)
        assert len(page.ids) <= size
        found += page.ids
        after = page.positions[-1] if page.ids else None
        if len(page.ids) < size:
            return found
    raise AssertionError("A listing has no end.")


@pytest.mark.parametrize("condition", ["", "year>=2000 or not seen exists"])
def test_a_listing_is_read_on_after_a_position(listed, condition):
    where = parse_filter(condition, FIELDS.fields) if condition else None
    for sort in ("year", "-year", "seen", "-seen", "impact", "-impact"):
        assert positions(listed, sort, where) == in_order(sort, where)
    assert positions(listed, "id", where) == sorted(in_order("year", where))
    for sort in ("title", "-title"):
        assert positions(listed, sort, where) == list(
            listed.listed(where, parse_sort(sort, FIELDS.fields), len(PAPERS)).ids
        )
    nothing = listed.listed(parse_filter("year=1000", FIELDS.fields), parse_sort("year"), 5)
    assert (nothing.ids, nothing.matches, list(nothing.positions)) == ([], 0, [])


@pytest.mark.parametrize("sort", ["-year", "title", "impact"])
def test_changes_while_a_listing_is_read_move_no_other_paper(engine, sort):
    listed = published(engine)
    order = parse_sort(sort, FIELDS.fields)
    before = list(listed.listed(None, order, len(PAPERS)).ids)
    first = listed.listed(None, order, 20)
    new = [replace(one, paper=replace(one.paper, id=f"n{one.paper.id}")) for one in WRITTEN[:30]]
    # The last paper read is among those deleted.
    gone = {before[3], before[19], before[20], before[50]}
    with engine.lock("papers"):
        index = engine.open("papers")
        index.delete(sorted(gone))
        index.upsert(new)
        index.finish()
    rest = engine.open("papers").listed(None, order, 500, first.positions[-1]).ids
    stayed = [id_ for id_ in before if id_ not in gone]
    assert [id_ for id_ in rest if not id_.startswith("n")] == stayed[stayed.index(before[18]) + 1 :]
    assert len({*first.ids, *rest}) == len(first.ids) + len(rest)


@by_http_too
def test_what_a_listing_can_not_do_is_said(listed):
    for name in ("rerank", "collapse"):
        with pytest.raises(InputError, match=f"listed and not ranked; leave {name} out"):
            listing(listed, **{name: "complete" if name == "rerank" else "year"})
    with pytest.raises(InputError, match=r"9,996 to 10,005 lie beyond the first 10,000.*export all results"):
        listing(listed, offset=9_995)
    assert listing(listed, offset=9_990).hits == ()
    with pytest.raises(InputError, match="can't be sorted by 'venue'; choose one of title, year, seen, impact, with -"):
        listing(listed, sort="venue")
