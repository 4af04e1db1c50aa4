"""The papers of each year as bars."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ses.service.web.histogram import HEIGHT, MOST_BARS, histogram

pytestmark = pytest.mark.serve


def test_years_without_papers_are_gaps():
    drawn = histogram([(2003, 4), (2000, 1)], 2001, None)
    assert [(bar.first, bar.count, bar.height, bar.chosen) for bar in drawn.bars] == [
        (2000, 1, HEIGHT / 2, False),
        (2001, 0, 0, True),
        (2002, 0, 0, True),
        (2003, 4, HEIGHT, True),
    ]
    assert (drawn.first, drawn.last, drawn.width) == (2000, 2003, 40)
    assert [bar.chosen for bar in histogram([(2003, 4), (2000, 2)], None, 2001).bars] == [True, True, False, False]
    assert histogram([(2000, 3)], None, None) is None


@given(st.dictionaries(st.integers(-9999, 9999), st.integers(1, 10**6), min_size=2))
def test_every_paper_is_in_one_bar(counts):
    drawn = histogram(list(counts.items()), None, None)
    assert len(drawn.bars) <= MOST_BARS
    assert sum(bar.count for bar in drawn.bars) == sum(counts.values())
    assert drawn.bars[0].first == min(counts)
    assert drawn.bars[-1].last == max(counts)
    assert all(one.last + 1 == other.first for one, other in zip(drawn.bars, drawn.bars[1:], strict=False))
    assert all(bar.height >= 2 for bar in drawn.bars if bar.count)
