"""A review screened again: labels are hidden until a paper is read, and the learner learns after each batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from corpora.errors import InputError
from corpora.lazy import np
from products.relevance import Views, relevance
from products.screening.stopping import CONFIDENCE, TARGET, may_stop

RelevanceLearner = Callable[[Sequence[int], Sequence[bool]], "np.ndarray"]
"""A function from the rows that are labelled, and whether each is relevant, to a score for every row."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """How the reading went.

    Attributes:
        relevant: Whether each paper was relevant, in the order of reading, without those known before.
        stopped: After how many papers the estimate of recall first said to stop; None if it never did.
        papers: Papers to read, without those known before.
    """

    relevant: tuple[bool, ...]
    stopped: int | None
    papers: int

    def read_until(self, recall: float) -> int:
        """Return how many papers are read until a share of the relevant ones is found."""
        return papers_until(recall, self.relevant)

    def recall_after(self, read: int) -> float:
        """Return the share of the relevant papers found among the first ones read."""
        return sum(self.relevant[:read]) / sum(self.relevant)


def papers_until(recall: float, relevant: Sequence[bool] | np.ndarray) -> int:
    """Return after how many papers, in the order of reading, a share of the relevant ones is found."""
    found = np.cumsum(relevant)
    # In whole papers: 0.95 x 20 is a little more than 19 in floating point.
    needed = int(np.ceil(np.round(recall * found[-1], 9)))
    return int(np.searchsorted(found, needed)) + 1


def learner_of(views: Views) -> RelevanceLearner:
    """Return the learner of reviews: the model of relevance."""
    return lambda rows, relevant: relevance(views, rows, relevant)


def growing(labelled: int) -> int:
    """Return the size of a batch: a twentieth of the papers labelled so far, at least 1."""
    return max(1, labelled // 20)


def draw_known(included: Sequence[bool], draw: int) -> list[int]:
    """Return the rows that a simulation begins with: one included paper and one excluded, drawn at random.

    Raises `InputError` if fewer than two papers are included, or none is excluded.
    """
    labels = np.asarray(included, bool)
    if labels.sum() < 2 or labels.all():
        raise InputError("A simulation needs at least two included papers and one excluded.")
    chance = np.random.default_rng(draw)
    return [int(chance.choice(np.flatnonzero(labels == wanted))) for wanted in (True, False)]


def simulate(
    included: Sequence[bool],
    learner: RelevanceLearner,
    known: Sequence[int],
    *,
    batch: Callable[[int], int] = growing,
    target: float = TARGET,
    confidence: float = CONFIDENCE,
    whole: bool = False,
) -> Simulated:
    """Screen a review again, until all relevant papers are found and the estimate of recall says to stop.

    `included` is the decision on every paper. The learner ranks the unread papers, equal scores in the order of the
    rows. `known` are rows labelled before, with at least one included and one excluded. `batch` returns from the number
    of labelled papers how many are read before the learner learns again. `target` and `confidence` are those of the
    estimate; `whole` reads on to the last paper.
    """
    labels = np.asarray(included, bool)
    rows = list(known)
    unread = np.ones(labels.size, bool)
    unread[rows] = False
    before = int(labels[rows].sum())
    read: list[bool] = []
    stopped: int | None = None
    while unread.any() and (whole or stopped is None or before + sum(read) < labels.sum()):
        scores = np.where(unread, learner(rows, labels[rows].tolist()), -np.inf)
        best = np.argsort(-scores, kind="stable")[: min(batch(len(rows)), int(unread.sum()))]
        unread[best] = False
        rows += best.tolist()
        read += labels[best].tolist()
        if stopped is None and may_stop(read, int(unread.sum()), known=before, target=target, confidence=confidence):
            stopped = len(read)
    return Simulated(tuple(read), stopped, labels.size - len(known))
