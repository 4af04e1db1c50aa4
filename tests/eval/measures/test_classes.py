"""F1 and measures of clusters, against scikit-learn and published examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from eval.measures.classes import b_cubed, macro_f1, purity

labels = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20)


def test_classes_that_are_neither_true_nor_predicted_are_not_averaged():
    # Class 0: 2 x 2 / (2 + 3); class 3: 2 x 1 / (2 + 1). Classes 1 and 2 aren't there.
    truth, predicted = np.array([0, 0, 3, 3]), np.array([0, 0, 3, 0])
    assert macro_f1(truth, predicted) == pytest.approx((4 / 5 + 2 / 3) / 2)


def test_a_class_that_is_only_predicted_counts_0_and_no_prediction_is_no_class():
    assert macro_f1(np.array([0, 0]), np.array([0, 4])) == pytest.approx((2 / 3 + 0) / 2)
    assert macro_f1(np.array([0, 0]), np.array([0, -1])) == pytest.approx(2 / 3)


@given(labels)
def test_it_is_scikit_learns(rows):
    truth, predicted = np.array(rows).T
    assert macro_f1(truth, predicted) == pytest.approx(f1_score(truth, predicted, average="macro"))


TRUTH = "aaaaabbccccc"  # Bagga & Baldwin 1998: {1..5}, {6, 7}, {8..C}
ITEMS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("xyz")), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("response", "precision", "recall"),
    [
        ("111112222222", (5 + 4 / 7 + 25 / 7) / 12, 1.0),  # 76 %: {6, 7} joined to {8..C}
        ("111112211111", (10 * 5 / 10 + 2) / 12, 1.0),  # 58 %: {1..5} joined to {8..C}
        ("abcdefghijkl", 1.0, (5 / 5 + 2 / 2 + 5 / 5) / 12),  # every item alone
        ("111223344444", (3 * 3 / 3 + 2 * 2 / 2 + 2 * 2 / 2 + 5 * 5 / 5) / 12, (9 / 5 + 4 / 5 + 2 + 5) / 12),
    ],
)
def test_b_cubed_of_known_examples(response, precision, recall):
    found = b_cubed(TRUTH, response)
    assert (found.precision, found.recall) == (pytest.approx(precision), pytest.approx(recall))
    assert found.f1 == pytest.approx(2 * precision * recall / (precision + recall))


def test_b_cubed_as_s2ands_code_counts_it():
    rng = np.random.default_rng(3)
    truth, clusters = rng.integers(0, 15, 120).tolist(), rng.integers(0, 12, 120).tolist()
    found = b_cubed(truth, clusters)
    # What S2AND's b3_precision_recall_fscore says of them, before it rounds to three places.
    assert (found.precision, found.recall, found.f1) == pytest.approx((0.15955778, 0.19847763, 0.17690234), abs=1e-8)


def test_purity_of_the_textbooks_example():
    # Manning et al. 2008, figure 16.4: (5 + 4 + 3) / 17
    truth, clusters = "xxxxxo" + "xoooo#" + "xx###", "1" * 6 + "2" * 6 + "3" * 5
    assert purity(truth, clusters) == pytest.approx(12 / 17)


@given(ITEMS)
def test_agreement_with_slow_definitions(items):
    truth, clusters = map(list, zip(*items, strict=True))
    count = len(items)
    same = {
        i: ({j for j in range(count) if truth[j] == truth[i]}, {j for j in range(count) if clusters[j] == clusters[i]})
        for i in range(count)
    }
    found = b_cubed(truth, clusters)
    assert found.precision == pytest.approx(sum(len(t & p) / len(p) for t, p in same.values()) / count)
    assert found.recall == pytest.approx(sum(len(t & p) / len(t) for t, p in same.values()) / count)
    best = sum(max(sum(t == label for t, c in items if c == group) for label in set(truth)) for group in set(clusters))
    assert purity(truth, clusters) == pytest.approx(best / count)
