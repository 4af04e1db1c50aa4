"""What is learned from a task: losses, and how each is measured in validation.

A new objective is a function here and a line of `OBJECTIVES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from corpora.errors import InputError
from corpora.lazy import torch
from encoders.ops.base import Tensor

ValidationMeasure = Literal["macro-f1", "kendall", "first", "cosine", "highest"]
"""Validation measures: macro F1, Kendall's tau-b, share of queries with nearest positive, mean cosine to targets, share
of queries whose best candidate has the highest score."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """A batch of one task, encoded.

    Attributes:
        vectors: Vectors of each column of the examples (the text itself; or query, positive, negatives), float32
            (examples, dimension); of a reranker, the scores of each candidate, float32 (examples, 1).
        outputs: The output of the task's head for the first column, float32 (examples, labels); None without a head.
        targets: The targets of each example: one class, some labels, one value, a score for each candidate, a
            vector, or none.
    """

    vectors: Sequence[Tensor]
    outputs: Tensor | None
    targets: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Objective:
    """An objective.

    Attributes:
        types: The types of tasks it can learn from.
        loss: Function of inputs and options that returns a scalar, the mean over the examples.
        measure: Measure of such a task in validation.
        head: Whether it needs a linear layer from a vector to one output a label.
        options: Its options with their defaults.
        pairs: Whether it learns from the scores of pairs, which only a reranker gives.
    """

    types: tuple[str, ...]
    loss: Callable[[Inputs, Mapping[str, float]], Tensor]
    measure: ValidationMeasure
    head: bool = False
    options: Mapping[str, float] = field(default_factory=dict)
    pairs: bool = False


def outputs_of(inputs: Inputs) -> Tensor:
    """Return the outputs of the head, float32 (examples, labels), which the trainer gives where `head` asks for one."""
    assert inputs.outputs is not None  # noqa: S101
    return inputs.outputs


def classes_of(inputs: Inputs) -> Tensor:
    """Return the class of each example, int64 (examples,)."""
    return torch.tensor([int(target[0]) for target in inputs.targets], device=inputs.vectors[0].device)


def values_of(inputs: Inputs) -> Tensor:
    """Return the value of each example, float32 (examples,)."""
    return targets_of(inputs)[:, 0]


def targets_of(inputs: Inputs) -> Tensor:
    """Return the targets of examples that have equally many, float32 (examples, targets)."""
    return torch.tensor([list(target) for target in inputs.targets], device=inputs.vectors[0].device)


def cross_entropy(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return softmax cross-entropy of one class per paper, its mean (SciRepEval section 4.1, MIReAD section 3).

    Use it when each paper has one of a fixed set of labels, such as its journal or field.

    >>> import torch
    >>> two_classes = Inputs([torch.ones(1, 4)], torch.tensor([[2.0, 0.0]]), [[0]])
    >>> round(float(cross_entropy(two_classes, {})), 4)  # log(1 + exp(-2))
    0.1269
    """
    return torch.nn.functional.cross_entropy(outputs_of(inputs), classes_of(inputs))


