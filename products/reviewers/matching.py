"""Matches the submissions of a venue with reviewers, by an assignment or a ranking, and explains a match."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import numpy as np

from corpora.errors import ConflictError, InputError
from corpora.options import Option, check_options
from corpora.paper import Paper
from encoders.text_encoder import Done, ignore
from products.indexed import in_blocks, read_documents
from products.reviewers.assignment import assign, assign_fairly
from products.reviewers.bids import add_bids
from products.reviewers.conflicts import Reasons, count_reasons, find_conflicts
from products.reviewers.factors import FactorBuilder, MatchFactor
from products.reviewers.scoring import VenueScores, score_venue
from products.reviewers.venue import Venue, check_submissions

Combining = Literal["scores", "ranks"]
Aggregating = Literal["top3", "max"]


@dataclass(frozen=True, slots=True)
class Near:
    """A reviewer's paper, and its similarity to the submission."""

    paper: Paper
    similarity: float

    def to_dict(self) -> dict[str, Any]:
        """Return the paper's id and title, and the similarity."""
        return {"id": self.paper.id, "title": self.paper.title, "similarity": self.similarity}


@dataclass(frozen=True, slots=True)
class Match:
    """A reviewer for a submission, with the score of all factors together, and the scores by factor.

    The score includes the bid, from -1 to 1; None if there is none. The rank is that of the reviewer for this
    submission, among those without a conflict, by the score. The nearest papers are those of the reviewer most like the
    submission, by the first factor.
    """

    submission: str
    reviewer: str
    score: float
    rank: int
    factors: Mapping[str, float]
    nearest: tuple[Near, ...] = ()
    bid: float | None = None


@dataclass(frozen=True, slots=True)
class MatchingOptions:
    """How to match; raises `InputError` if a number is out of bounds."""

    per_paper: Annotated[int, Option("Reviewers of each submission", least=1)] = 3
    capacity: Annotated[int, Option("Submissions of a reviewer for whom <people> says nothing", least=0)] = 6
    fair: Annotated[bool, Option("Serve the worst submission as well as possible")] = False
    ranked: Annotated[
        bool, Option("Assign nobody: list the best reviewers of each submission, each for any number of them")
    ] = False
    aggregate: Annotated[
        Aggregating, Option("Of a reviewer's papers: the mean of the three nearest, or the nearest")
    ] = "top3"
    combine: Annotated[
        Combining, Option("Several factors: the mean of their standardised scores, or the sum of 1 / rank")
    ] = "scores"
    bid_weight: Annotated[
        float, Option("What a bid of 1 adds to a score, in standard deviations of all scores", least=0)
    ] = 1.0

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class Matched:
    """The result.

    Attributes:
        matches: Pairs by submission in their order, then by score.
        conflicts: Pairs that were left out, by reason.
        loads: How many submissions each reviewer has, of all reviewers.
        worst: The smallest sum of scores of a submission.
        worst_submission: Id of that submission.
        total: The sum of all scores.
    """

    matches: tuple[Match, ...]
    conflicts: Mapping[str, int]
    loads: Mapping[str, int]
    worst: float
    worst_submission: str
    total: float


@dataclass(frozen=True, slots=True)
class Compared:
    """Submissions compared with all reviewers: the factors by name, their scores, and the reasons of conflicts."""

    factors: Mapping[str, MatchFactor]
    scores: VenueScores
    reasons: Reasons


