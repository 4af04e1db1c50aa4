"""The measures by which training is validated, against their definitions."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial import distance
from scipy.stats import kendalltau
from sklearn.metrics import f1_score

from training import validation
from training.objectives import Inputs
from training.validation import _cosine, _finite, _first, _kendall, _macro_f1, _similar

DRAW = np.random.default_rng(4)


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        ("l2", lambda one, other: -distance.euclidean(one, other)),
        ("dot", np.dot),
        ("cosine", lambda one, other: 1 - distance.cosine(one, other)),
    ],
)
def test_similarities_are_those_of_their_definitions(similarity, expected):
    first, second = np.random.default_rng(0).standard_normal((2, 5, 3))
    found = _similar(first, second, similarity)
    assert found.tolist() == pytest.approx([expected(*pair) for pair in zip(first, second, strict=True)])
    assert _similar(np.zeros((1, 3)), second[:1], "cosine").tolist() == [0]


def parts(columns, outputs, targets, sizes=(3, 1, 5)):
    """Return arrays as batches of several sizes."""
    import torch

    ends = np.cumsum(sizes)
    spans = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    given = None if outputs is None else torch.tensor(outputs)
    return [
        Inputs([torch.tensor(one[span]) for one in columns], None if given is None else given[span], targets[span])
        for span in spans
    ]


@pytest.mark.torch
def test_macro_f1_of_single_and_of_several_labels():
    outputs = DRAW.normal(size=(9, 4))
    outputs[:, 3] = -1
    classes = [(int(one),) for one in DRAW.integers(0, 3, 9)]
    wanted = f1_score([one for (one,) in classes], outputs.argmax(axis=1), average="macro")
    assert _macro_f1(parts([outputs], outputs, classes), several=False) == pytest.approx(wanted)
    outputs[0, 0] = 0  # this says no
    several = [tuple(np.flatnonzero(row > 0.3)) for row in DRAW.normal(size=(9, 3))]
    truth = np.array([[label in one for label in range(3)] for one in several])
    # No paper has the last label, and none is given it: it does not count.
    wanted = f1_score(truth, outputs[:, :3] > 0, average="macro")
    assert 0 < wanted < 1
    assert _macro_f1(parts([outputs], outputs, several), several=True) == pytest.approx(wanted)
    assert _macro_f1(parts([outputs], -abs(outputs), [()] * 9), several=True) == 0


@pytest.mark.torch
def test_kendalls_tau():
    outputs, numbers = DRAW.normal(size=(9, 2)), DRAW.integers(0, 4, 9)
    found = _kendall(parts([outputs], outputs, [(float(one),) for one in numbers]))
    assert found == pytest.approx(kendalltau(outputs[:, 0], numbers).statistic)
    assert _kendall(parts([outputs], outputs, [(1.0,)] * 9)) == 0


@pytest.mark.torch
@pytest.mark.parametrize("similarity", ["l2", "dot", "cosine"])
def test_the_share_of_queries_whose_best_candidate_is_ranked_first(similarity):
    columns = DRAW.normal(size=(4, 9, 2))
    query, *candidates = columns
    scores = np.array([_similar(query, one, similarity) for one in candidates])
    assert _first(parts(columns, None, [()] * 9), similarity) == (scores.argmax(axis=0) == 0).mean()
    told = [tuple(one) for one in DRAW.normal(size=(9, 3))]
    right = scores.argmax(axis=0) == np.argmax(told, axis=1)
    assert 0 < right.mean() < 1
    assert _first(parts(columns, None, told), similarity) == right.mean()


@pytest.mark.torch
def test_the_mean_cosine_to_the_vectors_that_are_given():
    vectors, wanted = DRAW.normal(size=(2, 9, 3))
    found = _cosine(parts([vectors], None, [tuple(one) for one in wanted]))
    assert found == pytest.approx(1 - np.mean([distance.cosine(*pair) for pair in zip(vectors, wanted, strict=True)]))


@pytest.mark.torch
def test_what_is_measured_must_be_numbers():
    good, bad = np.ones((9, 2)), np.ones((9, 2))
    bad[3, 1] = np.nan
    assert [_finite(one) for one in parts([good], None, [()] * 9)] == [True] * 3
    assert [_finite(one) for one in parts([good, bad], None, [()] * 9)] == [True, False, True]
    # With a head, its outputs are measured.
    assert [_finite(one) for one in parts([bad], good, [()] * 9)] == [True] * 3
    assert [_finite(one) for one in parts([good], bad, [()] * 9)] == [True, False, True]


@pytest.mark.parametrize(
    ("objective", "measure"),
    [
        ("triplet", "_first"),
        ("listwise", "_highest"),
        ("ranking", "_kendall"),
        ("vectors", "_cosine"),
        ("bce", "_macro_f1"),
    ],
)
def test_each_objective_is_validated_by_its_measure(objective, measure, monkeypatch):
    ran = []
    for name in ("_first", "_highest", "_kendall", "_cosine", "_macro_f1"):
        monkeypatch.setattr(validation, name, lambda *_, name=name, **__: ran.append(name))
    monkeypatch.setattr(validation, "length_grouped", lambda *_: [])
    task = SimpleNamespace(objective=objective, multi_label=True)
    learner = SimpleNamespace(recipe=SimpleNamespace(tasks=[task]), card=SimpleNamespace(similarity="dot"))
    validation._measured(learner, 0, None)
    assert ran == [measure]