def bce(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return binary cross-entropy of several labels per paper, its mean over both (SciRepEval section 4.1).

    Use it when a paper may have several labels at once, such as MeSH headings.

    >>> import torch
    >>> both_labels = Inputs([torch.ones(1, 4)], torch.zeros(1, 2), [[0, 1]])
    >>> round(float(bce(both_labels, {})), 4)  # log(2)
    0.6931
    """
    outputs = outputs_of(inputs)
    truth = torch.zeros_like(outputs)
    for row, labels in enumerate(inputs.targets):
        truth[row, [int(label) for label in labels]] = 1
    return torch.nn.functional.binary_cross_entropy_with_logits(outputs, truth)


def supervised_contrastive(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return `mix` x cross-entropy + (1 - `mix`) x contrast, as SciRepEval's code mixes them.

    Use it when the vectors themselves should group papers by their label, for neighbours or a linear model on them, and
    not only the head should tell the labels apart.

    >>> import torch
    >>> alike = Inputs([torch.ones(2, 4)], torch.zeros(2, 2), [[0], [0]])
    >>> round(float(supervised_contrastive(alike, {"mix": 1.0, "temperature": 0.3})), 4)  # log(2)
    0.6931
    """
    mix = options["mix"]
    return mix * cross_entropy(inputs, {}) + (1 - mix) * contrast(inputs, options["temperature"])


def contrast(inputs: Inputs, temperature: float) -> Tensor:
    """Return supervised contrast, its mean over the papers (Khosla et al. 2020, equation 2).

    The contrast of paper i, over the other papers a of the batch and those p among them with the class of i, is
    -1 / (P + 1) x sum_p log(exp(z_i z_p / t) / sum_a exp(z_i z_a / t)), z the vectors scaled to unit length and P their
    number. The divisor counts the paper itself, as SciRepEval's code does; Khosla et al. divide by P.
    """
    vectors, classes = torch.nn.functional.normalize(inputs.vectors[0], dim=1), classes_of(inputs)
    logits = vectors @ vectors.T / temperature
    itself = torch.eye(len(vectors), dtype=torch.bool, device=logits.device)
    alike = (classes[:, None] == classes[None, :]).to(logits.dtype)
    # The least finite number instead of minus infinity keeps the loss of a batch of one paper finite.
    others = logits.masked_fill(itself, torch.finfo(logits.dtype).min)
    log_shares = logits - torch.logsumexp(others, dim=1, keepdim=True)
    return (-(log_shares * alike * ~itself).sum(dim=1) / alike.sum(dim=1)).mean()


CROSS_ENTROPY = Objective(("classification",), cross_entropy, "macro-f1", head=True)
BCE = Objective(("classification",), bce, "macro-f1", head=True)
SUPERVISED_CONTRASTIVE = Objective(
    ("classification",), supervised_contrastive, "macro-f1", head=True, options={"mix": 0.1, "temperature": 0.3}
)


def mse(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the squared error, its mean over the papers (SciRepEval section 4.1).

    Use it when the number itself is wanted, such as a year.

    >>> import torch
    >>> far_by_one_and_three = Inputs([torch.ones(2, 4)], torch.tensor([[1.0], [5.0]]), [[2.0], [2.0]])
    >>> float(mse(far_by_one_and_three, {}))
    5.0
    """
    return torch.nn.functional.mse_loss(outputs_of(inputs)[:, 0], values_of(inputs))


def ranking(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the mean of -log sigmoid(s_i - s_j) over the pairs with y_i > y_j; 0 if no two numbers differ.

    RankNet (Burges et al. 2005, section 3). Kendall's tau counts the pairs in the right order; this is its smooth
    bound.

    Use it when only the order of papers by a number matters, such as by citations, which few outliers dominate.

    >>> import torch
    >>> equal_scores = Inputs([torch.ones(2, 4)], torch.zeros(2, 1), [[2.0], [1.0]])
    >>> round(float(ranking(equal_scores, {})), 4)  # log(2)
    0.6931
    """
    scores, values = outputs_of(inputs)[:, 0], values_of(inputs)
    ordered = values[:, None] > values[None, :]
    differences = (scores[:, None] - scores[None, :])[ordered]
    return -torch.nn.functional.logsigmoid(differences).sum() / max(1, len(differences))


MSE = Objective(("regression",), mse, "kendall", head=True)
RANKING = Objective(("regression",), ranking, "kendall", head=True)


def triplet(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return the triplet margin loss, its mean over the triplets; further negatives make further triplets.

    max(0, d(q, p) - d(q, n) + margin), d the Euclidean distance (SPECTER equation 1).

    Use it when vectors are compared by their Euclidean distance, as those of SPECTER and SciNCL are, or batches are
    small.

    >>> import torch
    >>> query, positive, negative = torch.zeros(1, 2), torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    >>> round(float(triplet(Inputs([query, positive, negative], None, [[]]), {"margin": 1.0})), 4)  # 3 - 2 + 1
    2.0
    """
    query, positive, *negatives = inputs.vectors
    distance = torch.nn.functional.pairwise_distance
    near = distance(query, positive)
    parts = [(near - distance(query, negative) + options["margin"]).relu() for negative in negatives]
    return torch.stack(parts).mean()


def contrastive(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return in-batch contrast with hard negatives (SciMult section 3.1, InfoNCE), the mean over the queries.

    Softmax cross-entropy over all candidates: every query has its own positive; all other positives and all negatives
    of the batch are its negatives. Similarity is the dot product (`cosine` = 0), or the cosine (1), divided by the
    temperature.

    Use it when papers are searched by cosine or dot product, and a batch (or `chunk`) can be large: each other example
    is one more negative.

    >>> import torch
    >>> same = Inputs([torch.ones(1, 2)] * 3, None, [[]])
    >>> round(float(contrastive(same, {"temperature": 1.0, "cosine": 1.0})), 4)  # log(2)
    0.6931
    """
    functional = torch.nn.functional
    query, candidates = inputs.vectors[0], torch.cat(list(inputs.vectors[1:]))
    if options["cosine"]:
        query, candidates = functional.normalize(query, dim=1), functional.normalize(candidates, dim=1)
    logits = query @ candidates.T / options["temperature"]
    return functional.cross_entropy(logits, torch.arange(len(query), device=logits.device))


TRIPLET = Objective(("triplet", "ir"), triplet, "first", options={"margin": 1.0})
CONTRASTIVE = Objective(("triplet", "ir"), contrastive, "first", options={"temperature": 0.05, "cosine": 1.0})


def kl(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return Kullback-Leibler divergence from the teacher's softmax to the student's (Hinton et al. 2015, section 2).

    The student's score is the cosine over the temperature. The mean over the queries.

    Use it when a teacher has scored the candidates of each query, and its scale differs from that of the student, as a
    reranker's does.

    >>> import torch
    >>> same_scores = Inputs([torch.ones(1, 2)] * 3, None, [[7.0, 7.0]])
    >>> round(float(kl(same_scores, {"temperature": 0.05, "teacher_temperature": 1.0})), 4)
    0.0
    """
    functional = torch.nn.functional
    query, *candidates = (functional.normalize(vectors, dim=1) for vectors in inputs.vectors)
    logits = torch.stack([(query * one).sum(dim=1) for one in candidates], dim=1) / options["temperature"]
    teacher = (targets_of(inputs) / options["teacher_temperature"]).log_softmax(dim=1)
    return functional.kl_div(logits.log_softmax(dim=1), teacher, reduction="batchmean", log_target=True)


def margin_mse(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the squared error of the differences between the first candidate's score and each other's.

    Hofstaetter et al. 2020, equation 4. The student's score is the dot product. The mean over queries and candidates.

    Use it when a teacher has scored the candidates, and the student's dot products should have the same distances as
    its scores.

    >>> import torch
    >>> query, first, second = torch.ones(1, 2), torch.ones(1, 2), torch.zeros(1, 2)
    >>> float(margin_mse(Inputs([query, first, second], None, [[5.0, 0.0]]), {}))  # (2 - 5) squared
    9.0
    """
    query, *candidates = inputs.vectors
    scores = torch.stack([(query * one).sum(dim=1) for one in candidates], dim=1)
    margins, wanted = (both[:, :1] - both[:, 1:] for both in (scores, targets_of(inputs)))
    return torch.nn.functional.mse_loss(margins, wanted)


def vectors(inputs: Inputs, options: Mapping[str, float]) -> Tensor:  # noqa: ARG001 - it has none
    """Return the squared error of unit vectors to those of a teacher, its mean over the texts; it is 2 - 2 cosine.

    As Reimers & Gurevych (2020, arXiv:2004.09813, section 2) distil a sentence encoder, and LEAF (Vujanic &
    Rueckstiess 2025, arXiv:2509.12539, section 3) one with vectors of unit length. `InputError` if the targets have
    another length than the vectors.

    Use it when a teacher's vectors are known, and the student should ask or fill an index of the teacher.

    >>> import torch
    >>> at_right_angles = Inputs([torch.tensor([[3.0, 0.0]])], None, [[0.0, 5.0]])
    >>> float(vectors(at_right_angles, {}))
    2.0
    """
    made = torch.nn.functional.normalize(inputs.vectors[0], dim=1)
    if wrong := next((len(target) for target in inputs.targets if len(target) != made.shape[1]), None):
        raise InputError(
            f"A record gives a vector of {wrong} numbers, and the model's have {made.shape[1]}; make the records for "
            f"this model, or set the option dimension of what is trained to {wrong}."
        )
    return (made - torch.nn.functional.normalize(targets_of(inputs), dim=1)).square().sum(dim=1).mean()


KL = Objective(("ranked",), kl, "first", options={"temperature": 0.05, "teacher_temperature": 1.0})
MARGIN_MSE = Objective(("ranked",), margin_mse, "first")
VECTORS = Objective(("vectors",), vectors, "cosine")
"""Its measure is the mean cosine to the target vectors."""


def listwise(inputs: Inputs, options: Mapping[str, float]) -> Tensor:
    """Return the cross-entropy of the softmax over a query's candidates, its mean over the queries.

    Against the first candidate, which is right (Gao et al. 2021, arXiv:2101.08751, equation 2); or, where a teacher
    scored the candidates, against the softmax of its scores over the temperature (Hinton et al. 2015, section 2).

    Use it when a reranker is trained: it is the only objective of scores of pairs.

    >>> import torch
    >>> right, wrong = torch.tensor([[2.0]]), torch.tensor([[2.0]])
    >>> round(float(listwise(Inputs([right, wrong], None, [[]]), {"teacher_temperature": 1.0})), 4)  # log(2)
    0.6931
    """
    logits = torch.cat(list(inputs.vectors), dim=1)
    functional = torch.nn.functional
    if not inputs.targets[0]:
        return functional.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.int64, device=logits.device))
    return functional.cross_entropy(logits, (targets_of(inputs) / options["teacher_temperature"]).softmax(dim=1))


LISTWISE = Objective(("triplet", "ir", "ranked"), listwise, "highest", options={"teacher_temperature": 1.0}, pairs=True)
"""Its measure is the share of queries whose best candidate has the highest score."""


OBJECTIVES: Mapping[str, Objective] = {
    "triplet": TRIPLET,
    "contrastive": CONTRASTIVE,
    "cross-entropy": CROSS_ENTROPY,
    "supervised-contrastive": SUPERVISED_CONTRASTIVE,
    "bce": BCE,
    "mse": MSE,
    "ranking": RANKING,
    "kl": KL,
    "margin-mse": MARGIN_MSE,
    "vectors": VECTORS,
    "listwise": LISTWISE,
}
