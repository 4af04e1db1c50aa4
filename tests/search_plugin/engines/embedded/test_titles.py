"""Sort keys of titles, kept in a file and joined with those of later rows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corpora.paper import Paper
from search_plugin.contract.legs import title_key
from search_plugin.engines.embedded.titles import gather, load, save

rows = st.lists(st.none() | st.text(min_size=1, max_size=9).map(lambda title: Paper("1", title)), max_size=6)


@given(rows, rows)
def test_joined_keys_are_those_of_all_rows(tmp_path_factory, first, second):
    folder = tmp_path_factory.mktemp("titles")
    if first:
        save(folder, [gather(first)])
    if first or second:
        save(folder, [load(folder, len(first)), gather(second)])
    keys = load(folder, 100)
    expected = [title_key(paper.title).encode() if paper else b"" for paper in [*first, *second]]
    assert [keys.key(row) for row in range(len(keys))] == expected
