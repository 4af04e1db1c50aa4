"""What a service answers is read strictly: a page as JSON gives an equal page, and anything else is refused."""

import math

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.documents import typed
from corpora.paper import Paper
from search_plugin.contract.legs import Contribution, Facets
from search_plugin.pages.highlights import Snippet
from search_plugin.pages.hit import Hit
from search_plugin.pages.page import Page


def read_page(content):
    return typed(Page, content, may_be_newer=True)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-(2**53), 2**53)
TEXTS = st.text(max_size=12)
LISTS = st.lists(TEXTS, max_size=3).map(tuple)
PAPERS = st.builds(
    Paper,
    TEXTS,
    TEXTS,
    abstract=TEXTS,
    authors=LISTS,
    year=st.none() | WHOLE,
    identifiers=LISTS,
    retracted=st.booleans(),
    extra=st.dictionaries(TEXTS, TEXTS | WHOLE | NUMBERS | st.booleans() | LISTS, max_size=3),
)
HITS = st.builds(
    Hit,
    WHOLE,
    PAPERS,
    NUMBERS,
    st.dictionaries(TEXTS, st.builds(Contribution, WHOLE, NUMBERS, NUMBERS), max_size=2),
    st.lists(
        st.builds(
            Snippet,
            st.sampled_from(("title", "abstract")),
            TEXTS,
            st.lists(st.tuples(WHOLE, WHOLE), max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    collapsed=WHOLE,
    known_by=TEXTS,
    weak=st.booleans(),
)
COUNTS = st.dictionaries(TEXTS, st.lists(st.tuples(TEXTS | WHOLE | NUMBERS, WHOLE), max_size=3).map(tuple), max_size=2)
PAGES = st.builds(
    Page,
    TEXTS,
    TEXTS,
    TEXTS,
    TEXTS,
    TEXTS,
    st.lists(HITS, max_size=3).map(tuple),
    WHOLE,
    WHOLE,
    st.dictionaries(TEXTS, WHOLE, max_size=2),
    st.none() | st.builds(Facets, WHOLE, TEXTS, COUNTS),
    st.dictionaries(TEXTS, NUMBERS, max_size=2),
    requests=st.dictionaries(TEXTS, LISTS, max_size=2),
    notes=LISTS,
)


@given(PAGES)
def test_any_page_is_read_as_it_was(page):
    again = read_page(orjson.loads(page.format("json")))
    assert again == page
    for one, other in zip(again, page, strict=True):
        assert {name: type(value) for name, value in one.paper.extra.items()} == {
            name: type(value) for name, value in other.paper.extra.items()
        }


def changed(value, path, new):
    """Plain values with another one at a place."""
    if not path:
        return new
    first, *rest = path
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[first] = changed(copy[first], rest, new)
    return copy


PLAIN = orjson.loads(
    Page(
        "papers",
        "virus",
        "hybrid",
        "rrf",
        "ses",
        (
            Hit(
                1,
                Paper("a", "A", authors=("B",)),
                1.5,
                {"prx": Contribution(1, 2, 3)},
                (Snippet("title", "A", ((0, 1),)),),
            ),
        ),
        1,
        100,
        {"prx": 1},
        Facets(1, "all", {"year": ((2020, 1),)}),
        {},
    ).format("json")
)


@pytest.mark.parametrize(
    ("path", "new"),
    [
        ([], None),
        ([], []),
        (["hits"], {}),
        (["hits"], None),
        (["hits", 0], "a"),
        (["hits", 0, "rank"], 1.5),
        (["hits", 0, "rank"], True),
        (["hits", 0, "score"], "1.5"),
        (["hits", 0, "paper"], None),
        (["hits", 0, "paper", "title"], 3),
        (["hits", 0, "paper", "authors"], "B"),
        (["hits", 0, "paper", "retracted"], 1),
        (["hits", 0, "paper", "extra"], {"a": [1]}),
        (["hits", 0, "paper", "extra"], {"a": {"b": "c"}}),
        (["hits", 0, "legs", "prx", "value"], None),
        (["hits", 0, "snippets", 0, "field"], "venue"),
        (["hits", 0, "snippets", 0, "spans", 0], [0, 1, 2]),
        (["found"], {"prx": "1"}),
        (["facets", "counts", "year", 0], [2020]),
        (["candidates"], None),
    ],
)
def test_another_shape_is_refused(path, new):
    assert math.isclose(read_page(PLAIN).hits[0].legs["prx"].raw, 2.0)
    with pytest.raises(ValueError, match=r" is not |can stand here|argument"):
        read_page(changed(PLAIN, path, new))


def test_what_is_missing_or_new():
    newer = changed(PLAIN, ["hits", 0], {**PLAIN["hits"][0], "link": "https://example.org/"})
    assert read_page({**newer, "next_cursor": "x"}) == read_page(PLAIN)
    with pytest.raises(ValueError, match="Page lacks or does not know query"):
        read_page({name: value for name, value in PLAIN.items() if name != "query"})
    assert read_page({name: value for name, value in PLAIN.items() if name != "notes"}).notes == ()
