"""The linear model of relevance, beside the same formulas written by hand."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from corpora.errors import InputError
from corpora.paper import Paper
from products.relevance import FOR_FEEDS, FOR_SCREENING, relevance, views_of

TITLES = ["masks and virus", "virus in schools", "the galaxy", "stars of a galaxy", "virus", "quantum stars"]


def some(texts=TITLES):
    return [Paper(f"p{row}", text) for row, text in enumerate(texts)]


def by_hand(count, dimension=4):
    draw = np.random.default_rng(0)
    return {f"p{row}": draw.standard_normal(dimension).astype(np.float32) for row in range(count)}


def analysed(text):
    words = re.findall(r"[^\W_]{2,}", text.lower())
    return words + [f"{one} {two}" for one, two in pairwise(words)]


@given(st.lists(st.text("abAB é_.1", max_size=30), min_size=1, max_size=25))
def test_words_and_pairs_are_weighed_as_by_scikit_learn(texts):
    found = [matrix for matrix, _ in views_of(some(texts), {}).matrices]
    share = 0.95 if len(texts) > 20 else 1.0
    try:
        expected = TfidfVectorizer(analyzer=analysed, sublinear_tf=True, max_df=share).fit_transform(texts)
    except ValueError:  # there are no words
        assert found == []
        return
    (words,) = found
    assert words.shape == expected.shape
    np.testing.assert_allclose((words @ words.T).toarray(), (expected @ expected.T).toarray(), atol=1e-12)
    # The columns are in another order.
    assert sorted(words.max(axis=0).toarray()[0]) == pytest.approx(sorted(expected.max(axis=0).toarray()[0]))


def test_words_and_pairs_are_weighed_by_tf_idf():
    (words, _), *_ = views_of(some(["ab cd cd", "cd ef"]), {}).matrices
    # ab, ab cd, cd, cd cd, cd ef, ef; idf = ln((1 + n) / (1 + df)) + 1, tf = 1 + ln tf
    rare, common = np.log(3 / 2) + 1, 1.0
    first = np.array([rare, rare, (1 + np.log(2)) * common, rare, 0, 0])
    np.testing.assert_allclose(sorted(words.toarray()[0]), sorted(first / np.linalg.norm(first)), rtol=1e-6)


def test_words_of_most_papers_are_left_out_where_there_are_many():
    texts = [f"same word{row:02d}" for row in range(40)]
    (words, _), *_ = views_of(some(texts), {}).matrices
    assert words.shape == (40, 80)  # each word, and its pair with the one that all share


def test_scripts_without_spaces_have_pairs_of_characters():
    (words, _), *_ = views_of(some(["口罩病毒", "病毒"]), {}).matrices
    assert (words[0].multiply(words[1])).nnz == 1  # 病毒


def test_vectors_are_centred_and_of_length_one():
    vectors = by_hand(3)
    views = views_of(some()[:3], vectors)
    rows = np.array([vectors[f"p{row}"] for row in range(3)])
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(views.vectors, units, rtol=1e-5)
    centred = units - units.mean(axis=0)
    (_, _), (found, weight) = views.matrices
    np.testing.assert_allclose(found, centred / np.linalg.norm(centred, axis=1, keepdims=True), rtol=1e-4)
    assert weight == FOR_FEEDS.vectors


def test_screening_weighs_the_words_of_titles_too():
    vectors = by_hand(6)
    papers = [Paper(paper.id, paper.title, "long abstracts") for paper in some()]
    (words, one), (titles, of_titles), (found, of_vectors) = views_of(papers, vectors, FOR_SCREENING).matrices
    (alone, _), *_ = views_of(some(), {}).matrices
    assert (one, of_titles, of_vectors) == (1, FOR_SCREENING.titles, FOR_SCREENING.vectors)
    np.testing.assert_allclose(titles.toarray(), alone.toarray(), rtol=1e-6)
    assert words.shape[1] > titles.shape[1]
    np.testing.assert_allclose(found, views_of(papers, vectors).matrices[1][0])
    assert len(views_of(papers, vectors).matrices) == 2


def test_a_paper_without_a_vector_takes_no_part_in_the_others():
    vectors = by_hand(6)
    whole = views_of(some()[:5], {id_: vector for id_, vector in vectors.items() if id_ != "p5"})
    without = views_of(some(), {id_: vector for id_, vector in vectors.items() if id_ != "p5"})
    np.testing.assert_allclose(without.matrices[1][0][:5], whole.matrices[1][0], rtol=1e-6)
    assert not without.matrices[1][0][5].any()


def test_the_score_is_the_weighted_sum_of_standard_scores():
    papers, vectors = some(), by_hand(6)
    views = views_of(papers, vectors)
    rows, labels = [0, 2, 3], np.array([True, False, False])
    weights = np.array([1.0, 1 / (9.8 * 2), 1 / (9.8 * 2)])
    weights *= 3 / weights.sum()
    expected = 0
    for matrix, weight in views.matrices:
        machine = LinearSVC(C=0.11, random_state=0).fit(matrix[rows], labels, sample_weight=weights)
        scores = machine.decision_function(matrix)
        expected = expected + weight * (scores - scores.mean()) / scores.std()
    np.testing.assert_allclose(relevance(views, rows, labels.tolist()), expected, rtol=1e-6)


def test_papers_like_the_relevant_ones_come_first():
    scores = relevance(views_of(some(), {}), [0, 2], [True, False])
    assert min(scores[[1, 4]]) > max(scores[[3, 5]])


@pytest.mark.parametrize("labels", [[True, True], [False, False]])
def test_both_kinds_of_papers_are_needed(labels):
    with pytest.raises(InputError, match="at least one paper that is relevant, and one that is not"):
        relevance(views_of(some(), {}), [0, 1], labels)
