"""The builder citations: which papers may be positives and negatives, and how many of each."""

from __future__ import annotations

import json
import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from tests.training.data.papers import asks, build, paper, source
from training.data.builders.graph import others

CITES = {0: [1, 2], 1: [2, 3, 4], 2: [4, 0], 3: [5], 6: [7, 99]}
"""Citations among twenty papers, numbered; 99 is not there."""


def papers(cites=CITES, count=20, key="references_in_set"):
    return [paper(n, **{key: [f"p{cited}" for cited in cites.get(n, ())]}) for n in range(count)]


def rows(made):
    """Return query, positive and negative of each triplet as numbers."""
    for one in made:
        assert asks(one) == f"p{one.record['query']['title'].split()[1]}"
        assert one.record["pos"].keys() == {"title", "abstract"}
    return [tuple(int(one.record[part]["title"].split()[1]) for part in ("query", "pos", "neg")) for one in made]


def admissible(cites, count):
    """Return positives, hard and easy negatives of each citing paper, by the words of SPECTER's section 2.3."""
    found = {}
    for query in range(count):
        cited = {row for row in cites.get(query, ()) if row < count and row != query}
        if cited:
            hard = {far for row in cited for far in cites.get(row, ()) if far < count} - cited - {query}
            found[query] = cited, hard, set(range(count)) - cited - hard - {query}
    return found


def test_every_admissible_triplet_is_drawn_and_no_other():
    """With SPECTER's program on the same graph, the sets of positives and of negatives of 0, 1 and 2 are these."""
    wanted = {0: ({1, 2}, {3, 4}), 1: ({2, 3, 4}, {0, 5}), 2: ({0, 4}, {1}), 3: ({5}, set()), 6: ({7}, set())}
    assert {query: found[:2] for query, found in admissible(CITES, 20).items()} == wanted
    made = rows(build("citations", papers(), per_query=200))
    for query, (positive, hard, easy) in admissible(CITES, 20).items():
        own = [triplet for triplet in made if triplet[0] == query]
        assert {triplet[1] for triplet in own} == positive
        assert {triplet[2] for triplet in own} == hard | easy


@pytest.mark.parametrize(("hard", "count"), [(0.5, 3), (0.3, 2), (0, 0), (1, 4)])
def test_the_share_of_hard_negatives_is_rounded_up_as_in_specters_program(hard, count):
    """Paper 0 has four pairs of a positive and a hard negative, so there are never more; easy ones fill up."""
    own = [triplet for triplet in rows(build("citations", papers(), hard=hard)) if triplet[0] == 0]
    assert len(own) == len(set(own)) == 5
    assert sum(negative in (3, 4) for _, _, negative in own) == count


def test_papers_without_a_hard_negative_get_easy_ones():
    own = [triplet for triplet in rows(build("citations", papers())) if triplet[0] == 3]
    assert len(own) == 5
    assert all(positive == 5 and negative not in (3, 5) for _, positive, negative in own)


def test_papers_that_cite_nothing_are_counted():
    given = source([*papers(), paper(30, title="", abstract="")])
    build("citations", given)
    assert given.left_out == {"cites none of the papers": 15, "no text": 1}


def test_draws_depend_on_the_seed_and_the_paper_alone():
    made = rows(build("citations", papers()))
    assert rows(build("citations", papers())) == made
    assert rows(build("citations", source(papers(), seed=2))) != made
    fewer = {query: cites for query, cites in CITES.items() if query != 1}
    of_six = [triplet for triplet in rows(build("citations", papers(fewer))) if triplet[0] == 6]
    assert of_six == [triplet for triplet in made if triplet[0] == 6]


def test_specters_own_graph(tmp_path):
    graph = {
        "p0": {"p1": {"count": 5}, "p2": {"count": 5}, "p7": {"count": 1}, "away": {"count": 1}},
        "p1": {"p3": {"count": 5}},
        "away": {"p1": {"count": 5}},
    }
    (tmp_path / "data.json").write_text(json.dumps(graph))
    given = source(papers({}), files={"graph": tmp_path / "data.json"})
    made = rows(build("citations", given, per_query=9))
    assert {query for query, _, _ in made} == {0, 1}
    own = [triplet for triplet in made if triplet[0] == 0]
    assert {positive for _, positive, _ in own} == {1, 2}
    assert Counter(negative == 7 for _, _, negative in own) == {True: 2, False: 7}
    (tmp_path / "data.json").write_text(json.dumps({"p0": {"p1": 5}}))
    with pytest.raises(InputError, match=r"data.json, line 1: the citations of a paper must be of the form"):
        build("citations", given)


@pytest.mark.parametrize("written", ["W7", "https://openalex.org/w7", "doi:10.1000/X", "https://doi.org/10.1000/x"])
def test_references_may_be_written_otherwise_than_the_ids(written):
    cited = paper(1) | {"id": "https://openalex.org/W7", "doi": "10.1000/X"}
    made = build("citations", [paper(0, cites=[written]), cited, paper(2)], references="cites")
    assert [one.record["pos"]["title"] for one in made] == ["Paper 1"]


def test_a_graph_without_citations_is_a_mistake():
    with pytest.raises(InputError, match="No paper cites another of them by 'refs'"):
        build("citations", papers(), references="refs")


GRAPHS = st.dictionaries(st.integers(0, 11), st.lists(st.integers(0, 14), max_size=5), max_size=12)


@given(GRAPHS, st.integers(1, 8), st.sampled_from([0, 0.3, 0.5, 1]))
def test_triplets_of_any_graph_are_admissible(cites, per_query, hard):
    wanted = admissible(cites, 12)
    if not wanted:
        return
    made = rows(build("citations", papers(cites, 12), per_query=per_query, hard=hard))
    for query, (positives, near, far) in wanted.items():
        own = [triplet for triplet in made if triplet[0] == query]
        assert len(set(own)) == len(own)
        hards = sum(negative in near for _, _, negative in own)
        assert hards == min(math.ceil(hard * per_query), len(positives) * len(near))
        assert len(own) == min(per_query, hards + len(far))
        assert all(positive in positives and negative in near | far for _, positive, negative in own)
    assert {query for query, _, _ in made} == {
        query for query, (_, near, far) in wanted.items() if near or far
    } or hard == 0


def test_texts_that_are_missing_are_counted_each():
    bare = [paper(n, title="", abstract="") for n in (30, 31)]
    given = source([*bare[:1], *papers(), *bare[1:]])
    assert rows(build("citations", given)) == rows(build("citations", papers()))
    assert given.left_out == {"cites none of the papers": 15, "no text": 2}


def test_others_are_drawn_each_once_and_never_those_without():
    for size, without, count in ((9, {0, 4}, 7), (9, {0, 4}, 8), (9, {0, 4}, 3), (90, {0, 4}, 3), (4, {0, 1, 2, 3}, 2)):
        found = others(Random(1), count, size, without)
        assert len(set(found)) == len(found) == min(count, size - len(without))
        assert set(found) <= set(range(size)) - without
    counts = Counter(row for seed in range(4000) for row in others(Random(seed), 2, 10, {3, 9}))
    assert counts.keys() == set(range(10)) - {3, 9}
    assert all(900 < count < 1100 for count in counts.values())
