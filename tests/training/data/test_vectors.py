"""The builders that give texts a vector: whitened, and hybrid-queries."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from eval.embedder import Text, by_encoder
from eval.suites.kinds import OkapiBm25
from tests.training.data.papers import build, paper, source
from tests.training.data.test_mined import encoder  # noqa: F401 - a fixture
from training.data.builders.hybrid_queries import moved
from training.data.builders.whitened import whitened
from training.data.queries import KINDS

WORDS = ("virus", "lung", "cell", "protein", "galaxy", "star", "climate", "ocean", "water", "model", "graph")


def made_up(count):
    draw = np.random.default_rng(3)
    return [
        paper(n, title=" ".join(draw.choice(WORDS, 4)), abstract=" ".join(draw.choice(WORDS, 40))) for n in range(count)
    ]


def with_model(papers, encoder):  # noqa: F811
    return source(papers, model=lambda precision="fp32": encoder)


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_whitening_leaves_the_axes_and_evens_their_variances(strength):
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(4000, 6)) * [5, 3, 2, 1, 0.5, 0.2] @ np.linalg.qr(draw.normal(size=(6, 6)))[0] + 7
    centred = vectors - vectors.mean(axis=0)
    left, values, axes = np.linalg.svd(centred, full_matrices=False)
    wanted = left * values ** (1 - strength) @ axes
    found = whitened(vectors, strength)
    np.testing.assert_allclose(found, wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-9)


def test_papers_are_given_their_whitened_vectors(encoder):  # noqa: F811
    papers = made_up(encoder.card.dimension + 20)
    given = with_model(papers, encoder)
    made = build("whitened", given, strength=0.5)
    texts = [Text(one["id"], one["title"], one["abstract"]) for one in papers]
    wanted = whitened(by_encoder(encoder)(texts, Format.PRX).matrix, 0.5)
    np.testing.assert_allclose([one.record["label"] for one in made], wanted, atol=1e-5)
    assert [one.record["title"] for one in made] == [one["title"] for one in papers]
    drawn = build("whitened", given, most=encoder.card.dimension + 5)
    assert len(drawn) == encoder.card.dimension + 5
    assert given.left_out == {"not drawn": 15}
    with pytest.raises(InputError, match="more than as many; give more papers"):
        build("whitened", with_model(papers[:9], encoder))
    with pytest.raises(InputError, match="has the strength 2"):
        build("whitened", given, strength=2)


def test_a_query_goes_down_the_gradient_of_the_divergence():
    draw = np.random.default_rng(1)
    papers, query = (
        one / np.linalg.norm(one, axis=-1, keepdims=True) for one in (draw.normal(size=(9, 5)), np.ones(5))
    )
    teacher = draw.dirichlet(np.ones(9))
    options = {"steps": 1, "rate": 1e-6, "temperature": 0.05}

    def divergence(vector):
        logits = papers @ vector / 0.05
        return float((teacher * (np.log(teacher) - logits + np.log(np.exp(logits).sum()))).sum())

    slope = [(divergence(query + 1e-6 * one) - divergence(query - 1e-6 * one)) / 2e-6 for one in np.eye(5)]
    step = (moved(query, papers, teacher, options) - query) / 1e-6
    down = -0.05 * np.array(slope)  # the step leaves out the temperature's factor
    np.testing.assert_allclose(step, down - (down @ query) * query, atol=1e-4)
    there = moved(query, papers, teacher, {**options, "steps": 50, "rate": 0.1})
    assert np.linalg.norm(there) == pytest.approx(1)
    assert divergence(there) < divergence(query) / 2


def test_queries_come_nearer_to_what_the_hybrid_ranks_first(encoder):  # noqa: F811
    papers = made_up(60)
    given = with_model(papers, encoder)
    kinds = {"titles": 1, "conclusions": 0, "keywords": 0, "citations": 0, "least": 5}
    made = build("hybrid-queries", given, **kinds, depth=20, answer=1.0, steps=10)
    assert len(made) > 50
    near = []
    for one in made:
        asked = one.record["title"]
        answer = next(other for other in papers if other["title"] == asked)
        paper_vector = encoder.encode([encoder.card.text("", answer["abstract"])], Format.PRX)[0]
        own = encoder.encode([asked], Format.QRY)[0]
        paper_vector, own = paper_vector / np.linalg.norm(paper_vector), own / np.linalg.norm(own)
        near.append(np.array(one.record["label"]) @ paper_vector - own @ paper_vector)
    assert np.mean(near) > 0.02


def test_a_querys_vector_is_that_of_the_formula(encoder):  # noqa: F811
    papers = made_up(12)
    asked = [{"query": "virus lung cell", "pos": papers[4], "neg": papers[2]}]
    queries = [{"query": {"title": f"galaxy star {n}"}, "pos": papers[5], "neg": papers[6]} for n in range(2)]
    given = with_model([*papers, *asked, *queries], encoder)
    options = {"depth": 3, "teacher_temperature": 0.2, "temperature": 0.1, "answer": 0.4, "steps": 2, "rate": 0.3}
    (made,) = build("hybrid-queries", given, **dict.fromkeys(KINDS, 0), **options)
    assert given.left_out == {"no query can be made of it": 12, "its query is a paper": 2}

    words = OkapiBm25([f"{one['title']} {one['abstract']}" for one in papers]).scores("virus lung cell")
    vectors = encoder.encode([encoder.card.text(one["title"], one["abstract"]) for one in papers], Format.PRX)
    own = encoder.encode(["virus lung cell"], Format.QRY)[0]
    assert encoder.card.similarity == "l2"
    near = -np.linalg.norm(vectors - own, axis=1)
    rows = sorted({4, *np.argsort(-words, kind="stable")[:3], *np.argsort(-near, kind="stable")[:3]})
    fused = np.mean([(one[rows] - one[rows].min()) / np.ptp(one[rows]) for one in (words, near)], axis=0)
    teacher = 0.4 * (np.array(rows) == 4) + 0.6 * np.exp(fused / 0.2) / np.exp(fused / 0.2).sum()
    vectors = vectors[rows] / np.linalg.norm(vectors[rows], axis=1, keepdims=True)
    vector = own / np.linalg.norm(own)
    for _ in range(2):
        student = np.exp(vectors @ vector / 0.1)
        vector = vector + 0.3 * (teacher - student / student.sum()) @ vectors
        vector /= np.linalg.norm(vector)
    assert made.record["title"] == "virus lung cell"
    np.testing.assert_allclose(made.record["label"], vector, atol=1e-4)
    assert all(round(one, 5) == one for one in made.record["label"])
    assert any(round(one, 4) != one for one in made.record["label"])


def test_directions_without_variance_stay_zero_and_one_paper_more_than_directions_is_enough(encoder):  # noqa: F811
    vectors = np.random.default_rng(2).normal(size=(50, 3)) @ np.eye(3, 4)
    np.testing.assert_allclose(whitened(vectors, 1.0)[:, 3], 0, atol=1e-12)
    papers = made_up(encoder.card.dimension + 1)
    empty = [paper(999, title="", abstract="")]
    assert len(build("whitened", with_model([*papers, *empty], encoder))) == len(papers)
    with pytest.raises(
        InputError, match=f"has {encoder.card.dimension} papers, and whitening {encoder.card.dimension}"
    ):
        build("whitened", with_model([*papers[1:], *empty], encoder))
    for strength in (-0.1, 1.1):
        with pytest.raises(InputError, match="choose a number from 0 to 1"):
            build("whitened", with_model(papers, encoder), strength=strength)
