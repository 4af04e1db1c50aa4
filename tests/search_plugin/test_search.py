"""From request to page, on the embedded engine and a tiny model."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from corpora.errors import InputError
from search_plugin.filters.parse import parse_filter
from search_plugin.request import SearchRequest, clean_query, make_request, typed_query
from search_plugin.search import search, similar
from tests.indexer.jobs import engine_in, make_job, run_job
from tests.tiny import make_model, papers, write_jsonl


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    written = [*papers(120), replace(papers(1)[0], id="solo", title="neutrino", abstract="")]
    job = make_job(folder, write_jsonl(folder / "corpus.jsonl", written))
    run_job(folder, job)
    return folder, engine_in(folder).open("papers"), job.encoder()


def test_hybrid_adds_up_its_legs(world):
    _, index, encoder = world
    page = search(index, SearchRequest("virus lung protein", size=20), encoder)
    assert [hit.rank for hit in page.hits] == list(range(1, 21))
    assert [hit.score for hit in page.hits] == sorted((hit.score for hit in page.hits), reverse=True)
    legs = {leg for hit in page.hits for leg in hit.legs}
    assert legs == {"lexical", "prx", "neighbours"}
    for hit in page.hits:
        assert hit.score == pytest.approx(sum(part.value for part in hit.legs.values()))
    with_words = holding(index, "virus", "lung", "protein")
    assert page.found == {"lexical": len(with_words), "prx": 100}
    assert 100 <= page.candidates <= 100 + len(with_words)


def holding(index, *words):
    """The papers that hold one of some words."""
    read = index.papers(list(index.ids())).values()
    return {paper.id for paper in read if set(words) & set(f"{paper.title} {paper.abstract}".split())}


def test_each_mode_runs_only_its_legs(world):
    _, index, encoder = world
    lexical = search(index, SearchRequest("virus", mode="lexical", size=100))
    assert {hit.paper.id for hit in lexical.hits} == holding(index, "virus") != set()
    assert all(set(hit.legs) == {"lexical"} for hit in lexical.hits)
    assert all("virus" in f"{hit.paper.title} {hit.paper.abstract}" for hit in lexical.hits)
    assert all(hit.snippets for hit in lexical.hits)
    vector = search(index, SearchRequest("virus", mode="vector"), encoder)
    assert len(vector.hits) == 10
    assert all(set(hit.legs) == {"prx"} for hit in vector.hits)


def test_no_hit_and_one_hit_behave(world):
    _, index, encoder = world
    nothing = search(index, SearchRequest("xyzzy", mode="lexical", facets=("journal",)))
    assert nothing.hits == ()
    assert nothing.facets.matches == 0
    one = search(index, SearchRequest("neutrinos", mode="lexical"))
    assert [hit.paper.id for hit in one.hits] == ["solo"]
    assert one.hits[0].score == 1.0
    both = search(index, SearchRequest("neutrinos"), encoder)
    assert "solo" in [hit.paper.id for hit in both.hits]
    none_pass = search(index, SearchRequest("virus", filter=parse_filter("year>3000")), encoder)
    assert none_pass.hits == ()
    assert none_pass.candidates == 0


def test_pages_follow_each_other_inside_the_window(world):
    _, index, encoder = world
    whole = search(index, SearchRequest("virus cell", size=30), encoder).hits
    parts = [search(index, SearchRequest("virus cell", size=10, offset=offset), encoder).hits for offset in (0, 10, 20)]
    assert [hit for part in parts for hit in part] == list(whole)


def test_facets_keep_the_name_the_user_gave(world):
    _, index, encoder = world
    page = search(index, SearchRequest("virus", facets=("journal", "year")), encoder)
    assert set(page.facets.counts) == {"journal", "year"}
    words = search(index, SearchRequest("virus", mode="lexical", facets=("journal",))).facets
    venues = Counter(paper.venue for paper in index.papers(list(holding(index, "virus"))).values())
    assert words.matches == venues.total()
    assert dict(words.counts["journal"]) == {venue: count for venue, count in venues.items() if venue} != {}
    with pytest.raises(InputError, match=r"There is no field 'colour'.*choose one of author, authors"):
        search(index, SearchRequest("virus", facets=("colour",)), encoder)


def test_a_facet_shows_as_many_values_as_asked_for(world):
    _, index, _ = world
    counts = {size: search(index, SearchRequest("", facets=("year",), facet_size=size)).facets for size in (2, 10, 50)}
    shown = {size: facets.counts["year"] for size, facets in counts.items()}
    assert [len(one) for one in shown.values()] == [2, 10, len(dict(index.value_counts("year", 99)))]
    assert shown[50][:10] == shown[10]
    for wrong in (0, 1_001):
        with pytest.raises(InputError, match="give a whole number from 1 to 1,000"):
            SearchRequest("", facet_size=wrong)


@pytest.mark.parametrize(
    ("typed", "kinds"),
    [
        ("lung", []),
        ("virus lung", ["expanded"]),
        ("vaccinne lung", ["corrected"]),
        ("lung 2020", ["preferred"]),
        ("title:lung -galaxy", ["operators"]),
    ],
)
def test_a_page_says_how_it_went_beyond_the_words_as_typed_and_how_to_undo_it(world, typed, kinds):
    _, index, _ = world
    given = {"mode": "lexical", "fields": index.schema.fields}
    changes = search(index, make_request(typed, **given)).changes
    assert [one.kind for one in changes] == kinds
    for one in changes:
        again = search(index, make_request(typed, **given, **{one.undo: True})).changes
        assert one.kind not in [other.kind for other in again]


def test_similar_leaves_the_paper_itself_out(world):
    _, index, _ = world
    page = similar(index, "p00005")
    assert len(page.hits) == 10
    assert "p00005" not in [hit.paper.id for hit in page.hits]
    hybrid = similar(index, "p00005", SearchRequest("-", mode="hybrid", filter=parse_filter("year exists")))
    assert {leg for hit in hybrid.hits for leg in hit.legs} == {"lexical", "prx", "neighbours"}
    assert [bool(hit.paper.year) for hit in hybrid.hits] == [True] * 10
    with pytest.raises(InputError, match="holds no paper 'none'"):
        similar(index, "none")


def test_another_model_is_refused_naming_both(world, tmp_path):
    folder, index, _ = world
    make_model(tmp_path / "model", seed=5)
    other = make_job(tmp_path, tmp_path / "none").encoder()
    with pytest.raises(InputError) as caught:
        search(index, SearchRequest("virus"), other)
    assert str(folder / "model") in str(caught.value)
    assert str(tmp_path / "model") in str(caught.value)
    with pytest.raises(InputError, match="needs the model that made the index"):
        search(index, SearchRequest("virus"))


def test_a_page_is_ready_for_json(world):
    _, index, encoder = world
    page = search(index, SearchRequest("virus", facets=("year",)), encoder)
    assert json.loads(json.dumps(page.to_dict()))["hits"][0]["paper"]["id"] == page.hits[0].paper.id


def test_queries_are_cleaned_and_bounded():
    assert clean_query(" a\x00b\n\tc\ud800 ") == "a b c"
    assert clean_query("one </s> two") == "one </s> two"
    assert typed_query("<i>E. coli</i> in CO<sub>2</sub> &amp; air, p<0.05") == "E. coli in CO2 & air, p<0.05"
    assert {typed_query(f"1. virus{end}2. lung{end}3. 1 and 2") for end in ("\n", "\r\n", "\u2028")} == {
        "(virus) AND (lung)"
    }
    assert clean_query("فيروس كورونا 病毒") == "فيروس كورونا 病毒"
    assert [SearchRequest(empty).query for empty in ("", "   ", "\x00\x01")] == ["", "", ""]
    with pytest.raises(InputError, match="has 1,048,576 characters; shorten it to at most 10,000"):
        SearchRequest("a" * (1 << 20))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": -1}, "size can't be -1; give a whole number from 0 to 10,000"),
        ({"offset": -1}, "offset can't be -1; give a whole number from 0 to 10,000"),
        (
            {"size": 50, "offset": 60, "mode": "vector"},
            "beyond the search window of 100; ask for a window of at least 110",
        ),
        ({"window": 20_000}, "window can't be 20,000; give a whole number from 1 to 10,000"),
        ({"mode": "magic"}, "no mode 'magic'; choose one of lexical, vector, hybrid"),
    ],
)
def test_pages_that_cannot_be_had_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        SearchRequest("virus", **options)


@pytest.mark.parametrize("query", ["病毒感染", "فيروس كورونا", '" OR 1=1 --', "a" * 10_000, "*", "👩‍🔬 research"])
def test_any_text_is_a_query(world, query):
    _, index, encoder = world
    assert search(index, SearchRequest(query), encoder).hits
