"""Systematic reviews over the indexes of a library: `library.screening`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from corpora.errors import InputError, require
from corpora.options import Option
from corpora.outgoing import in_a_line
from corpora.writing import explaining
from products.indexed import read_papers
from products.relevance import FOR_SCREENING, views_of
from products.screening.agreement import ScreeningAgreement, ScreeningConflict, cohen_kappa
from products.screening.decisions import Decision, utc_now
from products.screening.files.labels import match
from products.screening.files.registry import label_format
from products.screening.reading import ReviewReading
from products.screening.screening import (
    NextPaper,
    ReviewState,
    Status,
    candidates_of,
    label,
    next_papers,
    offer,
    read_candidates,
    status_of,
)
from products.screening.simulation import Simulated, draw_known, learner_of, simulate
from products.screening.stopping import CONFIDENCE, TARGET
from search_plugin.request import typed_query
from ses.argument_validation import checked_methods
from ses.indexes.named_states import NamedStates
from ses.library_parts import LibraryParts

BATCH = 20
_TARGET = Option("Recall to reach", "RECALL")
_CONFIDENCE = Option("Of the estimate of recall", "NUMBER")


@dataclass(frozen=True, slots=True)
class LabelReport:
    """What labelling did.

    Attributes:
        labels: Papers that were given a label.
        unknown: Lines of the file whose records are no candidates of the review.
        undecided: Records of the file without a decision.
        rejected: Records of the file that can't be read.
    """

    labels: int
    unknown: tuple[int, ...] = ()
    undecided: int = 0
    rejected: int = 0


@checked_methods
@dataclass(frozen=True, slots=True)
class Screening(NamedStates["ReviewState"]):
    """Reviews by name; made by `library.screening`.

    Example:
        >>> review = library.screening.create("masks", index="mine", filter="year>=2020")
        >>> library.screening.label("masks", include=["a"], exclude=["b"]).labels
        2
        >>> [one.paper.id for one in library.screening.next("masks")]
        ['c']
    """

    def create(
        self,
        name: str,
        *,
        index: str = "",
        filter: str = "",  # noqa: A002 - as everywhere in ses
        criteria: str = "",
        screener: str = "",
    ) -> ReviewState:
        """Create a review.

        Args:
            name: Name of the review.
            index: Index that holds the candidates; the default index if empty.
            filter: Expression that the candidates match; empty for all papers of the index.
            criteria: What is included, in words. They are marked in papers, and rank until a paper is included.
            screener: Name of who decides, unless a decision names another one.

        Returns:
            The review.

        Raises:
            InputError: If the name is taken, the filter can't be read, or no paper matches it.
        """
        opened = self.opened(index)
        criteria, screener = typed_query(criteria), in_a_line(screener).strip()
        review = ReviewState(opened.name, self.engine, filter, criteria=criteria, screener=screener)
        if not candidates_of(opened.index, review):
            raise InputError(f"The index {opened.name} holds no candidate for this review", "give a wider <filter>")
        self.kept.create(name, review)
        return review

    def label(
        self,
        name: str,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        reason: str = "",
        by: str = "",
        change: bool = False,
    ) -> LabelReport:
        """Label papers.

        Args:
            name: Name of the review.
            include: Papers that are included, by id or another identifier.
            exclude: Papers that are excluded.
            reason: Why these are excluded, such as `wrong population`; `status` counts papers by reason.
            by: Name of who decides, if that is not the screener of the review.
            change: Whether a label may replace another one.

        Returns:
            How many were labelled.

        Raises:
            NotFoundError: If a paper is not in the index.
            InputError: If a paper is given as both, is no candidate, or has the other label already, or there is a
                reason and no paper that is excluded.
        """
        with self.kept.changing(name) as changing:
            opened = self._index_of(changing.state)
            included, excluded = ([opened.show(one).id for one in side] for side in (include, exclude))
            if both := sorted({*included} & {*excluded}):
                raise InputError(f"The paper {both[0]!r} is both included and excluded", "give it once")
            labelled = {*included, *excluded}
            require(labelled, "No label is given", "give <include>, <exclude> or <path>")
            require(excluded or not reason, "A reason is one for exclusion, and no paper is excluded", "give <exclude>")
            outside = sorted(labelled - set(candidates_of(opened.index, changing.state)))
            if outside:
                raise InputError(f"The paper {outside[0]!r} is no candidate: it does not match the review's filter.")
            reason, by, at = in_a_line(reason).strip(), in_a_line(by).strip(), utc_now()
            decisions = [
                Decision(id_, id_ in included, reason=reason, by=by, at=at)
                for id_ in dict.fromkeys([*included, *excluded])
            ]
            changing.state = label(changing.state, decisions, change=change)
        return LabelReport(len(labelled))

    def read(self, name: str, path: str | Path, *, by: str = "", change: bool = False) -> LabelReport:
        """Label papers by a file: CSV with a column `included`, RIS with ASReview's notes, or an ASReview project.

        Args:
            name: Name of the review.
            path: Ends in `.csv`, `.ris` or `.asreview`. Records are found by id, DOI or other identifier, or title.
            by: Name of who decided, where the file does not say it.
            change: Whether a label may replace another one.

        Returns:
            How many papers were labelled, and which records were not.

        Raises:
            InputError: If the file can't be read, holds no decision, or contradicts itself or the review.
        """
        file = label_format(Path(path)).read(Path(path))
        with self.kept.changing(name) as changing:
            opened = self._index_of(changing.state)
            pool = read_papers(opened.index, candidates_of(opened.index, changing.state))
            matched = match(file, pool.papers)
            by, at = in_a_line(by).strip(), utc_now()
            decisions = [
                Decision(id_, one.included, reason=one.reason, by=one.by or by, at=at)
                for id_, one in matched.labels.items()
            ]
            changing.state = label(changing.state, decisions, change=change)
        return LabelReport(len(matched.labels), matched.unknown, file.undecided, file.rejected)

    def next(self, name: str, *, size: int = BATCH) -> list[NextPaper]:
        """Return the papers to read next, the most relevant first; they count as offered.

        Args:
            name: Name of the review.
            size: Papers.

        Returns:
            The papers; none if all are labelled.

        Raises:
            InputError: If no paper is included yet and there are no criteria, or the size is below 1.
        """
        with self.kept.changing(name) as changing:
            found = next_papers(self._index_of(changing.state).index, changing.state, size)
            changing.state = offer(changing.state, [one.paper.id for one in found])
        return found

    def reading(self, name: str, *, by: str = "") -> ReviewReading:
        """Return a review to read paper by paper, with each decision stored at once; errors as of `next`.

        Args:
            name: Name of the review.
            by: Name of who decides, if that is not the screener of the review.

        Returns:
            The review, to ask for the next paper and to decide.
        """
        review = self.kept.load(name)
        index = self._index_of(review).index
        return ReviewReading(
            self.kept, name, read_candidates(index, review), index.schema.language, in_a_line(by).strip()
        )

    def status(
        self,
        name: str,
        *,
        target: Annotated[float, _TARGET] = TARGET,
        confidence: Annotated[float, _CONFIDENCE] = CONFIDENCE,
    ) -> Status:
        """Return how far a review is, and the recall reached with a confidence; `InputError` for one out of range."""
        review = self.kept.load(name)
        return status_of(self._index_of(review).index, review, target, confidence)

    def compare(self, name: str, other: str) -> ScreeningAgreement:
        """Compare the labels of two screeners, each with a review of their own, where both have labelled a paper.

        Args:
            name: Name of the review.
            other: Name of the other screener's review of the same index.

        Returns:
            How often they agree, Cohen's kappa, and the papers whose labels differ.

        Raises:
            InputError: If the reviews are over different indexes, or have no labelled paper in common.
        """
        reviews = self.kept.load(name), self.kept.load(other)
        index = self._index_of(reviews[0]).index
        if (reviews[0].index, reviews[0].engine) != (reviews[1].index, reviews[1].engine):
            raise InputError(f"The reviews {name} and {other} are over different indexes", "compare two of one index")
        one, second = (review.labels for review in reviews)
        both = sorted(one.keys() & second.keys())
        require(both, f"No paper has a label in both reviews, {name} and {other}", "label the same papers in both")
        differ = [id_ for id_ in both if one[id_] != second[id_]]
        titles = {paper.id: paper.title for paper in read_papers(index, differ).papers}
        by, other_by = ({decision.id: decision.by for decision in review.decisions} for review in reviews)
        included = sum(one[id_] and second[id_] for id_ in both)
        return ScreeningAgreement(
            len(both),
            included,
            len(both) - len(differ) - included,
            tuple(ScreeningConflict(i, titles.get(i, ""), one[i], by[i], other_by[i]) for i in differ),
            cohen_kappa([one[id_] for id_ in both], [second[id_] for id_ in both]),
        )

    def export(self, name: str, path: str | Path) -> int:
        """Write all candidates with the decisions on them.

        Args:
            name: Name of the review.
            path: Ends in `.csv`, `.ris` or `.asreview`; an existing file is replaced.

        Returns:
            How many papers were written.

        Raises:
            InputError: If the file has another suffix.
            UnavailableError: If it can't be written.
        """
        form, review = label_format(Path(path)), self.kept.load(name)
        opened = self._index_of(review)
        papers = read_papers(opened.index, candidates_of(opened.index, review)).papers
        with explaining(Path(path)):
            form.write(Path(path), papers, {one.id: one for one in review.decisions})
        return len(papers)

    def simulate(
        self,
        name: str,
        *,
        draws: Annotated[int, Option("Times, each from another start")] = 5,
        target: Annotated[float, _TARGET] = TARGET,
        confidence: Annotated[float, _CONFIDENCE] = CONFIDENCE,
    ) -> list[Simulated]:
        """Screen the labelled papers of a review again, with their labels hidden until a paper is read.

        Args:
            name: Name of the review.
            draws: Number of simulations, each from another pair of one included and one excluded paper.
            target: Recall at which to stop.
            confidence: Confidence of the estimate of recall.

        Returns:
            One result for each draw.

        Raises:
            InputError: If fewer than two papers are included or none is excluded, or draws is below 1.
        """
        if draws < 1:
            raise InputError(f"A review can't be simulated {draws} times", "give <draws> of 1 or more")
        review = self.kept.load(name)
        pool = read_papers(self._index_of(review).index, review.labels)
        included = [review.labels[paper.id] for paper in pool.papers]
        starts = [draw_known(included, draw) for draw in range(draws)]
        learner = learner_of(views_of(pool.papers, pool.vectors, FOR_SCREENING))
        return [simulate(included, learner, known, target=target, confidence=confidence) for known in starts]


def room(library: LibraryParts) -> Screening:
    """Return the systematic reviews of a library."""
    return Screening(*library.states("screening", ReviewState, "review"), library.opened)
