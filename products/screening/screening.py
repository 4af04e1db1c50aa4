"""The next papers to read, learned from the labels so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.errors import InputError
from products.indexed import read_papers
from products.relevance.model import relevance
from products.relevance.views import FOR_SCREENING, views_of
from products.screening.stopping import CONFIDENCE, TARGET, Recall, estimate_recall

if TYPE_CHECKING:
    from corpora.paper import Paper
    from products.relevance.views import Views
    from products.screening.review import ReviewState
    from search_plugin.contract.engine import Index


@dataclass(frozen=True, slots=True)
class NextPaper:
    """A paper to read next.

    Attributes:
        paper: The paper.
        score: Of the model; comparable within one batch.
    """

    paper: Paper
    score: float


@dataclass(frozen=True, slots=True)
class Status:
    """How far a review is.

    Attributes:
        candidates: Papers of the review.
        included: Papers labelled as included.
        excluded: Papers labelled as excluded.
        gone: Labelled papers that are not among the candidates any more.
        recall: The estimate.
    """

    candidates: int
    included: int
    excluded: int
    gone: int
    recall: Recall

    @property
    def unread(self) -> int:
        """Candidates without a label."""
        return self.candidates - (self.included + self.excluded - self.gone)


def candidates_of(index: Index, review: ReviewState) -> list[str]:
    """Return the ids of a review's candidates, sorted; `InputError` if the filter can't be read."""
    from search_plugin.filters.resolve import read_filter

    return sorted(index.ids(read_filter(review.filter, index)))


def next_papers(index: Index, review: ReviewState, size: int) -> list[NextPaper]:
    """Return the papers to read next, the most relevant first.

    Args:
        index: That of the review.
        review: Its labels so far.
        size: Papers, fewer if no more are unread.

    Returns:
        The papers; none if all are labelled.

    Raises:
        InputError: If the size is below 1, or no paper is included yet.
    """
    if size < 1:
        raise InputError(f"A batch of {size} papers can't be read", "give a <size> of 1 or more")
    labels = review.labels
    if not any(labels.values()):
        raise InputError(
            "No paper is included yet, so there is nothing to learn from", "label at least one paper that is relevant"
        )
    pool = read_papers(index, candidates_of(index, review))
    views = views_of(pool.papers, pool.vectors, FOR_SCREENING)
    scores = scores_of(views, labels)
    papers = {paper.id: paper for paper in pool.papers}
    ranked = sorted((-score, id_) for id_, score in scores.items() if id_ not in labels)
    return [NextPaper(papers[id_], -score) for score, id_ in ranked[:size]]


def scores_of(views: Views, labels: Mapping[str, bool]) -> dict[str, float]:
    """Return a score for every paper; while none is excluded, all papers without a label count as excluded.

    Raises `InputError` if none of the papers is included.
    """
    known = [row for row, id_ in enumerate(views.ids) if id_ in labels]
    if all(labels[views.ids[row]] for row in known):
        known = list(range(len(views.ids)))
    scores = relevance(views, known, [labels.get(views.ids[row], False) for row in known])
    return dict(zip(views.ids, scores.tolist(), strict=True))


def status_of(index: Index, review: ReviewState, target: float = TARGET, confidence: float = CONFIDENCE) -> Status:
    """Return how far a review is, and what is known of its recall; errors as of `estimate_recall`."""
    there = set(candidates_of(index, review))
    labels = review.labels
    gone = sum(id_ not in there for id_ in labels)
    # Not in the order of labelling: a command or file may give the included papers of a batch first.
    place = {id_: number for number, id_ in enumerate(review.offered)}
    offered = sorted((one for one in review.decisions if one.offered), key=lambda one: place[one.id])
    read = [decision.included for decision in offered]
    known = sum(decision.included for decision in review.decisions if not decision.offered)
    unread = len(there - labels.keys())
    recall = estimate_recall(read, unread, known=known, target=target, confidence=confidence)
    included = sum(labels.values())
    return Status(len(there), included, len(labels) - included, gone, recall)
