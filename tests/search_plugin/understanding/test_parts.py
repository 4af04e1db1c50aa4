"""The parts of a condition, and the condition without one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_plugin.contract.tree import And, Not, Or, Says
from search_plugin.filters.parse import as_query
from search_plugin.understanding.parts import parts_of, without_part
from search_plugin.understanding.queries import read_query

WHERE = read_query('("a1" OR "b2") AND NOT ("c3" OR "d4") AND year:2020').filter


def numbered(part):
    """Yield number, operator and text of a part and all below it."""
    yield part.number, part.operator, part.text
    for one in part.parts:
        yield from numbered(one)


def test_parts_are_numbered_in_their_order():
    assert list(numbered(parts_of(WHERE)))[1:] == [
        (1, "or", "a1 OR b2"),
        (2, "", "a1"),
        (3, "", "b2"),
        (4, "not", "NOT (c3 OR d4)"),
        (5, "or", "c3 OR d4"),
        (6, "", "c3"),
        (7, "", "d4"),
        (8, "", "year:2020"),
    ]
    assert (parts_of(WHERE).number, parts_of(WHERE).operator) == (0, "and")


@pytest.mark.parametrize(
    ("number", "left"),
    [
        (1, "NOT (c3 OR d4) AND year:2020"),
        (2, "b2 AND NOT (c3 OR d4) AND year:2020"),
        (4, "(a1 OR b2) AND year:2020"),
        (5, "(a1 OR b2) AND year:2020"),
        (6, "(a1 OR b2) AND NOT d4 AND year:2020"),
        (8, "(a1 OR b2) AND NOT (c3 OR d4)"),
        (9, "(a1 OR b2) AND NOT (c3 OR d4) AND year:2020"),
    ],
)
def test_a_part_is_taken_away(number, left):
    assert as_query(without_part(WHERE, number)) == left


def test_nothing_is_left_without_the_whole():
    assert without_part(WHERE, 0) is None
    assert without_part(Not(Says("text", "a1")), 1) is None


def size(where):
    parts = where.parts if isinstance(where, And | Or) else (where.part,) if isinstance(where, Not) else ()
    return 1 + sum(map(size, parts))


words = st.sampled_from([Says("text", word) for word in ("a1", "b2", "c3", "d4")])
conditions = st.recursive(
    words,
    lambda inner: st.one_of(
        inner.map(Not), st.tuples(inner, inner).map(And), st.lists(inner, min_size=2, max_size=4).map(tuple).map(Or)
    ),
    max_leaves=8,
)


@given(conditions)
def test_a_word_that_is_taken_away_is_one_less(where):
    parts = list(numbered(parts_of(where)))
    assert [number for number, *_ in parts] == list(range(size(where)))
    for number, operator, _ in parts:
        left = without_part(where, number)
        if not operator and left:
            assert len(list(words_in(left))) < len(list(words_in(where)))


def words_in(where):
    if isinstance(where, Says):
        yield where.words
    for part in where.parts if isinstance(where, And | Or) else (where.part,) if isinstance(where, Not) else ():
        yield from words_in(part)
