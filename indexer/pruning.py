"""Deletes papers that a corpus no longer holds from the index, unless another corpus holds them.

An index may hold several corpora. A paper's `origins` name all corpora that hold it. If one of them drops the paper, it
is deleted only if no other has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from search_plugin.contract.tree import And, Compare, OneOf

if TYPE_CHECKING:
    from indexer.survey import Survey
    from search_plugin.contract.engine import Index


class Released(NamedTuple):
    """How many papers were deleted, and how many stay because another corpus holds them."""

    deleted: int
    kept: int


def withdrawn_ids(index: Index, origin: str, survey: Survey) -> list[list[str]]:
    """Return the papers of an origin that the corpus marks as deleted."""
    mine = Compare("origins", "=", origin)
    return [list(index.ids(And((OneOf("id", tuple(ids)), mine)))) for ids in survey.deleted()]


def gone_ids(index: Index, origin: str, survey: Survey) -> list[list[str]]:
    """Return the papers of an origin that the corpus does not hold."""
    return list(survey.gone(index.ids(Compare("origins", "=", origin))))


def count_gone(index: Index, origin: str, survey: Survey) -> int:
    """Return how many papers of an origin the corpus does not hold, in an index that holds all of the corpus."""
    counts = survey.counts()
    if index.count() == counts["new"] + counts["updated"] + counts["unchanged"]:
        return 0
    return sum(map(len, gone_ids(index, origin, survey)))


def release(index: Index, origin: str, found: Iterable[Sequence[str]]) -> Released:
    """Remove an origin from papers, given in batches of ids, and delete those that no other corpus holds."""
    deleted = kept = 0
    for ids in found:
        held = index.values(ids, ["origins"])
        others = {
            id_: tuple(o for o in cast("tuple[str, ...]", row.get("origins", ())) if o != origin)
            for id_, row in held.items()
        }
        shared = {id_: origins for id_, origins in others.items() if origins}
        alone = [id_ for id_ in ids if id_ not in shared]
        index.update({id_: {"origins": origins} for id_, origins in shared.items()})
        index.delete(alone)
        deleted += len(alone)
        kept += len(shared)
    return Released(deleted, kept)