def match(
    venue: Venue, builders: Callable[[Path], Mapping[str, FactorBuilder]], options: MatchingOptions, done: Done = ignore
) -> Matched:
    """Find reviewers for all submissions.

    `builders` makes what builds each factor, with its files in a folder; `done` receives how many more submissions were
    compared. Raises `InputError` if the reviewers can't do all reviews, and `UnavailableError` if scipy is missing.
    """
    with compared(venue, builders, options, done) as found:
        scores = found.scores.combined
        if options.ranked:
            pairs = _ranked(found.scores, options.per_paper)
        else:
            solve = assign_fairly if options.fair else assign
            names = [paper.id for paper in venue.submissions]
            pairs = solve(scores, options.per_paper, venue.room(options.capacity), names)
        matches = _with_nearest(venue, tuple(_matches(venue, pairs, found.scores)), found)
    loads = dict.fromkeys(venue.pool.reviewers, 0)
    sums = {paper.id: 0.0 for paper in venue.submissions}
    for one in matches:
        loads[one.reviewer] += 1
        sums[one.submission] += one.score
    worst = min(sums, key=sums.__getitem__)
    return Matched(matches, count_reasons(found.reasons), loads, sums[worst], worst, sum(sums.values()))


@contextmanager
def compared(
    venue: Venue, builders: Callable[[Path], Mapping[str, FactorBuilder]], options: MatchingOptions, done: Done = ignore
) -> Iterator[Compared]:
    """Compare all submissions with all reviewers, with the arguments of `match`; the scores are in files meanwhile."""
    check_submissions(venue.submissions)
    with TemporaryDirectory(prefix="ses-reviewers-") as name:
        made = builders(Path(name))
        authors = _read(venue, made.values())
        reasons = find_conflicts(venue.submissions, venue.pool, authors, venue.people, venue.declared)
        factors = {factor: builder.factor() for factor, builder in made.items()}
        scores = score_venue(
            factors,
            venue.pool,
            len(venue.submissions),
            Path(name),
            aggregate=options.aggregate,
            combine=options.combine,
            conflicts=reasons,
            done=done,
        )
        if venue.bids:
            rows = {paper.id: row for row, paper in enumerate(venue.submissions)}
            columns = {reviewer: column for column, reviewer in enumerate(venue.pool.reviewers)}
            combined = add_bids(scores.combined, rows, columns, venue.bids, options.bid_weight)
            scores = replace(scores, combined=combined)
        yield Compared(factors, scores, reasons)


def _read(venue: Venue, builders: Collection[FactorBuilder]) -> list[set[str]]:
    """Read the reviewers' papers once, for all factors; return the authors of each reviewer's papers."""
    schema = venue.index.schema
    formats = [field.format for field in schema.dense if field.unit == "paper"]
    owners = chain.from_iterable(repeat(place, len(papers)) for place, papers in enumerate(venue.pool.papers))
    authors: list[set[str]] = [set() for _ in venue.pool.reviewers]
    for documents in read_documents(venue.index, chain.from_iterable(venue.pool.papers), formats):
        for document in documents:
            authors[next(owners)].update(document.paper.authors)
        for builder in builders:
            builder.add(documents)
    if next(owners, None) is not None:
        raise ConflictError(f"The index {venue.index.name} was changed while it was read", "try again")
    return authors


def _ranked(scores: VenueScores, count: int) -> np.ndarray:
    found = []
    for start, block in scores.combined.blocks():
        order = np.argsort(-block, axis=1, kind="stable")[:, :count]
        rows = np.broadcast_to(np.arange(start, start + len(block))[:, None], order.shape)
        kept = np.isfinite(np.take_along_axis(block, order, axis=1))
        found.append(np.stack([rows[kept], order[kept]], axis=1))
    return np.concatenate(found)


def _matches(venue: Venue, pairs: np.ndarray, scores: VenueScores) -> Iterator[Match]:
    for start, block in scores.combined.blocks():
        stop = start + len(block)
        by_factor = {name: spool.read(start, stop) for name, spool in scores.factors.items()}
        here = pairs[(pairs[:, 0] >= start) & (pairs[:, 0] < stop)]
        order = np.lexsort((-block[here[:, 0] - start, here[:, 1]], here[:, 0]))
        for row, column in here[order].tolist():
            own = block[row - start]
            pair = venue.submissions[row].id, venue.pool.reviewers[column]
            yield Match(
                *pair,
                float(own[column]),
                1 + int((own > own[column]).sum()),
                {name: float(of[row - start, column]) for name, of in by_factor.items()},
                bid=venue.bids.get(pair),
            )


