"""A review that is being screened: where its papers are, what was decided, and the next papers to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from corpora.errors import InputError
from corpora.paper import Paper
from products.indexed import read_papers
from products.relevance import FOR_SCREENING, Views, relevance, views_of
from products.screening.decisions import Decision, count_alike
from products.screening.stopping import CONFIDENCE, TARGET, Recall, estimate_recall
from search_plugin.contract.engine import Index
from search_plugin.contract.plan import LEXICAL, Plan
from search_plugin.filters.resolve import read_filter


@dataclass(frozen=True, slots=True)
class ReviewState:
    """The state of a review.

    Attributes:
        index: Name of the index that holds the candidates.
        engine: URL of its engine.
        filter: Expression that the candidates match; empty for all papers of the index.
        decisions: The decisions in the order in which they were made, one for each paper.
        offered: Ids of papers that were offered to read.
        criteria: What is included, in words, which are marked in papers; empty if nobody has written them.
        later: Ids of papers without a decision that come last, since somebody put them off.
        screener: Name of who decides where a decision names nobody; empty if nobody has said it.
    """

    index: str
    engine: str
    filter: str = ""
    decisions: tuple[Decision, ...] = ()
    offered: tuple[str, ...] = ()
    criteria: str = ""
    later: tuple[str, ...] = ()
    screener: str = ""

    @property
    def labels(self) -> dict[str, bool]:
        """Whether each paper was included, by id."""
        return {decision.id: decision.included for decision in self.decisions}


def offer(review: ReviewState, ids: Sequence[str]) -> ReviewState:
    """Return the review with papers offered to read."""
    return replace(review, offered=tuple(dict.fromkeys([*review.offered, *ids])))


def label(review: ReviewState, decisions: Iterable[Decision], *, change: bool = False) -> ReviewState:
    """Return the review with more decisions on candidates; with `change`, one may replace another in its place.

    A decision that names nobody is that of the review's screener. A paper that stays excluded keeps its reason, unless
    there is another one. Whether a paper was offered is known from the review, whatever the decisions say of it. Raises
    `InputError` if a paper has the other label already, and that may not be changed.
    """
    made, held = list(decisions), {one.id: one for one in review.decisions}
    contradicted = [one.id for one in made if one.id in held and held[one.id].included != one.included]
    if contradicted and not change:
        was = "included" if held[contradicted[0]].included else "excluded"
        others = f", and so are {len(contradicted) - 1:,} more" if len(contradicted) > 1 else ""
        raise InputError(f"The paper {contradicted[0]!r} is {was} already{others}", "say <change> to replace its label")
    offered = set(review.offered)
    for one in made:
        before = held.get(one.id)
        reason = "" if one.included else one.reason or (before.reason if before else "")
        if before and (one.included, reason) == (before.included, before.reason):
            continue  # it stays the decision of who made it
        was_offered = before.offered if before else one.id in offered
        held[one.id] = replace(one, reason=reason, by=one.by or review.screener, offered=was_offered)
    labelled = {one.id for one in made}
    later = tuple(id_ for id_ in review.later if id_ not in labelled)
    return replace(review, decisions=tuple(held.values()), later=later)


def put_off(review: ReviewState, id_: str) -> ReviewState:
    """Return the review after somebody has put its next paper off; it counts as offered when it is read again."""
    offered, later = (tuple(one for one in ids if one != id_) for ids in (review.offered, review.later))
    return replace(review, offered=offered, later=(*later, id_))


def decide(review: ReviewState, decision: Decision) -> ReviewState:
    """Return the review after somebody has read its next paper, whatever was decided on it before.

    The order in which papers were offered is then that in which they were read.
    """
    offered = (*(one for one in review.offered if one != decision.id), decision.id)
    return label(replace(review, offered=offered), [decision], change=True)


def take_back(review: ReviewState, id_: str) -> ReviewState:
    """Return the review without what was decided on a paper, which is also not put off any more."""
    decisions = tuple(one for one in review.decisions if one.id != id_)
    return replace(review, decisions=decisions, later=tuple(one for one in review.later if one != id_))


MOST_BY_CRITERIA = 1_000
"""Papers that the words of the criteria rank; nobody reads more before one is included."""


@dataclass(frozen=True, slots=True)
class NextPaper:
    """A paper to read next, with the score of the model, which is comparable within one batch."""

    paper: Paper
    score: float


@dataclass(frozen=True, slots=True)
class Status:
    """How far a review is.

    Attributes:
        candidates: Number of papers of the review.
        included: Number of papers labelled as included.
        excluded: Number of papers labelled as excluded.
        gone: Number of labelled papers that are not among the candidates any more.
        recall: The estimate.
        later: Number of unread papers that were put off.
        reasons: Number of papers excluded for each reason, the most frequent first; those without one are not counted.
        screeners: Number of decisions by the name of who made them, the most first; those without a name are not
            counted.
    """

    candidates: int
    included: int
    excluded: int
    gone: int
    recall: Recall
    later: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    screeners: Mapping[str, int] = field(default_factory=dict)

    @property
    def unread(self) -> int:
        """Candidates without a label."""
        return self.candidates - (self.included + self.excluded - self.gone)


def candidates_of(index: Index, review: ReviewState) -> list[str]:
    """Return the ids of a review's candidates, sorted; `InputError` if the filter can't be read."""
    return sorted(index.ids(read_filter(review.filter, index)))


def next_papers(index: Index, review: ReviewState, size: int) -> list[NextPaper]:
    """Return at most `size` papers to read next, the most relevant first; none if all are labelled.

    Raises `InputError` if the size is below 1, or no paper is included yet and the review has no criteria.
    """
    if size < 1:
        raise InputError(f"A batch of {size} papers can't be read", "give a <size> of 1 or more")
    return rank_unread(read_candidates(index, review), review)[:size]


@dataclass(frozen=True, slots=True, eq=False)
class ReviewCandidates:
    """The candidates of a review as they are read once: papers by id, their views, and scores by its criteria."""

    papers: Mapping[str, Paper]
    views: Views
    by_criteria: Mapping[str, float]


def read_candidates(index: Index, review: ReviewState) -> ReviewCandidates:
    """Read the candidates of a review; the engine scores them by the words of its criteria (BM25)."""
    pool = read_papers(index, candidates_of(index, review))
    scores: dict[str, float] = {}
    if review.criteria:
        plan = Plan(review.criteria, (), read_filter(review.filter, index), MOST_BY_CRITERIA)
        scores = {hit.id: hit.score for hit in index.search(plan)[LEXICAL]}
    views = views_of(pool.papers, pool.vectors, FOR_SCREENING)
    return ReviewCandidates({paper.id: paper for paper in pool.papers}, views, scores)


def rank_unread(candidates: ReviewCandidates, review: ReviewState) -> list[NextPaper]:
    """Return all papers without a label, the most relevant first, and those that were put off last.

    Until a paper is included, the words of the criteria rank. Raises `InputError` if there are none either.
    """
    labels = review.labels
    if any(labels.values()):
        scores: Mapping[str, float] = scores_of(candidates.views, labels)
    elif review.criteria:
        scores = {id_: candidates.by_criteria.get(id_, 0.0) for id_ in candidates.papers}
    else:
        raise InputError(
            "No paper is included yet, so there is nothing to learn from",
            "label at least one paper that is relevant, or create the review with <criteria>",
        )
    place = {id_: number for number, id_ in enumerate(review.later)}
    ranked = sorted((place.get(id_, -1), -score, id_) for id_, score in scores.items() if id_ not in labels)
    return [NextPaper(candidates.papers[id_], -score) for _, score, id_ in ranked]


def scores_of(views: Views, labels: Mapping[str, bool]) -> dict[str, float]:
    """Return a score for every paper; while none is excluded, all papers without a label count as excluded.

    Raises `InputError` if none of the papers is included.
    """
    known = [row for row, id_ in enumerate(views.ids) if id_ in labels]
    if all(labels[views.ids[row]] for row in known):
        known = list(range(len(views.ids)))
    scores = relevance(views, known, [labels.get(views.ids[row], False) for row in known])
    return dict(zip(views.ids, scores.tolist(), strict=True))


def read_in_order(review: ReviewState) -> list[bool]:
    """Return whether each paper that was offered and labelled was included, in the order in which they were offered."""
    # Not in the order of labelling: a command or file may give the included papers of a batch first.
    place = {id_: number for number, id_ in enumerate(review.offered)}
    offered = sorted((one for one in review.decisions if one.offered), key=lambda one: place[one.id])
    return [decision.included for decision in offered]


def status_of(index: Index, review: ReviewState, target: float = TARGET, confidence: float = CONFIDENCE) -> Status:
    """Return how far a review is, and what is known of its recall; errors as of `estimate_recall`."""
    there = set(candidates_of(index, review))
    labels = review.labels
    gone = sum(id_ not in there for id_ in labels)
    read = read_in_order(review)
    known = sum(decision.included for decision in review.decisions if not decision.offered)
    unread = len(there - labels.keys())
    recall = estimate_recall(read, unread, known=known, target=target, confidence=confidence)
    included = sum(labels.values())
    later = len(there & set(review.later))
    reasons = count_alike(one.reason for one in review.decisions)
    screeners = count_alike(one.by for one in review.decisions)
    return Status(len(there), included, len(labels) - included, gone, recall, later, reasons, screeners)
