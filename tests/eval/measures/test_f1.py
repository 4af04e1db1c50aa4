"""F1 averaged over classes, by hand and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from eval.measures.f1 import macro_f1

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