SHOWN = 3
"""Papers of each factor."""


def _with_nearest(venue: Venue, matches: Sequence[Match], found: Compared) -> tuple[Match, ...]:
    """Return the matches with the nearest papers of each reviewer, those that the index still holds."""
    pool, (factor, *_) = venue.pool, found.factors.values()
    row = {paper.id: at for at, paper in enumerate(venue.submissions)}
    place = {reviewer: at for at, reviewer in enumerate(pool.reviewers)}
    first = [0, *accumulate(map(len, pool.papers))]
    near = []
    for one in matches:
        at = place[one.reviewer]
        columns = slice(first[at], first[at + 1])
        near.append(_nearest(factor, row[one.submission], pool.papers[at], columns))
    papers: dict[str, Paper] = {}
    for block in in_blocks(dict.fromkeys(id_ for ids in near for id_, _ in ids)):
        papers |= venue.index.papers(block)
    return tuple(
        replace(one, nearest=tuple(Near(papers[id_], similarity) for id_, similarity in ids if id_ in papers))
        for one, ids in zip(matches, near, strict=True)
    )


def _nearest(factor: MatchFactor, row: int, ids: Sequence[str], columns: slice) -> list[tuple[str, float]]:
    """Return the ids of a reviewer's papers most like a submission, the nearest first, with the similarity."""
    similarity = factor.similarities(slice(row, row + 1), columns)[0]
    order = np.argsort(-similarity, kind="stable")[:SHOWN].tolist()
    return [(ids[at], float(similarity[at])) for at in order]


@dataclass(frozen=True, slots=True)
class Reason:
    """A reviewer's score by a factor, their rank among all reviewers, and their papers nearest to the submission."""

    score: float
    rank: int
    nearest: tuple[Near, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the reason as JSON shows it."""
        return {"score": self.score, "rank": self.rank, "nearest": [one.to_dict() for one in self.nearest]}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one of so many reviewers suits a submission, or does not: the reasons by factor.

    The conflict says why the reviewer must not review it; it is empty if they may. The bid is from -1 to 1, None if
    there is none.
    """

    submission: Paper
    reviewer: str
    reviewers: int
    factors: Mapping[str, Reason]
    conflict: str = ""
    bid: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON shows it."""
        return {
            "paper": self.submission.id,
            "reviewer": self.reviewer,
            "conflict": self.conflict or None,
            "bid": self.bid,
            "factors": {name: reason.to_dict() for name, reason in self.factors.items()},
        }


def explain(
    venue: Venue, reviewer: str, builders: Callable[[Path], Mapping[str, FactorBuilder]], options: MatchingOptions
) -> Explanation:
    """Say why a reviewer suits the only submission of a venue; `builders` and `options` are those of `match`.

    Raises `InputError` if there are several submissions, and `NotFoundError` if there is no such reviewer.
    """
    if len(venue.submissions) != 1:
        raise InputError(f"One submission is explained at a time, not {len(venue.submissions):,}; name one.")
    place = venue.pool.column(reviewer)
    ids, columns = venue.pool.papers[place], venue.pool.columns(place)
    papers = venue.index.papers(ids)
    reasons = {}
    with compared(venue, builders, options) as found:
        for name, factor in found.factors.items():
            scores = found.scores.factors[name].read(0, 1)[0]
            nearest = tuple(Near(papers[id_], similarity) for id_, similarity in _nearest(factor, 0, ids, columns))
            reasons[name] = Reason(float(scores[place]), 1 + int((scores > scores[place]).sum()), nearest)
        conflict = found.reasons.get(0, {}).get(place, "")
    (paper,) = venue.submissions
    bid = venue.bids.get((paper.id, reviewer))
    return Explanation(paper, reviewer, len(venue.pool.reviewers), reasons, conflict, bid)
