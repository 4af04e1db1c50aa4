"""The search client of InstantSearch, used by the helper that is inside Algolia's widgets."""

from __future__ import annotations

import math

import pytest

import ses
from corpora.paper import Paper
from tests.ses.service.test_attacks import serving
from tests.tiny import make_model, papers

pytestmark = [pytest.mark.serve, pytest.mark.npm, pytest.mark.slow]

ABSTRACT = "🦠 is long. " * 40 + "Here is a virus. " + "More is said. " * 40
ODD = (
    Paper(
        "odd//./1",
        "🦠 virus & 🦇 <i>virus</i>",
        abstract=ABSTRACT,
        venue='J. "of" \\ <X>',
        authors=("Ada Byron",),
        year=1700,
    ),
    Paper("minus", "Minus", venue="-minus"),
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory, node):
    """The index, and what the widgets show of it."""
    folder = tmp_path_factory.mktemp("library")
    library = ses.open(
        folder / "indexes",
        model=str(make_model(folder / "model")),
        data_dir=folder / "data",
        cache_dir=folder / "cache",
        index="papers",
    )
    library.index("papers", [*papers(60), *ODD])
    with serving(library) as (host, port):
        yield library["papers"], node("instantsearch.mjs", f"http://{host}:{port}")


def ids(page):
    return [hit.id for hit in page]


def search(index, query="", **options):
    return index.search(query, mode="lexical", **{"size": 5, "facets": "venue", **options})


def test_pages_and_counts_are_those_of_a_search(shown):
    index, widgets = shown
    page = search(index, "virus", facet_size=10)
    first = widgets["virus"]
    assert first["ids"] == ids(page)
    assert widgets["second"]["ids"] == ids(search(index, "virus", offset=5))
    assert first["count"] == page.candidates
    assert first["pages"] == math.ceil(page.candidates / 5) > 2
    assert sorted(first["venues"]) == sorted([name, count, False] for name, count in page.facets.counts["venue"])
    years = [year for year, _ in search(index, "virus", facets="year", facet_size=1000).facets.counts["year"]]
    assert first["years"] == {"min": min(years), "max": max(years)} == {"min": 1700, "max": max(years)}
    assert widgets["listed"]["ids"] == ids(search(index, sort="title"))
    assert widgets["nothing"] | {"venues": []} == {
        "ids": [],
        "titles": [],
        "abstracts": [],
        "count": 0,
        "pages": 0,
        "venues": [],
    }


def test_pages_end_at_the_window(shown):
    index, widgets = shown
    found = ids(search(index, "virus", size=12, window=12))
    assert widgets["reached"] == [[found[start : start + 5], 3] for start in (0, 5, 10, 15, 45)]


def test_refinements_are_filters(shown):
    index, widgets = shown
    assert widgets["nature"]["ids"] == ids(search(index, "virus", filter="venue == Nature"))
    # The counts of a list in which one of several is chosen are those without the choice.
    chosen = [[name, count, name == "Nature"] for name, count, _ in widgets["virus"]["venues"]]
    assert sorted(widgets["nature"]["venues"]) == sorted(chosen)
    both = 'venue == (Nature, "The Lancet") and year >= 2000'
    assert widgets["both"]["ids"] == ids(search(index, "virus", filter=both)) != []
    assert widgets["without"]["ids"] == ids(search(index, "virus", filter="not venue == Nature"))
    assert widgets["odd"]["ids"] == ["odd//./1"]
    assert widgets["minus"]["ids"] == ["minus"]


def test_words_are_marked_whatever_the_characters(shown):
    _, widgets = shown
    titles = dict(zip(widgets["virus"]["ids"], widgets["virus"]["titles"], strict=True))
    abstracts = dict(zip(widgets["virus"]["ids"], widgets["virus"]["abstracts"], strict=True))
    assert abstracts["odd//./1"] == ABSTRACT.strip().replace("virus", "[virus]")
    assert titles["odd//./1"] == "🦠 [virus] & 🦇 <i>[virus]</i>"


def test_values_neighbours_and_errors(shown):
    index, widgets = shown
    (value,) = widgets["values"]
    wanted = dict(search(index, "virus").facets.counts["venue"])["The Lancet"]
    assert (value["value"], value["highlighted"], value["count"]) == ("The Lancet", "The [Lan]cet", wanted)
    assert widgets["similar"] == 3
    assert widgets["sent"] == ["mine"]
    assert widgets["refused"][0] == 400
    assert "yaer" in widgets["refused"][1]
