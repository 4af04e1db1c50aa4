"""Which papers few-shot runs train on, against SciRepEval's recipe written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import model_selection as selection

from corpora.errors import InputError
from eval.scirepeval.data import few_shot_samples
from eval.scirepeval.task_file import FewShot


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize(("size", "iterations"), [(16, 3), (24, 100)])
def test_of_one_class_a_paper_runs_are_the_held_out_folds(size, iterations):
    labels = np.random.default_rng(1).choice(4, size=203, p=(0.6, 0.3, 0.08, 0.02))
    folds = selection.StratifiedKFold(n_splits=math.ceil(203 / size)).split(np.zeros((203, 1)), labels)
    wanted = [held_out.tolist() for _, held_out in folds][:iterations]
    assert list(few_shot_samples(labels, FewShot(size, iterations))) == wanted
    assert len(wanted) == min(iterations, math.ceil(203 / size))


def test_of_several_labels_runs_are_drawn_label_by_label_with_seeds_from_42():
    labels = (np.random.default_rng(2).random((300, 5)) < 0.2).astype(int)
    state = np.random.get_state()
    runs = list(few_shot_samples(labels, FewShot(5, 4)))
    assert np.random.get_state()[1].tolist() == state[1].tolist()  # nobody else's draws change
    for number, rows in enumerate(runs):
        np.random.seed(42 + number)
        chosen = set()
        for column in range(5):
            chosen.update(np.random.choice(np.where(labels[:, column] == 1)[0], 5, replace=False).tolist())
        assert rows == list(chosen)
        assert (labels[rows].sum(axis=0) >= 5).all()


def test_too_few_papers_are_told():
    with pytest.raises(InputError, match="10 training papers can't be divided into samples of 16"):
        list(few_shot_samples(np.arange(10) % 2, FewShot(16, 2)))
    with pytest.raises(InputError, match="A label has 1 training papers, and 2 are to be drawn"):
        list(few_shot_samples(np.array([[1, 1], [0, 1]]), FewShot(2, 2)))
