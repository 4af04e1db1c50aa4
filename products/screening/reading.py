"""A review while somebody reads it: the next paper, a decision, the next. Each decision is stored at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from corpora.errors import InputError
from products.screening.decisions import Decision, utc_now
from products.screening.screening import NextPaper, decide, put_off, rank_unread, take_back
from products.screening.simulation import growing

if TYPE_CHECKING:
    from products.screening.screening import ReviewCandidates, ReviewState
    from products.state_store import StateStore


class ReadingCounts(NamedTuple):
    """How many candidates are included, excluded, put off, and left to read; those put off are among the last."""

    included: int
    excluded: int
    later: int
    left: int


@dataclass(slots=True)
class ReviewReading:
    """What `library.screening.reading` returns.

    The papers are read from the index once. The model learns again when the labels have grown by a twentieth.

    Attributes:
        kept: The reviews.
        name: Name of the review.
        candidates: Its candidates.
        language: Language of their words.
        by: Name of who decides; that of the review if empty.

    Example:
        >>> reading = library.screening.reading("masks")
        >>> while following := reading.next():
        ...     reading.decide(following.paper.id, included="mask" in following.paper.title)
    """

    kept: StateStore[ReviewState]
    name: str
    candidates: ReviewCandidates
    language: str
    by: str = ""
    _ranked: list[NextPaper] = field(default_factory=list)
    _due: int = 0  # labels at which the model learns again
    _decided: list[NextPaper] = field(default_factory=list)

    @property
    def review(self) -> ReviewState:
        """The review as it is stored now."""
        return self.kept.load(self.name)

    def next(self) -> NextPaper | None:
        """Return the most relevant unread paper, or None if all are labelled; errors as of `Screening.next`."""
        review = self.review
        labels, place = review.labels, {id_: number for number, id_ in enumerate(review.later)}
        if not self._ranked or len(labels) >= self._due:
            self._ranked = rank_unread(self.candidates, review)
            self._due = len(labels) + growing(len(labels))
        self._ranked = [one for one in self._ranked if one.paper.id not in labels]
        return min(self._ranked, key=lambda one: place.get(one.paper.id, -1), default=None)

    def decide(self, paper: str, *, included: bool | None, reason: str = "") -> None:
        """Include a paper by its id, exclude it for a reason, or put it off (None): it then comes after all others.

        Raises `InputError` if it is no candidate.
        """
        if paper not in self.candidates.papers:
            raise InputError(f"The paper {paper!r} is no candidate of the review {self.name}.")
        with self.kept.changing(self.name) as changing:
            if included is None:
                changing.state = put_off(changing.state, paper)
            else:
                decision = Decision(paper, included, reason=reason, by=self.by, at=utc_now())
                changing.state = decide(changing.state, decision)
        shown = NextPaper(self.candidates.papers[paper], 0.0)
        self._decided.append(next((one for one in self._ranked if one.paper.id == paper), shown))

    def undo(self) -> bool:
        """Take back the last decision of this reading, whose paper is the next one then; False if there is none."""
        if not self._decided:
            return False
        again = self._decided.pop()
        with self.kept.changing(self.name) as changing:
            changing.state = take_back(changing.state, again.paper.id)
        self._ranked = [again, *(one for one in self._ranked if one.paper.id != again.paper.id)]
        return True

    def counts(self) -> ReadingCounts:
        """Count the candidates by what was decided."""
        review, there = self.review, self.candidates.papers
        labels = [included for id_, included in review.labels.items() if id_ in there]
        later = sum(id_ in there for id_ in review.later)
        return ReadingCounts(sum(labels), len(labels) - sum(labels), later, len(there) - len(labels))
