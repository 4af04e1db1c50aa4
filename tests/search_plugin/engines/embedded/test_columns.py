"""Columns that are saved in parts hold what columns of all rows do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpora.paper import Paper
from search_plugin.engines.embedded.columns import gather, load, save

KINDS = {"year": "number", "authors": "keywords", "venue": "keyword"}
AUTHORS = [f"author {number}" for number in range(40)]
papers = st.none() | st.builds(
    lambda year, authors, venue: Paper("1", "x", year=year, authors=tuple(authors), venue=venue),
    st.none() | st.integers(1900, 2000),
    st.lists(st.sampled_from(AUTHORS), max_size=5),
    st.sampled_from(["", "Cell", "Lung"]),
)


def told(columns, name, value):
    """The rows that hold a value, of columns that may lack the field."""
    return columns.postings[name].of(value).tolist() if name in columns.postings else []


@given(st.lists(papers, max_size=12), st.lists(papers, max_size=12), st.lists(papers, min_size=1, max_size=12))
def test_parts_hold_what_all_rows_do(tmp_path_factory, first, second, third):
    folder, everything = tmp_path_factory.mktemp("columns"), [*first, *second, *third]
    without_venue = {name: kind for name, kind in KINDS.items() if name != "venue"}
    if first:
        save(folder, [gather(first, 0, without_venue)])
    later = [gather(second, len(first), KINDS), gather(third, len(first) + len(second), KINDS)]
    save(folder, [load(folder, len(first)), *later])
    columns = load(folder, 100)
    assert (columns.start, columns.stop) == (0, len(everything))
    years = [float(paper.year) if paper and paper.year else np.nan for paper in everything]
    assert np.array_equal(columns.numbers["year"], years, equal_nan=True)
    for author in AUTHORS:
        rows = [row for row, paper in enumerate(everything) if paper and author in paper.authors]
        assert told(columns, "authors", author) == rows
    for venue in ("Cell", "Lung"):
        rows = [row for row, paper in enumerate(everything) if paper and paper.venue == venue]
        assert told(columns, "venue", venue) == [row for row in rows if row >= len(first)]
    keys = columns.postings["authors"].keys
    assert (keys[:-1] < keys[1:]).all()


@given(st.lists(papers, max_size=5), st.lists(papers, min_size=1, max_size=5))
def test_a_number_that_earlier_rows_lack_is_missing_there(tmp_path_factory, first, second):
    folder = tmp_path_factory.mktemp("columns")
    save(folder, [gather(first, 0, {"authors": "keywords"}), gather(second, len(first), KINDS)])
    years = load(folder, 100).numbers["year"]
    assert np.isnan(years[: len(first)]).all()
    assert len(years) == len(first) + len(second)
