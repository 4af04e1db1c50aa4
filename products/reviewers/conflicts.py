"""Conflicts of interest: declared ones, co-authors of a submission's authors, and people of their institutions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from corpora.paper import Paper
from products.reviewers.pool import ReviewerPool
from products.reviewers.venue import Reviewer
from search_plugin.words.names import fold, same_person, stored_readings

INSTITUTIONS = "institutions"
"""The field of submissions that holds the institutions of their authors."""

Reasons = Mapping[int, Mapping[int, str]]
"""By row of a submission and column of a reviewer: why not."""


def find_conflicts(
    submissions: Sequence[Paper],
    pool: ReviewerPool,
    authors: Sequence[Collection[str]],
    people: Mapping[str, Reviewer],
    declared: Collection[tuple[str, str]] = (),
) -> Reasons:
    """Find who must not review what: `declared`, `institution` or `co-author`; of several reasons the first.

    Two names are the same person if their family names agree and given names or initials do not contradict, so `Kim J`
    is a conflict with every J. Kim. A reviewer is an author of their own papers: `authors` holds the authors of each
    reviewer's papers, by column. Submissions have their institutions in `extra`; `people` are facts about reviewers by
    id, and `declared` pairs of a submission's id and a reviewer's.
    """
    by_family: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for column, reviewer in enumerate(pool.reviewers):
        named = people[reviewer].name if reviewer in people else ""
        for author in {*authors[column], *filter(None, [named])}:
            for key in _families(author):
                by_family[key][author].add(column)
    at: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for column, reviewer in enumerate(pool.reviewers):
        for institution in people[reviewer].institutions if reviewer in people else ():
            at[fold(institution)].add(column)
    reasons: dict[int, dict[int, str]] = {}
    by_paper: dict[str, set[str]] = defaultdict(set)
    for name, reviewer in declared:
        by_paper[name].add(reviewer)
    columns = {reviewer: column for column, reviewer in enumerate(pool.reviewers)}
    for row, paper in enumerate(submissions):
        own = {columns[reviewer]: "declared" for reviewer in by_paper[paper.id] if reviewer in columns}
        for institution in _texts(paper.extra.get(INSTITUTIONS)):
            own |= dict.fromkeys(at.get(fold(institution), set()) - own.keys(), "institution")
        own |= dict.fromkeys(_written_with(paper.authors, by_family) - own.keys(), "co-author")
        if own:
            reasons[row] = own
    return reasons


def count_reasons(reasons: Reasons) -> dict[str, int]:
    """Return how many pairs there are of each reason."""
    counts: dict[str, int] = {}
    for of_paper in reasons.values():
        for reason in of_paper.values():
            counts[reason] = counts.get(reason, 0) + 1
    return counts


def _written_with(authors: Iterable[str], by_family: Mapping[str, Mapping[str, Collection[int]]]) -> set[int]:
    found: set[int] = set()
    for author in authors:
        for key in _families(author):
            for other, columns in by_family.get(key, {}).items():
                if not found.issuperset(columns) and same_person(author, other):
                    found.update(columns)
    return found


def _families(name: str) -> set[str]:
    return {"".join(reading.core) for reading in stored_readings(name)}


def _texts(value: object) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (value,) if isinstance(value, str) and value else ()
