"""The builder coupling: papers that share references or an author."""

from __future__ import annotations

from collections import Counter

import pytest

from corpora.errors import InputError
from tests.training.data.papers import build, paper, source
from tests.training.data.test_citations import rows

SHARED = [["a", "b", "c"], ["B", "a"], ["c", "x"], ["y"], ["z", "b", "a"], []]


def papers(field="references"):
    return [paper(n, **{field: values}) for n, values in enumerate(SHARED)]


def test_positives_share_two_or_more_and_negatives_none():
    given = source(papers())
    made = rows(build("coupling", given))
    assert {(query, positive) for query, positive, _ in made} <= {
        (a, b) for a in (0, 1, 4) for b in (0, 1, 4) if a != b
    }
    # 2 shares one entry with 0: it is neither.
    assert {query: {negative for asking, _, negative in made if asking == query} for query in (0, 1, 4)} == {
        0: {3},
        1: {2, 3},
        4: {2, 3},
    }
    assert given.left_out == {"nothing under references": 1, "shares too little": 2}


def test_so_many_positives_of_a_paper_are_drawn():
    many = [paper(n, references=["a", "b"] if n < 9 else [f"c{n}"]) for n in range(30)]
    made = rows(build("coupling", many, per_query=3))
    assert Counter(query for query, _, _ in made) == dict.fromkeys(range(9), 3)
    assert len(set(made)) == len(made)


def test_authors_of_one_name():
    made = rows(build("coupling", papers("authors"), field="authors", fewest=1, per_query=9))
    assert (0, 2) in {(query, positive) for query, positive, _ in made}


def test_nothing_shared_is_a_mistake():
    with pytest.raises(InputError, match="No two papers share 9 entries of 'references'"):
        build("coupling", papers(), fewest=9)


def test_what_is_left_out_is_counted_each():
    bare = [paper(n, references=["a", "b"], title="", abstract="") for n in (20, 21)]
    given = source([*papers(), *bare, paper(22), paper(23, references=[])])
    assert rows(build("coupling", given)) == rows(build("coupling", papers()))
    assert given.left_out == {"no text": 2, "nothing under references": 3, "shares too little": 2}


def test_entries_that_come_twice_or_in_another_case_count_once():
    given = [paper(0, references=["a", "A", "a"]), paper(1, references=["a"]), paper(2, references=["b"])]
    with pytest.raises(InputError, match="No two papers share 2 entries"):
        build("coupling", given)
    assert rows(build("coupling", given, fewest=1)) == [(0, 1, 2), (1, 0, 2)]
