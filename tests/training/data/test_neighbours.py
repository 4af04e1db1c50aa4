"""The builder neighbours: SciNCL's bands of neighbours in a citation graph's embeddings."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from corpora.errors import InputError
from tests.training.data.papers import build, paper, source
from tests.training.data.test_citations import rows
from training.data.builders.graph import read_graph
from training.data.builders.neighbours import embedded

BANDS = {"positives": 2, "positive_end": 4, "hard": 2, "hard_end": 12, "easy": 3, "dimension": 8}


def papers(count=40):
    draw = Random(5)
    cites = [[f"p{draw.randrange(count)}" for _ in range(4)] for _ in range(count)]
    return [paper(n, references_in_set=cites[n]) for n in range(count)]


def ranks(given):
    """Return each paper's others by cosine of the eigenvectors of largest absolute eigenvalue, nearest first."""
    graph = read_graph(source(given), "references_in_set")
    links = np.zeros((len(given), len(given)))
    for query, cited in graph.cited.items():
        links[query, list(cited)] = links[list(cited), query] = 1
    degrees = links.sum(axis=1)
    values, vectors = np.linalg.eigh(links / np.sqrt(np.outer(degrees, degrees)))
    largest = np.argsort(-np.abs(values))[:8]
    made = vectors[:, largest] * np.sqrt(np.abs(values[largest]))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    scores = made @ made.T
    np.fill_diagonal(scores, -2)
    return graph, made @ made.T, np.argsort(-scores, axis=1)[:, :-1]


def test_positives_and_hard_negatives_are_of_their_bands_and_easy_ones_beyond():
    given = papers()
    graph, cosines, nearest = ranks(given)
    made = rows(build("neighbours", given, **BANDS))
    found = embedded(graph, list(range(40)), 8, 1)
    np.testing.assert_allclose(found @ found.T, cosines, atol=1e-8)
    for query in range(40):
        own = [triplet for triplet in made if triplet[0] == query]
        near = nearest[query].tolist()
        assert sorted(positive for _, positive, _ in own) == sorted(near[2:4])
        assert all(negative in near[10:] for _, _, negative in own)
    hard = sum(negative in nearest[query].tolist()[10:12] for query, _, negative in made)
    assert 0 < hard < len(made) == 80


def test_the_negatives_are_as_many_as_asked_for():
    given = papers()
    _, _, nearest = ranks(given)
    made = rows(build("neighbours", given, **{**BANDS, "positives": 4, "hard": 1}))
    for query in range(40):
        own = [negative for asking, _, negative in made if asking == query]
        assert len(own) == len(set(own)) == 4
        assert sum(negative == nearest[query][11] for negative in own) == 1


def test_papers_without_links_take_no_part():
    given = source([*papers(), paper(90), paper(91)])
    made = rows(build("neighbours", given, **BANDS))
    assert not {90, 91} & {row for triplet in made for row in triplet}
    assert given.left_out == {"neither cites nor is cited": 2}


@pytest.mark.parametrize(
    ("bands", "told"),
    [
        ({"hard_end": 40}, "has 40 papers, and hard_end asks for neighbours up to rank 40; lower"),
        ({"positives": 5}, "need positives <= positive_end <= hard_end - hard"),
        ({"positive_end": 11}, "need positives <= positive_end <= hard_end - hard"),
    ],
)
def test_mistakes(bands, told):
    with pytest.raises(InputError, match=told):
        build("neighbours", papers(), **{**BANDS, **bands})


def test_the_last_rank_may_be_that_of_the_farthest_paper():
    given = papers()
    made = rows(build("neighbours", given, **{**BANDS, "hard_end": 39, "easy": 0}))
    _, _, nearest = ranks(given)
    hard = {query: {negative for asking, _, negative in made if asking == query} for query in range(40)}
    assert hard == {query: set(nearest[query][37:39].tolist()) for query in range(40)}
    # Bands may touch each other, and the best neighbour may be the first positive.
    touching = {**BANDS, "positives": 4, "positive_end": 4, "hard_end": 6, "easy": 9}
    made = rows(build("neighbours", given, **touching))
    for query in range(40):
        assert {right for asking, right, _ in made if asking == query} == set(nearest[query][:4].tolist())


def test_positives_and_negatives_are_paired_at_random():
    given = papers()
    _, _, nearest = ranks(given)
    made = rows(build("neighbours", given, **BANDS))
    own = [[triplet for triplet in made if triplet[0] == query] for query in range(40)]
    nearer = sum(first[1] == nearest[first[0]][2] for first, _ in own)
    assert 10 < nearer < 30
    hard = [sum(negative in nearest[query][10:12] for _, _, negative in own[query]) for query in range(40)]
    assert set(hard) == {0, 1, 2}
