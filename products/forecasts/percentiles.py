"""Citations as percentiles within field and year, since papers of other fields and years are cited more or less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.errors import InputError
from products.indexed import read_values

if TYPE_CHECKING:
    import numpy as np

    from search_plugin.contract.engine import Index


@dataclass(frozen=True, slots=True)
class CitedPaper:
    """A paper with its citations.

    Attributes:
        id: Of the paper.
        citations: How often it is cited.
        group: Its field and year; equal for papers to compare.
    """

    id: str
    citations: float
    group: tuple[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class RankedPapers:
    """Papers with their percentiles.

    Attributes:
        ids: Of the papers.
        percentiles: float64 (papers,), from 0 to 100.
        groups: How many were compared within.
        left_out: Papers of groups that are too small.
    """

    ids: tuple[str, ...]
    percentiles: np.ndarray
    groups: int
    left_out: int


def cited_papers(index: Index, citations: str, within: str) -> list[CitedPaper]:
    """Read the papers of an index whose citations and year are known.

    Args:
        index: That holds them.
        citations: Field of their numbers of citations.
        within: Field of which papers are compared, such as `venue` or `fields`; of several values the first one counts.
            Empty to compare all papers of a year.

    Returns:
        The papers.

    Raises:
        InputError: If there is no such field, its values come from a model, or no paper has both.
    """
    field = index.schema.field(citations)
    if field.kind != "number" or field.origin == "forecast":
        raise InputError(
            f"The field {field.name} is of the kind {field.kind} and from {field.origin}; citations are a number that "
            "a corpus gives."
        )
    names = [field.name, "year", *([index.schema.field(within).name] if within else [])]
    found = []
    for id_, values in read_values(index, names):
        number, year = values.get(field.name), values.get("year")
        if isinstance(number, int | float) and isinstance(year, int | float) and number >= 0:
            found.append(CitedPaper(id_, float(number), (_first(values, names[2:]), int(year))))
    if not found:
        raise InputError(
            f"No paper of the index {index.name} has both a year and a number in {field.name}; index a corpus that "
            "gives them."
        )
    return found


def ranked_papers(papers: Sequence[CitedPaper], fewest: int) -> RankedPapers:
    """Rank papers within their groups; small groups of a year are ranked together.

    Args:
        papers: With their citations.
        fewest: Papers that a group needs.

    Returns:
        The papers of groups that are large enough, with the percentile of each: the share of its group that is cited
        less, plus half of the share that is cited as often (Hazen's rule for ties).

    Raises:
        InputError: If no group is large enough.
    """
    import numpy as np

    groups: dict[tuple[str, int], list[CitedPaper]] = {}
    for paper in papers:
        groups.setdefault(paper.group, []).append(paper)
    for group in [group for group, members in groups.items() if len(members) < fewest]:
        groups.setdefault(("", group[1]), []).extend(groups.pop(group)) if group[0] else None
    whole = {group: members for group, members in groups.items() if len(members) >= fewest}
    if not whole:
        largest = max(map(len, groups.values()))
        raise InputError(
            f"No field and year has {fewest} papers with citations, the largest has {largest}",
            "lower <fewest>, or compare <within> a wider field",
        )
    ids: list[str] = []
    percentiles = []
    for members in whole.values():
        numbers = np.array([paper.citations for paper in members])
        ordered = np.sort(numbers)
        below, up_to = np.searchsorted(ordered, numbers, "left"), np.searchsorted(ordered, numbers, "right")
        percentiles.append(50 * (below + up_to) / len(members))
        ids += [paper.id for paper in members]
    return RankedPapers(tuple(ids), np.concatenate(percentiles), len(whole), len(papers) - len(ids))


def _first(values: Mapping[str, object], names: Sequence[str]) -> str:
    value = values.get(names[0], "") if names else ""
    return str(value[0]) if isinstance(value, tuple) and value else str(value or "")
