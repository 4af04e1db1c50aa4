"""Each objective's loss and gradient against a formula in numpy, and SciRepEval's against values of its own code."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from corpora.errors import InputError
from training.objectives import OBJECTIVES, Inputs, contrast

pytestmark = pytest.mark.torch

VECTORS = np.sin([[7 * row + 3 * column + 1 for column in range(5)] for row in range(6)])
OUTPUTS = np.cos([[5 * row + 2 * column for column in range(3)] for row in range(6)])
CLASSES = [0, 1, 0, 2, 1, 0]
VALUES = [0.5, 2.0, -1.0, 0.5, 3.0, 0.0]


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def triplet(columns, outputs, targets):
    query, positive, *negatives = columns
    near = np.linalg.norm(query - positive + 1e-6, axis=1)
    return np.mean([np.maximum(0, near - np.linalg.norm(query - one + 1e-6, axis=1) + 1) for one in negatives])


def contrastive(columns, outputs, targets):
    logits = unit(columns[0]) @ unit(np.concatenate(columns[1:])).T / 0.05
    return -np.mean(np.diagonal(log_softmax(logits)))


def cross_entropy(columns, outputs, targets):
    return -np.mean([log_softmax(row)[int(target[0])] for row, target in zip(outputs, targets, strict=True)])


def supervised_contrastive(columns, outputs, targets):
    vectors, classes, parts = unit(columns[0]), [target[0] for target in targets], []
    for one in range(len(vectors)):
        others = [other for other in range(len(vectors)) if other != one]
        total = sum(np.exp(vectors[one] @ vectors[other] / 0.3) for other in others)
        alike = [other for other in others if classes[other] == classes[one]]
        logs = [vectors[one] @ vectors[other] / 0.3 - np.log(total) for other in alike]
        parts.append(-sum(logs) / (len(alike) + 1))
    return 0.1 * cross_entropy(columns, outputs, targets) + 0.9 * np.mean(parts)


def bce(columns, outputs, targets):
    parts = []
    for row, labels in zip(outputs, targets, strict=True):
        shares = 1 / (1 + np.exp(-row))
        parts += [-np.log(share if label in labels else 1 - share) for label, share in enumerate(shares)]
    return np.mean(parts)


def mse(columns, outputs, targets):
    return np.mean([(row[0] - target[0]) ** 2 for row, target in zip(outputs, targets, strict=True)])


def ranking(columns, outputs, targets):
    pairs = [(i, j) for i in range(len(outputs)) for j in range(len(outputs)) if targets[i][0] > targets[j][0]]
    return np.mean([np.log1p(np.exp(outputs[j][0] - outputs[i][0])) for i, j in pairs])


def kl(columns, outputs, targets):
    query, *candidates = map(unit, columns)
    student = log_softmax(np.stack([(query * one).sum(axis=1) for one in candidates], axis=1) / 0.05)
    teacher = log_softmax(np.array(targets))
    return (np.exp(teacher) * (teacher - student)).sum(axis=1).mean()


def margin_mse(columns, outputs, targets):
    query, *candidates = columns
    scores = np.stack([(query * one).sum(axis=1) for one in candidates], axis=1)
    wanted = np.array(targets)
    return np.mean([(scores[:, 0] - scores[:, i] - wanted[:, 0] + wanted[:, i]) ** 2 for i in (1, 2)])


def vectors(columns, outputs, targets):
    return ((unit(columns[0]) - unit(np.array(targets))) ** 2).sum(axis=1).mean()


def listwise(columns, outputs, targets):
    """Every number of the columns is the score of a candidate here."""
    wanted = np.exp(log_softmax(np.array(targets)))
    return -(wanted * log_softmax(np.concatenate(columns, axis=1))).sum(axis=1).mean()


CASES = {
    "triplet": (triplet, 4, [()] * 6),
    "contrastive": (contrastive, 3, [()] * 6),
    "cross-entropy": (cross_entropy, 1, [(one,) for one in CLASSES]),
    "supervised-contrastive": (supervised_contrastive, 1, [(one,) for one in CLASSES]),
    "bce": (bce, 1, [(0,), (1, 2), (), (0, 1, 2), (2,), (1,)]),
    "mse": (mse, 1, [(one,) for one in VALUES]),
    "ranking": (ranking, 1, [(one,) for one in VALUES]),
    "kl": (kl, 4, [(1.0, 0.2, -0.5)] * 3 + [(0.0, 2.0, 1.0)] * 3),
    "margin-mse": (margin_mse, 4, [(1.0, 0.2, -0.5)] * 3 + [(0.0, 2.0, 1.0)] * 3),
    "listwise": (listwise, 2, [(1.0, 0.2, -0.5, 0.3, 2.0) * 2] * 3 + [(0.0, 2.0, 1.0, -1.0, 0.1) * 2] * 3),
    "vectors": (vectors, 1, [(1.0, 0.2, -0.5, 0.3, 2.0)] * 3 + [(0.0, 2.0, 1.0, -1.0, 0.1)] * 3),
}


def columns_of(count):
    return [np.roll(VECTORS, shift, axis=0) + 0.1 * shift for shift in range(count)]


def computed(name, columns, outputs, targets):
    """Return the loss, and its gradient by all columns and outputs."""
    import torch

    objective = OBJECTIVES[name]
    tensors = [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in (*columns, outputs)]
    inputs = Inputs(tensors[:-1], tensors[-1] if objective.head else None, targets)
    loss = objective.loss(inputs, objective.options)
    loss.backward()
    gradients = [np.zeros(one.shape) if one.grad is None else one.grad.numpy() for one in tensors]
    return loss.item(), gradients


def test_every_objective_has_its_formula():
    assert CASES.keys() == OBJECTIVES.keys()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_example_of_each_loss(name):
    loss = OBJECTIVES[name].loss
    (example,) = doctest.DocTestFinder(recurse=False).find(loss, loss.__name__, globs={**loss.__globals__})
    assert len(example.examples) >= 2
    assert doctest.DocTestRunner().run(example).failed == 0


def test_what_each_objective_takes_and_is_measured_by():
    pairs, classes, number = ("triplet", "ir"), ("classification",), ("regression",)
    assert {name: (one.types, one.measure, one.head, dict(one.options)) for name, one in OBJECTIVES.items()} == {
        "triplet": (pairs, "first", False, {"margin": 1}),
        "contrastive": (pairs, "first", False, {"temperature": 0.05, "cosine": 1}),
        "cross-entropy": (classes, "macro-f1", True, {}),
        "supervised-contrastive": (classes, "macro-f1", True, {"mix": 0.1, "temperature": 0.3}),
        "bce": (classes, "macro-f1", True, {}),
        "mse": (number, "kendall", True, {}),
        "ranking": (number, "kendall", True, {}),
        "kl": (("ranked",), "first", False, {"temperature": 0.05, "teacher_temperature": 1}),
        "margin-mse": (("ranked",), "first", False, {}),
        "vectors": (("vectors",), "cosine", False, {}),
        "listwise": ((*pairs, "ranked"), "highest", False, {"teacher_temperature": 1}),
    }


def test_without_a_teacher_the_first_candidate_is_right():
    import torch

    scores = [torch.tensor(one[:, :1]) for one in columns_of(4)]
    expected = -log_softmax(np.concatenate([one.numpy() for one in scores], axis=1))[:, 0].mean()
    found = OBJECTIVES["listwise"].loss(Inputs(scores, None, [()] * 6), {"teacher_temperature": 1.0})
    assert found.item() == pytest.approx(expected)


def test_the_teachers_scores_are_divided_by_their_temperature():
    import torch

    inputs = Inputs([torch.tensor(one) for one in columns_of(4)], None, CASES["kl"][2])
    halved = Inputs(inputs.vectors, None, [[one / 2 for one in scores] for scores in inputs.targets])
    loss = OBJECTIVES["kl"].loss
    cold, plain = {"temperature": 0.05, "teacher_temperature": 2.0}, {"temperature": 0.05, "teacher_temperature": 1.0}
    assert loss(inputs, cold).item() == pytest.approx(loss(halved, plain).item())


@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradient_equal_the_formula(name):
    formula, count, targets = CASES[name]
    columns = columns_of(count)
    loss, gradients = computed(name, columns, OUTPUTS, targets)
    assert loss == pytest.approx(formula(columns, OUTPUTS, targets), rel=1e-5)
    assert any(np.abs(gradient).max() > 1e-3 for gradient in gradients)
    arrays = [*columns, OUTPUTS]
    for number, gradient in enumerate(gradients):
        for place in [(0, 0), (2, 1), (5, 2)]:
            moved = []
            for by in (1e-6, -1e-6):
                other = [array.copy() for array in arrays]
                other[number][place] += by
                moved.append(formula(other[:-1], other[-1], targets))
            assert gradient[place] == pytest.approx((moved[0] - moved[1]) / 2e-6, abs=1e-5)


def test_scirepevals_own_code_gives_the_same():
    """Values of TripletLoss and SCLLoss of allenai/scirepeval (training/tasks.py), run on these arrays."""
    rows = [VECTORS[:2], VECTORS[4:6], VECTORS[2:4]]
    assert computed("triplet", rows, OUTPUTS, [()] * 2)[0] == pytest.approx(3.1635842323303223, rel=1e-6)
    targets = [(one,) for one in CLASSES]
    mixed, _ = computed("supervised-contrastive", [VECTORS], VECTORS[:, :3], targets)
    assert mixed == pytest.approx(2.6423606872558594, rel=1e-6)


def test_supervised_contrast_is_right_at_a_low_temperature():
    import torch

    # Equal vectors have the product 1 / 0.01 = 100, and exp(100) is beyond float32.
    vectors = np.concatenate([VECTORS, VECTORS[:3], -VECTORS[:2]]).astype(np.float64)
    classes = [CLASSES[row % len(CLASSES)] for row in range(len(vectors))]
    scaled, parts = unit(vectors), []
    for row, one in enumerate(scaled):
        others = [other for other in range(len(scaled)) if other != row]
        logits = {other: one @ scaled[other] / 0.01 for other in others}
        most = max(logits.values())
        total = most + np.log(sum(np.exp(logit - most) for logit in logits.values()))
        alike = [other for other in others if classes[other] == classes[row]]
        parts.append(-sum(logits[other] - total for other in alike) / (len(alike) + 1))
    column = torch.tensor(vectors, dtype=torch.float32, requires_grad=True)
    found = contrast(Inputs([column], None, [(one,) for one in classes]), 0.01)
    found.backward()
    assert found.item() == pytest.approx(np.mean(parts), rel=1e-4)
    assert torch.isfinite(column.grad).all()


def test_a_batch_without_pairs_or_positives_is_finite():
    same = [(1.0,)] * 6
    assert computed("ranking", [VECTORS], OUTPUTS, same)[0] == 0
    one, _ = computed("supervised-contrastive", [VECTORS[:1]], OUTPUTS[:1], [(0,)])
    assert np.isfinite(one)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"temperature": 1.0, "cosine": 0.0}, 3.345171308195697),
        ({"temperature": 0.01, "cosine": 1.0}, 61.36890931274687),
    ],
    ids=["dot", "cosine"],
)
def test_scimults_own_code_gives_the_same(options, told):
    """Values of BiEncoderNllLossV2 of yuzhimanhua/SciMult (models/biencoder_contrib.py), run on these arrays."""
    import torch

    columns = [torch.tensor(column) for column in columns_of(3)]
    assert OBJECTIVES["contrastive"].loss(Inputs(columns, None, [()] * 6), options).item() == pytest.approx(told)


def test_vectors_of_another_length_are_told():
    with pytest.raises(InputError, match="gives a vector of 3 numbers, and the model's have 5"):
        computed("vectors", columns_of(1), OUTPUTS, [(1.0, 2.0, 3.0)] * 6)
